// How long a step of an injected stage takes: a mean, and how far single ones lie from it.
#pragma once

#include <cstdint>

namespace stoker {

// The variance class of an experiment.
enum class Spread : uint8_t {
  kEven,   // every step within a few per cent of the mean
  kWide,   // lognormal, with a standard deviation that is of the mean's size: some take several times as long
  kTails,  // one in a hundred takes twenty times as long as the others
};
inline constexpr const char* kSpreadNames[] = {"even", "wide", "tails"};

// Tells the stages' dice apart.
inline constexpr uint64_t kReadDice = 1, kBandwidthDice = 2, kDecodeDice = 3, kStepDice = 4;

// A pure function of (seed, dice, index), so that another run with one stage faster meets the same throws.
struct ServiceTime {
  double mean_ns = 0;
  Spread spread = Spread::kEven;

  // Of the `index`-th sample or batch.
  int64_t Draw(uint64_t seed, uint64_t dice, int64_t index) const;
};

}  // namespace stoker

// Settings measured against each other in interleaved rounds, until it is known which are as good as the best.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "loader/tuning/setting.h"

namespace stoker {

// A setting whose rate is within this share of the best is as good.
inline constexpr double kAsGood = 0.02;

// A mean and half the width of its 95 % interval. One value: no interval is known, and `margin` is nothing.
struct Interval {
  double mean = 0;
  std::optional<double> margin = {};
  int32_t runs = 0;
};
// Of Student's t. Requires: at least one value.
Interval MeanOf(const std::vector<double>& values);

// How one setting did.
struct Lane {
  Setting setting;
  std::vector<double> rates = {};        // images a second, of its rounds
  std::vector<int32_t> rounds = {};      // the rounds' numbers, ascending
  std::optional<Interval> against = {};  // its rate / the best lane's, from the rounds that both ran
  bool failed = false;                   // a run of it was an error

  Interval rate() const { return MeanOf(rates); }
};

// Runs every setting once a round, in turns of direction, so that a drift of the machine hits all alike. After
// `least_rounds` a setting drops out whose interval, relative to the best, lies wholly below kAsGood. It ends when that
// or the opposite is known of all, or after `most_rounds`. A setting that fails is out at once.
// Threads: one. Pure but for its own state.
class Race {
 public:
  struct Limits {
    int32_t least_rounds = 3;
    int32_t most_rounds = 7;
  };

  // `settings`: different ones. `first_round`: the number of its first round.
  Race(const std::vector<Setting>& settings, Limits limits, int32_t first_round = 0);

  // What to run next; nothing once it has ended.
  std::optional<Setting> Next() const;
  int32_t round() const { return round_; }
  // The answer to Next().
  void Add(const Measurement& measurement);
  // The most runs that may still come.
  int32_t runs_left() const;

  const std::vector<Lane>& lanes() const { return lanes_; }
  // The lane with the highest mean rate; nothing where all have failed.
  const Lane* best() const;
  // The cheapest (CompareCost) of those within kAsGood of the best; nothing where all have failed.
  const Lane* knee() const;

 private:
  enum class Standing : uint8_t { kOpen, kEqual, kWorse };
  Standing StandingOf(const Lane& lane) const;
  void EndRound();
  void PlanRound();

  std::vector<Lane> lanes_;
  Limits limits_;
  int32_t first_round_;
  int32_t round_;
  std::vector<size_t> running_;  // lanes that are still in
  std::vector<size_t> todo_;     // lanes of this round, the next one last
};

}  // namespace stoker

#include "augment/random.h"

#include <cassert>

namespace stoker {

namespace {

// 2^64 divided by the golden ratio: the increment of SplitMix64 (Steele, Lea, Flood 2014).
constexpr uint64_t kGoldenGamma = 0x9e3779b97f4a7c15u;

}  // namespace

// SplitMix64 with Stafford's "variant 13" constants. A bijection.
uint64_t Mix64(uint64_t value) noexcept {
  value += kGoldenGamma;
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9u;
  value = (value ^ (value >> 27)) * 0x94d049bb133111ebu;
  return value ^ (value >> 31);
}

// Each part of the key is mixed on its own before the next is added, so that no two parts can cancel each other.
Random::Random(const SampleKey& key, uint32_t op) noexcept
    : key_(Mix64(Mix64(Mix64(Mix64(key.seed) + key.epoch) + key.position) + op)) {}

// Mixed twice, so that keys which differ by a multiple of the increment do not give shifted copies of one stream.
uint64_t Random::Next() noexcept { return Mix64(key_ ^ Mix64(counter_++)); }

double Random::Uniform() noexcept { return static_cast<double>(Next() >> 11) * 0x1p-53; }

double Random::Uniform(double low, double high) noexcept {
  const double value = low + (high - low) * Uniform();
  return value < high ? value : low;  // the sum may round up to `high`
}

// Lemire's multiply-and-shift; numbers of the incomplete last interval are drawn again.
uint32_t Random::Below(uint32_t bound) noexcept {
  assert(bound > 0);
  const uint32_t rejected = (0u - bound) % bound;
  for (;;) {
    const uint64_t product = (Next() >> 32) * bound;
    if (static_cast<uint32_t>(product) >= rejected) return static_cast<uint32_t>(product >> 32);
  }
}

}  // namespace stoker

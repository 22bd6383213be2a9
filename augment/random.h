// Random numbers that are a pure function of a key: no state, no order, no thread.
#pragma once

#include <cstdint>

namespace stoker {

// Names one sample's draws. `position` is the global position in the epoch, so that another world size draws the same.
struct SampleKey {
  uint64_t seed = 0;
  uint64_t epoch = 0;
  uint64_t position = 0;
};

// A counter-based generator for one op of one sample: the n-th number depends on the key, `op` and n alone.
class Random {
 public:
  Random(const SampleKey& key, uint32_t op) noexcept;

  uint64_t Next() noexcept;                          // 64 uniform bits
  double Uniform() noexcept;                         // [0, 1), 53 bits
  double Uniform(double low, double high) noexcept;  // [low, high)
  uint32_t Below(uint32_t bound) noexcept;           // [0, bound) without bias. Requires: bound > 0

 private:
  uint64_t key_;
  uint64_t counter_ = 0;
};

// A strong 64-bit mix (public: the sampler's bijection uses it too).
uint64_t Mix64(uint64_t value) noexcept;

}  // namespace stoker

// What a setting's rate will be, told from a few runs of others: where to look, and what need not be run.
#pragma once

#include <cstdint>
#include <span>

#include "loader/tuning/setting.h"

namespace stoker {

// The ceilings of the stages, as two runs showed them, carried over to other numbers of workers: a loader is as fast as
// its slowest stage. Decoding costs each worker c seconds a sample; c grows with the number of workers (caches, turbo
// clocks, the caller's own work), linearly between the two runs, and beyond the CPUs as their time is shared.
class RateModel {
 public:
  // `few` and `many` were run with different numbers of workers, of `cpus` that may be used.
  RateModel(const Measurement& few, const Measurement& many, int32_t cpus);

  // Images a second.
  double Rate(int32_t workers) const;
  // The smallest number of workers, up to `most`, whose rate is within kAsGood of the highest.
  int32_t Knee(int32_t most) const;

 private:
  double DecodeCeiling(int32_t workers) const;

  double few_workers_, many_workers_, cpus_;
  double few_seconds_, many_seconds_;  // of a worker, a sample
  double others_;                      // the lowest ceiling of the other stages; 0: none is known
};

// The numbers of workers to run for a knee that is predicted: it times 1/2, 3/4, 1, 5/4 and 3/2, from 1 to `most`,
// ascending, each once.
std::vector<int32_t> WorkersAround(int32_t knee, int32_t most);

// Whether a deeper prefetch, or another way to read, could change the rate of a run by more than kAsGood: not where the
// path leaves no more than that to it.
bool PrefetchMatters(const Measurement& run);
bool ReadingMatters(const Measurement& run);

// Reads that have to be under way for storage to keep up (Little's law: rate times latency), a power of two from 4 to
// 256.
int32_t DepthFor(const Measurement& run);

}  // namespace stoker

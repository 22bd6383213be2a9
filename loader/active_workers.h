// How many of a loader's workers work: a number of the caller's, or by the rule of kAutoWorkers.
#pragma once

#include <cstdint>
#include <optional>

#include "loader/worker_tuner.h"

namespace stoker {

class StallLog;
class Workers;

// Tells the workers, and the log of them. Chooses by what the log says of the batches given out, a few times a second
// at most: some microseconds each time, and nothing is allocated.
// Threads: the caller's of the loader.
class ActiveWorkers {
 public:
  // All `most` workers of the loader work now; `choose`: the number is not the caller's. Log and workers outlive it.
  ActiveWorkers(StallLog& log, Workers& workers, int32_t most, bool choose, int64_t now_ns);

  // The caller's choice, from now on. Throws std::invalid_argument where it is not 1 to `most`.
  void Set(int32_t active, int64_t now_ns);
  // The `batch`-th was handed over.
  void BatchGiven(int64_t batch, int64_t now_ns);

  int32_t active() const noexcept { return active_; }
  bool chooses() const noexcept { return tuner_.has_value(); }

 private:
  void Tell(int32_t active, int64_t now_ns);
  WorkerWindow Window(int64_t batch, int64_t now_ns) const;
  // Mean and deviation of the steps before the `batch`-th.
  void FillSteps(int64_t batch, WorkerWindow& window) const;

  StallLog& log_;
  Workers& workers_;
  const int32_t most_;
  int32_t active_;
  std::optional<WorkerTuner> tuner_;
  int64_t begin_ns_ = 0;  // of the window; 0: none yet
  int64_t first_batch_ = 0;
};

}  // namespace stoker

// How many workers a loader's caller needs, found while it runs.
#pragma once

#include <cstdint>

namespace stoker {

// What the counters say of some tens of batches; times are means of a batch.
struct WorkerWindow {
  double worker_ns = 0;       // workers had its samples, added up
  double step_ns = 0;         // the caller's own time
  double spread_ns = 0;       // of that, the standard deviation
  double stall_ns = 0;        // the caller waited
  bool workers_lead = false;  // of the loader's stages theirs holds the critical path longest
};

// The rule behind kAutoWorkers. At first all `most` workers work, so that the first batches come as soon as they can.
// Once windows agree that fewer will do, so many go on as the caller keeps busy for four fifths of their time, if it
// asks at the pace of its shorter steps: the mean less the deviation, as in tf.data's stage-based rule. Where storage
// or the link leads, at the pace that they let through. Where the caller then waits for full workers, all work again at
// once; if it asks no more than before, the rule allows for more from then on, and after three of those all stay.
// Pure: no clock, no threads.
class WorkerTuner {
 public:
  // Requires: most >= 1.
  explicit WorkerTuner(int32_t most) noexcept : most_(most), active_(most), wanted_before_(most) {}

  // How many are to work from now on, after a window in which active() did: 1 to `most`.
  int32_t Decide(const WorkerWindow& window) noexcept;
  int32_t active() const noexcept { return active_; }

 private:
  bool TooFew(const WorkerWindow& window) const noexcept;
  int32_t Wanted(double load) const noexcept;

  static constexpr double kUtilisation = 0.8;

  const int32_t most_;
  int32_t active_;
  int32_t wanted_before_;              // by the window before this one
  double utilisation_ = kUtilisation;  // of their time that workers are to be kept busy for at most
  int32_t reversals_ = 0;              // lowerings that were wrong
  // Of the latest lowering: how many workers the caller would have kept busy, and the windows since.
  double demand_then_ = 0;
  int32_t windows_since_ = 0;
};

}  // namespace stoker

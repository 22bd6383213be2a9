// One run of a real loader whose stages take the times that it is told.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "bench/validate/service_time.h"
#include "loader/stall_report.h"
#include "transfer/clock.h"
#include "transfer/sim_device.h"

namespace stoker {

struct TrialConfig {
  uint64_t seed = 0;
  int32_t batch_size = 8;
  int64_t warm_up = 8;       // batches that are taken before the report begins ...
  int64_t batches = 64;      // ... and those that it is about
  int32_t workers = 2;       // or kAutoWorkers ...
  int32_t most_workers = 2;  // ... which chooses up to so many
  int32_t queue_depth = 8;
  int32_t prefetch_factor = 4;

  ServiceTime read;              // of a sample, queue_depth at once
  ServiceTime bandwidth;         // of a sample, one after the other, on top
  ServiceTime decode;            // of a sample, on a worker's CPU
  double off_cpu = 0;            // the share of `decode` for which something else has that CPU
  double copy_ns = 0;            // of a batch; 0: no device, batches stay where they are
  bool copy_waits = false;       // the link is slow to start rather than narrow
  double foreign_copies_ns = 0;  // of each step: the caller's own, on the same link
  ServiceTime step;              // of a batch: the caller's
  // How many times as long as told the step of a batch takes, counted from the first one of the warm-up. Null: as long.
  std::function<double(int64_t batch)> pace = {};
  bool step_on_device = false;  // it is the device's work, and the caller comes back at once
  // How many times as fast each stage is, with the same dice (indexed by Stage).
  std::array<double, kServedStages> speed = {1, 1, 1, 1};
};

// What time is to a trial.
struct TrialClock {
  NowFn now = SteadyNow;
  NowFn thread_cpu_now = ThreadCpuNow;
  SimMode device_mode = SimMode::kModelled;
  std::function<void(int64_t ns)> work;   // keeps a CPU busy
  std::function<void(int64_t ns)> pause;  // keeps none busy
  // Others keep all CPUs busy while what it returns lives. Null: decoding then pauses for TrialConfig::off_cpu of its
  // time.
  std::function<std::shared_ptr<void>()> neighbours;
  std::function<void(SimDevice&)> drive;  // a device was made that lives by this time; may be null
  std::function<void()> settle;           // before a loader is destroyed in the midst of its work; may be null
};
// That of the wall: work burns the calling thread's CPU time.
TrialClock RealClock();

struct TrialResult {
  StallReport report;  // the loader's own, about TrialConfig::batches batches
  // By how much decoding, or the caller's step, took longer than it was told to, whichever was worse: 0.1: by 10 %.
  // What the machine was busy with then held the run back, too.
  double late = 0;
  std::vector<int32_t> active_workers = {};  // after each of the batches, those of the warm-up too
};

// A JPEG whose decoding takes next to no time, kSmallSide pixels wide and high.
inline constexpr int kSmallSide = 16;
std::vector<uint8_t> SmallPicture();

// Throws as Loader does.
TrialResult RunTrial(const TrialConfig& config, const TrialClock& clock);

}  // namespace stoker

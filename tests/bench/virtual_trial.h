// A trial of the real loader in virtual time.
#pragma once

#include "bench/validate/trial.h"
#include "tests/loader/virtual_time.h"

namespace stoker {

inline TrialResult RunVirtually(const TrialConfig& config) {
  VirtualTime time(config.copy_ns > 0 ? 3 : 2);  // the caller, the feeder, and where something is copied the prefetcher
  TrialClock clock;
  clock.now = VirtualTime::Now;
  clock.thread_cpu_now = VirtualTime::ThreadCpuNow;
  clock.device_mode = SimMode::kStepped;
  clock.work = [&time](int64_t ns) { time.Work(ns); };
  clock.pause = [&time](int64_t ns) { time.Pause(ns); };
  clock.drive = [&time](SimDevice& device) { time.Drive(device); };
  clock.settle = [&time] { time.Settle(); };
  return RunTrial(config, clock);
}

}  // namespace stoker

// One run of a sweep: a loader with one setting, and a caller that takes its batches.
#pragma once

#include <atomic>
#include <csignal>
#include <memory>

#include "loader/options.h"
#include "loader/source.h"
#include "loader/tuning/setting.h"

namespace stoker {

struct RunPlan {
  LoaderOptions options;  // complete but for the knobs
  double step_ms = 0;     // the caller's own time for a batch, asleep
  double warm_up_seconds = 0.5;
  double seconds = 2;     // of the measured part
  int32_t replay = 0;     // batches that are loaded once and then given again and again: the step's own limit; 0: none
  bool one_pass = false;  // every sample once and no warm-up: what a cold cache allows
};

// In this process. Throws as Loader does.
Measurement Measure(const RunPlan& plan, const Setting& setting, std::shared_ptr<const Source> source);

// In a process of its own, so that it begins with nothing of another run's memory and threads, and may die or hang:
// then `error` says so. Requires: this process has started no loader. Blocks until the run is over, is given up, or
// `stop` is no longer 0, which kills it and leaves an error.
Measurement MeasureApart(const RunPlan& plan, const Setting& setting, const std::shared_ptr<const Source>& source,
                         const volatile std::sig_atomic_t& stop);

}  // namespace stoker

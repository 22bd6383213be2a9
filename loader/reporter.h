// What a loader tells of itself: the stall report, and the periodic ones.
#pragma once

#include <array>

#include "loader/buffer_plan.h"
#include "loader/monitor/live_feed.h"
#include "loader/monitor/monitor.h"
#include "loader/options.h"
#include "loader/stall_log.h"
#include "loader/stall_report.h"
#include "transfer/clock.h"

namespace stoker {

class ActiveWorkers;
class Delivery;
class ErrorPolicy;
class Feeder;
class IndexKeeper;
class ReadBuffers;
class SampleTask;

// What a reporter asks; all of it outlives the reporter.
struct ReporterParts {
  const LoaderOptions& options;
  const BufferPlan& plan;
  StallLog& log;
  Delivery& delivery;
  const Feeder& feeder;
  const ReadBuffers& buffers;
  const SampleTask& task;
  const ActiveWorkers& workers;
  const ErrorPolicy& errors;
  const IndexKeeper* index;  // null: none
  NowFn now;
};

// Threads: the caller's of the loader.
class Reporter {
 public:
  explicit Reporter(ReporterParts parts);

  // Since the first Next(), or Restart().
  StallReport Report();
  void Restart();

  // To be told, for the periodic reports.
  void BatchGiven(int64_t now_ns) { monitor_.BatchGiven(now_ns); }
  // The caller waits for a batch, for a tenth of a second or more by now.
  void StillWaiting() {
    if (parts_.options.live_feed) feed_.SetWaiting(true);
  }
  // It waits no longer: it has one, or left.
  void EndWait() {
    feed_.SetWaiting(false);
    parts_.log.EndWait();
  }
  void EpochEnded() { monitor_.EpochEnded(parts_.now()); }

 private:
  MonitorParts PartsForMonitor();
  StallReport ReportOf(const StallTotals& totals) const;
  void FillStep(Lap lap, int64_t now_ns, StepReport& report);

  const ReporterParts parts_;
  LiveFeed feed_;  // before the monitor, which writes to it
  Monitor monitor_;
  std::array<uint64_t, kLaps> empties_before_ = {};  // of the ring, when the laps began
  uint64_t empties_before_all_ = 0;                  // and at the latest Restart
};

}  // namespace stoker

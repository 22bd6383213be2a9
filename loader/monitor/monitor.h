// When the periodic reports are due, and what they are made of beside the stalls.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "loader/machine/gauges.h"
#include "loader/monitor/epochs.h"
#include "loader/stall_log.h"
#include "loader/step_report.h"
#include "transfer/nvml.h"

namespace stoker {

// What a monitor works with; all of it outlives the monitor.
struct MonitorParts {
  int64_t every = 500;  // batches between two reports; 0: none, and none of epochs
  std::function<void(const StepReport&)> on_report;
  // Twice a second while batches are asked for, for who looks on (`stoker top`); may be null.
  std::function<void(const StepReport&)> on_live;
  // Fills in the stalls since the lap began, what the loader holds and which slots are full.
  std::function<void(Lap lap, int64_t now_ns, StepReport& report)> fill;
  std::function<void(Lap lap, int64_t now_ns)> start_lap;
  std::string gpu;          // UUID or PCI address; empty: none
  std::string report_file;  // JSON lines are added to it; empty: none
  std::string root = "/";   // of /proc and /sys
};

// Threads: the caller's of the loader. Never throws, unless on_report does: what cannot be read or written is left out,
// the latter said once.
class Monitor {
 public:
  explicit Monitor(MonitorParts parts);

  // A batch was given out at `now_ns`. Cheap where nothing is due.
  void BatchGiven(int64_t now_ns);
  // The epoch of the last batch has ended, or was broken off; one without a batch is none.
  void EpochEnded(int64_t now_ns);
  // Begins the laps anew.
  void Restart(int64_t now_ns);

 private:
  StepReport Compose(StepReport::Kind kind, Lap lap, int64_t now_ns);
  void ReadMachine(const MachineGauges& before, const MachineGauges& now, StepReport& report) const;
  void Emit(const StepReport& report);
  void EndSteps(int64_t now_ns);
  void AppendToFile(const StepReport& report);
  void Start(Lap lap, int64_t now_ns);

  const MonitorParts parts_;
  const int32_t usable_cpus_;
  const NvmlDevice gpu_;
  EpochTrend epochs_;
  std::array<MachineGauges, kLaps> before_;  // at the laps' beginnings
  int64_t steps_ = 0;
  int64_t live_due_ns_ = 0;
  bool in_epoch_ = false;
  uint64_t epochs_ended_ = 0;
  double smoothed_step_ms_ = 0;
  std::string file_trouble_;  // said already
};

}  // namespace stoker

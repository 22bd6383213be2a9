// The periodic report: what held the last steps back, and where memory and machine stand.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "loader/stall_report.h"

namespace stoker {

// What is not known (an old kernel, a sandbox, no GPU) is not there.
struct StepReport {
  enum class Kind : uint8_t {
    kSteps,  // LoaderOptions::report_every batches
    kEpoch,  // an epoch ended; its figures are of the whole epoch
    kLive,   // the steps since the last of the others, so far
  };
  Kind kind = Kind::kSteps;
  double unix_seconds = 0;      // when, on the system's clock
  int64_t step = 0;             // batches given out since the loader was made
  uint64_t epoch = 0;           // how many had ended before it, or before the one that ended
  double step_ms = 0;           // mean over `stalls`
  double smoothed_step_ms = 0;  // moving average over reports, a fifth for the newest
  StallReport stalls;           // of these steps alone; empties too

  std::optional<int64_t> rss_bytes, anonymous_bytes;   // of the process
  std::optional<double> growth_bytes_per_epoch;        // of anonymous memory, by the median slope; from 4 epochs on
  int64_t loader_bytes = 0;                            // of them, what the loader holds
  int64_t pinned_bytes = 0;                            // of those, page-locked for the GPU
  std::optional<double> cpu_cores;                     // busy, of this process and all that it started
  std::optional<double> cpu_share;                     // the same, of the CPUs that it may use
  std::optional<double> run_queue_share;               // of the time that its threads could run, they had no CPU
  std::optional<double> cache_hit_share;               // of the bytes read, those that storage had no part in
  std::optional<double> io_pressure, memory_pressure;  // PSI: of the time, some task waited
  std::optional<uint64_t> vram_used_bytes, vram_total_bytes;  // of the loader's GPU, by everybody
  std::optional<int> gpu_busy_percent;                        // some kernel ran; full is not busy
  // Batches that wait for the caller, and the slots of host and device together.
  uint32_t slots_full = 0, slots = 0;

  std::vector<std::string> warnings;  // each said once: memory that grows, steps that became slower
};

inline constexpr std::array<const char*, 3> kKindNames = {"steps", "epoch", "live"};

// One line without its end, as `stall 11.2 % ... | path: decode 63+/-4 ...`.
std::string FormatStep(const StepReport& report);

// One line of JSON without its end; bench/report.schema.json describes it.
std::string ToJsonLine(const StepReport& report);

}  // namespace stoker

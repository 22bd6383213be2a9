// What a sweep varies, and what came out of a run with it. Plain data.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>

#include "loader/options.h"
#include "loader/stall_report.h"

namespace stoker {

// The knobs that change how fast batches come and nothing about what they hold. As LoaderOptions has them.
struct Setting {
  int32_t num_workers = 1;  // 1 or more
  int32_t prefetch_factor = 2;
  int32_t queue_depth = 32;
  ReaderKind reader = ReaderKind::kAuto;

  bool operator==(const Setting&) const = default;
};

// Which of two settings takes less of a machine: threads first, then memory. Of equal ones the reader that decides for
// itself is the smaller.
std::strong_ordering CompareCost(const Setting& a, const Setting& b) noexcept;
// "4 workers, prefetch 2, depth 32, auto".
std::string SettingWords(const Setting& setting);
// `options` with these knobs.
LoaderOptions WithSetting(LoaderOptions options, const Setting& setting);

// One run.
struct Measurement {
  Setting setting;
  int32_t round = 0;  // runs of one round were made one after the other
  double images_per_second = 0;
  double first_batch_seconds = 0;   // from the loader's making to its first batch
  double seconds = 0;               // that the rate and what follows are about
  double cpu_seconds_per_1000 = 0;  // of the process, for 1,000 samples
  int64_t memory_bytes = 0;         // the most that the run had resident, beyond what was there before it
  int64_t planned_bytes = 0;        // what the loader reserved
  double step_seconds = 0;          // the caller's own time for a batch
  double foreign_cpus = 0;          // that were busy with something else meanwhile

  // Out of the stall report; see there.
  double stall_share = 0;
  std::array<double, kStages> shares = {};
  std::array<double, kServedStages> ceilings = {};
  std::array<double, kServedStages> busy = {};
  double cached_share = 0;
  double read_ms = 0;
  Stage leader = Stage::kOther;
  Bound bound = Bound::kUnknown;
  std::string verdict;
  std::string advice;

  std::string error;  // why the run failed; then nothing above but the setting and the round holds
};

// The part of it that a stall report has.
void TakeReport(const StallReport& report, Measurement& measurement);

}  // namespace stoker

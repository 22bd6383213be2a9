// Sums of the counters -> the verdict in words, the ceilings and one sentence of advice.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "loader/buffer_plan.h"
#include "loader/stall_totals.h"

namespace stoker {

// A sample that was bad, once each.
struct SkippedSample {
  uint64_t id = 0;
  std::string name;
  std::string reason;  // format, cause in words, offset where known
};

// What held a loader back, over its whole life or between two reports. Plain data.
struct StallReport {
  double seconds = 0;  // wall time since the first Next()
  int64_t samples = 0;
  int64_t batches = 0;
  uint64_t bytes_read = 0;  // encoded
  double images_per_second = 0;
  double stall_share = 0;                   // of the wall time that the caller waited, in Next() or on the device
  double device_stall_share = 0;            // the latter
  uint64_t empties = 0;                     // times that whoever takes batches came and none was full
  std::array<double, kStages> shares = {};  // of the wall time, along the critical path; sums to 1 (indexed by Stage)
  std::string verdict;  // one clause: how much the loader holds the caller back, and which stage does it
  std::string advice;   // one sentence
  // Images a second that each stage could do if nothing else held it back; 0: cannot be said.
  double io_ceiling = 0, decode_ceiling = 0, copy_ceiling = 0, consumer_ceiling = 0;
  double read_ms = 0, decode_ms = 0, augment_ms = 0;  // mean a sample, on the clock of its server

  std::string reader;  // its name and why it was chosen
  std::string device;
  bool pinned = true;  // false: the copies are staged by the driver
  int32_t workers = 0;
  double cached_share = 0;  // of the reads that the page cache answered at once; only where the reader tries it first
  bool cached_known = false;
  size_t budget_bytes = 0;          // planned and reserved
  size_t scratch_bytes = 0;         // grown since: decoders' and augmenters' scratch (part of the budget above)
  size_t oversized_bytes_peak = 0;  // one-off read buffers
  uint32_t extra_slots = 0;         // added for a caller that keeps batches (grow_slots), beyond the budget
  uint32_t extra_slots_peak = 0;
  BufferPlan buffers;
  uint64_t decoder_warnings = 0;       // pictures that the decoder complained of but gave
  int64_t skipped_count = 0;           // different bad samples
  std::vector<SkippedSample> skipped;  // the first kMaxSkippedNames of them
  bool abandoned = false;              // a read was stuck past its deadline; its memory was given up on purpose

  static constexpr size_t kMaxSkippedNames = 1000;
};

// Fills in the rates, shares, ceilings, verdict and advice from the sums. Pure.
// `servers`: how many of each stage can work at once.
struct StageServers {
  double readers = 1;
  double workers = 1;
};
void Judge(const StallTotals& totals, const StageServers& servers, StallReport& report);

// TensorFlow's words for the share of the time that a step waits for input: below 5 % "not", below 20 % "moderately",
// else "highly" (tensorflow/core/profiler, op_stats_to_input_pipeline_analysis).
const char* StallWords(double stall_share) noexcept;

}  // namespace stoker

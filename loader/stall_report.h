// Sums of the counters -> the verdict in words, the ceilings and one sentence of advice.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
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

// What kind of limit a verdict names.
enum class Bound : uint8_t {
  kUnknown,    // nothing was loaded, or start-up dominates
  kConsumer,   // the caller's own step: the loader keeps up, or gains no more than the stall share
  kCapacity,   // the leading stage is full: more of it helps
  kLatency,    // it is not full: the delay or the order of its work holds the path
  kStarved,    // its threads want a CPU and do not get one
  kPageCache,  // reads out of the page cache: opening and copying
  kContended,  // copies take longer than they could
  kHandOver,   // the loader's own hand-overs between threads
  kMixed,      // no stage leads for sure
};
inline constexpr size_t kBounds = 9;
inline constexpr std::array<const char*, kBounds> kBoundNames = {
    "unknown", "consumer", "capacity", "latency", "starved", "page cache", "contended", "hand-over", "mixed"};

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
  // Half the width of each share's 95 % interval, by the spread over `windows` stretches of the run; all 0 where there
  // were too few batches to tell.
  std::array<double, kStages> margins = {};
  int32_t windows = 0;
  std::array<double, kParts> parts = {};  // what the stages' shares went into; sums to 1 (indexed by Part)
  Stage leader = Stage::kOther;           // the stage with the largest share
  Bound bound = Bound::kUnknown;
  std::string verdict;  // one clause: how much the loader holds the caller back, and which stage does it
  std::string advice;   // one sentence
  // Images a second that each stage could do if nothing else held it back; 0: cannot be said (indexed by Stage).
  std::array<double, kServedStages> ceilings = {};
  // How much of its servers' time each stage used: of reads in flight, of workers (who also read what is cached), of
  // the copy engine, of the caller.
  std::array<double, kServedStages> busy = {};
  // How much higher the rate would be if that stage alone worked 10 % faster: its share of the path, and no more than
  // the other stages' ceilings let through. 0.06: 6 %.
  std::array<double, kServedStages> gains = {};
  std::optional<double> on_cpu_share;  // of the time that workers had samples, how much they were on a CPU
  double read_ms = 0, decode_ms = 0, augment_ms = 0;  // mean a sample, on the clock of its server

  std::string reader;  // its name and why it was chosen
  std::string device;
  bool pinned = true;         // false: the copies are staged by the driver
  int32_t workers = 0;        // that work now
  int32_t max_workers = 0;    // that there are buffers for
  bool auto_workers = false;  // kAutoWorkers: the loader chooses how many of them work
  double cached_share = 0;    // of the reads that the page cache answered at once; only where the reader tries it first
  bool cached_known = false;
  size_t budget_bytes = 0;          // planned and reserved
  size_t scratch_bytes = 0;         // grown since: decoders' and augmenters' scratch (part of the budget above)
  size_t oversized_bytes_peak = 0;  // one-off read buffers
  uint32_t extra_slots = 0;         // added for a caller that keeps batches (grow_slots), beyond the budget
  uint32_t extra_slots_peak = 0;
  BufferPlan buffers;
  // The row index, for which buffers.index_bytes are reserved: what of them is used, of how many pictures something was
  // learned, and that some was not for want of room.
  size_t index_used_bytes = 0;
  uint64_t index_entries = 0;
  bool index_full = false;
  uint64_t index_file_entries = 0;     // pictures beside those that its file knows
  std::string index_file;              // empty: there is none
  std::string cpu_path;                // the instructions that decoding uses: "sse2", "avx2", "avx512"
  uint64_t jpegs_own = 0;              // JPEGs decoded by Stoker's own decoder
  uint64_t jpegs_library = 0;          // by libjpeg-turbo: kinds that are left to it
  uint64_t jpegs_started_over = 0;     // by libjpeg-turbo, after the own decoder met something odd in the data
  uint64_t decoder_warnings = 0;       // pictures that the decoder complained of but gave
  int64_t skipped_count = 0;           // different bad samples
  std::vector<SkippedSample> skipped;  // the first kMaxSkippedNames of them
  bool abandoned = false;              // a read was stuck past its deadline; its memory was given up on purpose

  static constexpr size_t kMaxSkippedNames = 1000;
};

// How much faster a stage is taken to be for StallReport::gains.
inline constexpr double kGainSpeedUp = 1.10;

// Fills in the rates, shares, ceilings, verdict and advice from the sums. Pure.
// `servers`: how many of each stage can work at once.
struct StageServers {
  double readers = 1;
  double workers = 1;
};
void Judge(const StallTotals& totals, const StageServers& servers, StallReport& report);

// The part of Judge that puts the figures into words: `leader`, `bound`, `verdict` and `advice`.
void Conclude(StallReport& report);

// TensorFlow's words for the share of the time that a step waits for input: below 5 % "not", below 20 % "moderately",
// else "highly" (tensorflow/core/profiler, op_stats_to_input_pipeline_analysis).
const char* StallWords(double stall_share) noexcept;

}  // namespace stoker

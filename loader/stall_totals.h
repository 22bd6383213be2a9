// The sums that the counters add up to, and the stages that wall time is blamed on.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace stoker {

#ifdef STOKER_NO_COUNTERS
inline constexpr bool kCountersOn = false;  // only to measure what they cost
#else
inline constexpr bool kCountersOn = true;
#endif

enum class Stage : uint8_t { kIo, kDecode, kCopy, kConsumer, kRuntime, kOther };
inline constexpr size_t kStages = 6;
inline constexpr std::array<const char*, kStages> kStageNames = {"io",       "decode",  "copy",
                                                                 "consumer", "runtime", "other"};
using StageTimes = std::array<int64_t, kStages>;  // nanoseconds, indexed by Stage

// Sums over everything handed over so far. Differences of two snapshots are what a report is made of.
struct StallTotals {
  int64_t wall_ns = 0;       // from the first Next() to the latest fold
  StageTimes blame_ns = {};  // along the critical path; sums to wall_ns
  int64_t stall_ns = 0;      // the caller waited in Next()
  // Its stream on the device stood still for batches, while the host saw the caller at work.
  int64_t device_stall_ns = 0;
  int64_t read_ns = 0, decode_ns = 0, augment_ns = 0, copy_ns = 0, consumer_ns = 0;  // busy, summed over servers
  int64_t samples = 0;
  int64_t batches = 0;
  uint64_t bytes = 0;
  int64_t cached_reads = 0;
};

}  // namespace stoker

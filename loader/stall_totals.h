// The sums that the counters add up to, and what wall time is blamed on: stages, and the parts of each.
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
inline constexpr size_t kServedStages = 4;        // the first four, which have servers that can be full
using StageTimes = std::array<int64_t, kStages>;  // nanoseconds, indexed by Stage

// What a stage's time on the path went into. A sample is written into its slot row by row as it is augmented, so that
// writing has no part of its own.
enum class Part : uint8_t {
  kOpen,       // io: until the file was open (where the reader could tell)
  kStorage,    // io: until its bytes were there
  kPageCache,  // io: copied out of the page cache by the worker
  kLateReap,   // io: there, and waiting for the feeder to look (about: half of the time since it looked before)
  kDecode,
  kAugment,
  kOffCpu,         // decode, augment: the worker stood still: run queue, page fault, lock
  kTransfer,       // copy: as long as the fastest one takes
  kForeignCopies,  // copy: what it took beyond that: others on the link, or a slow one
  kStep,           // consumer: the caller's step; of a device's stream, until that was done with it
  kHostGap,        // consumer: the device was done, and the caller did not come back yet
  kRuntime,
  kOther,
};
inline constexpr size_t kParts = 13;
inline constexpr std::array<const char*, kParts> kPartNames = {
    "open",     "storage",        "page cache", "reaped late", "decode",  "augment", "off CPU",
    "transfer", "foreign copies", "step",       "host gap",    "runtime", "other"};
using PartTimes = std::array<int64_t, kParts>;  // nanoseconds, indexed by Part

constexpr Stage StageOf(Part part) noexcept {
  if (part <= Part::kLateReap) return Stage::kIo;
  if (part <= Part::kOffCpu) return Stage::kDecode;
  if (part <= Part::kForeignCopies) return Stage::kCopy;
  if (part <= Part::kHostGap) return Stage::kConsumer;
  return part == Part::kRuntime ? Stage::kRuntime : Stage::kOther;
}

// The time of a path by part, and by stage in windows of equally many batches: 20 to 40 of them once there were 20
// batches, however long the run. What they differ by tells how sure a share is.
class PathSums {
 public:
  static constexpr size_t kMostWindows = 40;
  struct Window {
    int64_t begin_ns = 0;
    StageTimes times = {};
  };

  PathSums() = default;
  explicit PathSums(int64_t begin_ns) noexcept { windows_[0].begin_ns = begin_ns; }

  // A batch was handed over.
  void EndBatch(int64_t now_ns) noexcept;
  // Of a segment of the path, what lies behind the beginning.
  void Add(Part part, int64_t from_ns, int64_t to_ns) noexcept;

  int64_t begin_ns() const noexcept { return windows_[0].begin_ns; }
  const PartTimes& parts() const noexcept { return parts_; }
  StageTimes stages() const noexcept;
  // In the order of time; the last one is open.
  size_t windows() const noexcept { return count_ + 1; }
  const Window& window(size_t i) const noexcept { return windows_[i]; }
  // For a pipeline that has no stage of the one kind: its time belongs to the other.
  void Move(Part from, Part to) noexcept;

 private:
  void MergePairs() noexcept;

  PartTimes parts_ = {};
  std::array<Window, kMostWindows + 1> windows_ = {};
  size_t count_ = 0;  // closed windows
  int64_t batches_each_ = 1;
  int64_t batches_ = 0;  // in the open window
};

// Sums over everything handed over so far. Differences of two snapshots are what a report is made of.
struct StallTotals {
  int64_t wall_ns = 0;   // since the first Next(), or the beginning of the lap
  PathSums path;         // sums to wall_ns
  int64_t stall_ns = 0;  // the caller waited in Next()
  // Its stream on the device stood still for batches, while the host saw the caller at work.
  int64_t device_stall_ns = 0;
  int64_t workers_ns = 0;  // how many workers might work, summed over the time; 0: not known
  int64_t read_ns = 0, decode_ns = 0, augment_ns = 0, copy_ns = 0, consumer_ns = 0;  // busy, summed over servers
  // Of callers that give their step to a device, what it took there: of the batches that it is known to be done with.
  int64_t device_step_ns = 0, device_steps = 0;
  int64_t cached_read_ns = 0;  // of read_ns: on the workers, out of the page cache
  // Of one sample in sixteen: how long a worker had it, and for how much of that it was on a CPU.
  int64_t clocked_ns = 0, on_cpu_ns = 0;
  int64_t samples = 0;
  int64_t batches = 0;
  uint64_t bytes = 0;
  int64_t cached_reads = 0;

  // What came after `base`, an earlier snapshot of the same sums; wall_ns and path are left to the caller.
  StallTotals Since(const StallTotals& base) const noexcept;
};

}  // namespace stoker

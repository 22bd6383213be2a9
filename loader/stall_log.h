// Always-on counters: when each step of each sample and batch happened, and what it had waited for.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "loader/stall_totals.h"
#include "transfer/slot.h"

namespace stoker {

// The step whose end let another one start: the constraint that was satisfied last.
enum class Cause : uint8_t { kNone, kRead, kDecode, kCopy, kConsumer };
struct Step {
  Cause cause = Cause::kNone;
  int64_t index = -1;  // a sample's sequence number, or a batch's
};
struct Predecessor {
  int64_t end_ns = 0;
  int64_t index = -1;  // a sample's sequence number, or a batch's
  Cause cause = Cause::kNone;

  // The later of the two: what a start that needed both had waited for.
  void Consider(const Predecessor& other) noexcept {
    if (other.cause != Cause::kNone && other.end_ns > end_ns) *this = other;
  }
};

// One sample's way, in nanoseconds of the pipeline's clock. The feeder writes the read, a worker the decode.
struct SampleRecord {
  int64_t sequence = -1;
  int64_t submit_ns = 0;   // the read was started
  int64_t opened_ns = 0;   // its file was open; 0: not known
  int64_t arrive_ns = 0;   // its bytes were there, and the feeder saw it
  int64_t start_ns = 0;    // a worker took it
  int64_t decoded_ns = 0;  // pixels were there, augmentation began
  int64_t end_ns = 0;      // written into the slot
  int64_t late_ns = 0;     // before arrive_ns: there, and not seen yet
  int64_t on_cpu_ns = -1;  // of the time from start to end, -1: not asked for
  Predecessor before_read;
  Predecessor before_decode;
  uint64_t bytes = 0;
  bool cached = false;  // read from the page cache at once
  uint16_t worker = 0;  // who decoded it, and read it where it was cached
  uint32_t id = kNoId;  // in the source, of the sample that was decoded

  static constexpr uint32_t kNoId = UINT32_MAX;  // none was
};

struct BatchRecord {
  int64_t batch = -1;
  uint32_t count = 0;
  BatchStamps stamps;
  int64_t requested_ns = 0;     // Next() was entered for it
  int64_t returned_ns = 0;      // Next() returned it
  int64_t consumer_end_ns = 0;  // the caller came back for the next one
  // The batch went to a stream of the device, which works on when the caller has come back: DeviceDone tells.
  bool to_stream = false;
  int64_t device_done_ns = 0;
};

// What is reported, some batches or an epoch; and what the number of workers is chosen by.
enum class Lap : uint8_t { kSteps, kEpoch, kTuning };
inline constexpr size_t kLaps = 3;

// Rings of records, in memory that is reserved at the start. Every half window the caller's thread walks back the
// critical path and folds its older half into the totals, so that the shares of a run of any length are those of one
// walk over all of it.
// Threads: a sample's record belongs to whoever holds its job; batch records, folds and totals are the caller's. A
// record is read only after its batch was handed over or through a chain of predecessors, all of which happened before.
class StallLog {
 public:
  // `batches_ahead`: batches that may be in the pipeline beyond the one handed over.
  StallLog(uint32_t batch_size, uint32_t batches_ahead);
  // What one made with these takes.
  static size_t BytesFor(uint32_t batch_size, uint32_t batches_ahead) noexcept;

  SampleRecord& sample(int64_t sequence) noexcept { return samples_[static_cast<size_t>(sequence) % samples_.size()]; }
  const SampleRecord& sample(int64_t sequence) const noexcept {
    return samples_[static_cast<size_t>(sequence) % samples_.size()];
  }
  int64_t Sequence(int64_t batch_number, uint32_t index) const noexcept { return batch_number * batch_size_ + index; }

  // Next() was entered, at `now_ns`: the previous batch's consumer step ends here.
  void Request(int64_t now_ns) noexcept;
  // It gives up waiting, without a batch.
  void EndWait() noexcept { waiting_ = false; }
  // It returned `record` (whose requested_ns is filled in here).
  void HandOver(BatchRecord record) noexcept;

  // The copy of a batch that was handed over before it ended: the final stamps.
  void Copied(int64_t batch, const BatchStamps& stamps) noexcept;
  // A stream was done with a batch at `end_ns`: until then the caller's wait for the next one held nothing back.
  void DeviceDone(int64_t batch, int64_t end_ns) noexcept;
  // The caller's stream stood still for batches, on the device: a part of its step that is ours.
  void DeviceStalled(int64_t ns) noexcept { totals_.device_stall_ns += ns; }

  // From now on so many workers may work at once.
  void SetWorkers(uint32_t workers, int64_t now_ns) noexcept;

  // Begins the sums anew at `now_ns`, those of laps too.
  void Restart(int64_t now_ns) noexcept;
  // Walks the path up to now and returns the sums.
  StallTotals Totals(int64_t now_ns) const noexcept;
  // Begins a lap: sums of their own, beside those of the whole.
  void StartLap(Lap lap, int64_t now_ns) noexcept;
  StallTotals LapTotals(Lap lap, int64_t now_ns) const noexcept;

  // For who looks at single records, on the caller's thread. The batches from first_held() to last_batch() are there
  // with all their samples, those that were dropped excepted; nothing is where the first is beyond the last.
  int64_t last_batch() const noexcept { return last_batch_; }
  int64_t first_held() const noexcept;
  // Null where a batch was dropped, or is not held any more.
  const BatchRecord* FindBatch(int64_t number) const noexcept;
  uint32_t batch_size() const noexcept { return batch_size_; }
  // The first Next(), or the latest Restart(); 0: neither yet.
  int64_t begin_ns() const noexcept { return begin_ns_; }

  // A stretch of time that one part of a step takes, or of nobody's (Cause::kNone).
  struct Segment {
    Part part = Part::kOther;
    int64_t from_ns = 0;
    int64_t to_ns = 0;
    Step step;
  };
  using SegmentSink = std::function<void(const Segment&)>;
  // The critical path from `from_ns` to `now_ns`, the latest segment first; they tile that time.
  void Path(int64_t from_ns, int64_t now_ns, const SegmentSink& sink) const;
  // The parts of a whole step that has ended and whose record is held, the latest first.
  void Parts(const Step& step, const SegmentSink& sink) const;

 private:
  // Where a batch's record is or was. Requires: number >= -1.
  size_t PlaceOf(int64_t number) const noexcept {
    return (static_cast<size_t>(number + 1) + batches_.size() - 1) % batches_.size();
  }
  template <typename Sink>
  void Walk(int64_t begin_ns, int64_t now_ns, const Sink& sink) const noexcept;
  // Of the segment up to `end_ns` that one step has on the path, the parts, the latest first.
  template <typename Sink>
  void Split(const Step& step, int64_t start_ns, int64_t end_ns, const Sink& sink) const noexcept;
  void Fold(int64_t now_ns) noexcept;
  void NoteCopy(const BatchRecord& record) noexcept;
  void SumSample(const SampleRecord& record) noexcept;
  void FindConsumer(const BatchRecord& record, int64_t& start_ns, Predecessor& before) const noexcept;
  // The step's start and what it had waited for; false where its record is gone.
  bool Find(const Step& step, int64_t& start_ns, Predecessor& before) const noexcept;

  const uint32_t batch_size_;
  std::vector<SampleRecord> samples_;
  std::vector<BatchRecord> batches_;
  const int64_t fold_every_;
  StallTotals totals_;  // path: up to folded_ns_
  struct LapSums {
    StallTotals base;  // totals_ at the lap's beginning
    PathSums path;
  };
  std::array<LapSums, kLaps> laps_;
  int64_t fastest_copy_ns_ = 0;  // of a whole batch; 0: none yet
  int64_t begin_ns_ = 0;         // the first Next(), or the latest Restart()
  int64_t folded_ns_ = 0;        // the path is blamed up to here for good
  int64_t half_ns_ = 0;          // the next fold goes up to here
  int64_t request_ns_ = 0;
  uint32_t workers_ = 0;
  int64_t workers_since_ns_ = 0;  // so many, and not in totals_ yet
  int64_t last_batch_ = -1;       // handed over
  int64_t fold_at_ = 0;           // the batch behind which the next fold is due
  bool waiting_ = false;          // in Next()
};

}  // namespace stoker

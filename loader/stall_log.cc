#include "loader/stall_log.h"

#include <algorithm>

namespace stoker {
namespace {

// The window of the log: long enough that folding costs nothing, short enough that the log stays small.
constexpr size_t kMaxLogBytes = size_t{4} << 20;
constexpr int64_t kMaxWindow = 256;
constexpr int64_t kMinWindow = 4;

int64_t WindowFor(uint32_t batch_size) {
  const auto fits = static_cast<int64_t>(kMaxLogBytes / (sizeof(SampleRecord) * batch_size));
  return std::clamp(fits, kMinWindow, kMaxWindow);
}

// Batches whose records are kept.
size_t Batches(uint32_t batch_size, uint32_t batches_ahead) {
  return kCountersOn ? static_cast<size_t>(WindowFor(batch_size) + batches_ahead + 1) : 1;
}

size_t Samples(uint32_t batch_size, uint32_t batches_ahead) {
  return kCountersOn ? Batches(batch_size, batches_ahead) * batch_size : 1;
}

}  // namespace

StallLog::StallLog(uint32_t batch_size, uint32_t batches_ahead)
    : batch_size_(batch_size),
      samples_(Samples(batch_size, batches_ahead)),
      batches_(Batches(batch_size, batches_ahead)),
      fold_every_(WindowFor(batch_size) / 2) {}

size_t StallLog::BytesFor(uint32_t batch_size, uint32_t batches_ahead) noexcept {
  return Samples(batch_size, batches_ahead) * sizeof(SampleRecord) +
         Batches(batch_size, batches_ahead) * sizeof(BatchRecord);
}

void StallLog::Request(int64_t now_ns) noexcept {
  if (begin_ns_ == 0) {
    begin_ns_ = now_ns;
    Restart(now_ns);
  }
  request_ns_ = now_ns;
  waiting_ = true;
  if (last_batch_ < 0) return;
  BatchRecord& last = batches_[PlaceOf(last_batch_)];
  // The end of an epoch is asked for more than once; the first time ended the consumer's step.
  if (last.batch == last_batch_ && last.consumer_end_ns == 0) {
    last.consumer_end_ns = now_ns;
    totals_.consumer_ns += now_ns - std::max(last.returned_ns, begin_ns_);
  }
}

void StallLog::HandOver(BatchRecord record) noexcept {
  if constexpr (!kCountersOn) {
    ++totals_.batches;
    totals_.samples += record.count;
    return;
  }
  record.requested_ns = request_ns_;
  waiting_ = false;
  if (!record.to_stream) totals_.stall_ns += record.returned_ns - record.requested_ns;
  ++totals_.batches;
  totals_.samples += record.count;
  NoteCopy(record);
  for (uint32_t i = 0; i < record.count; ++i) SumSample(sample(Sequence(record.batch, i)));
  batches_[PlaceOf(record.batch)] = record;
  last_batch_ = record.batch;
  totals_.path.EndBatch(record.returned_ns);
  for (LapSums& lap : laps_) lap.path.EndBatch(record.returned_ns);
  // By the batch's number, as places in the rings are: dropped ones take some, too.
  if (record.batch >= fold_at_) Fold(record.returned_ns);
}

void StallLog::SumSample(const SampleRecord& record) noexcept {
  const int64_t read_ns = record.arrive_ns - record.submit_ns;
  totals_.read_ns += read_ns;
  totals_.decode_ns += record.decoded_ns - record.start_ns;
  totals_.augment_ns += record.end_ns - record.decoded_ns;
  totals_.bytes += record.bytes;
  if (record.cached) {
    ++totals_.cached_reads;
    totals_.cached_read_ns += read_ns;
  }
  if (record.on_cpu_ns >= 0) {
    totals_.clocked_ns += record.end_ns - record.start_ns;
    totals_.on_cpu_ns += std::min(record.on_cpu_ns, record.end_ns - record.start_ns);
  }
}

void StallLog::NoteCopy(const BatchRecord& record) noexcept {
  if (record.stamps.copy_end_ns == 0) return;
  const int64_t copy_ns = record.stamps.copy_end_ns - record.stamps.copy_start_ns;
  totals_.copy_ns += copy_ns;
  if (record.count < batch_size_) return;
  fastest_copy_ns_ = fastest_copy_ns_ == 0 ? copy_ns : std::min(fastest_copy_ns_, copy_ns);
}

void StallLog::Copied(int64_t batch, const BatchStamps& stamps) noexcept {
  BatchRecord& record = batches_[PlaceOf(batch)];
  if (!kCountersOn || record.batch != batch || record.stamps.copy_end_ns != 0) return;
  record.stamps = stamps;
  NoteCopy(record);
}

void StallLog::DeviceDone(int64_t batch, int64_t end_ns) noexcept {
  BatchRecord& record = batches_[PlaceOf(batch)];
  if (!kCountersOn || record.batch != batch) return;
  record.device_done_ns = end_ns;
  int64_t start_ns = 0;
  Predecessor before;
  FindConsumer(record, start_ns, before);
  ++totals_.device_steps;
  totals_.device_step_ns += std::max<int64_t>(end_ns - std::max(start_ns, begin_ns_), 0);
  const BatchRecord& next = batches_[PlaceOf(batch + 1)];
  if (next.batch != batch + 1 || next.requested_ns < begin_ns_) return;
  totals_.stall_ns += next.returned_ns - std::clamp(end_ns, next.requested_ns, next.returned_ns);
}

bool StallLog::Find(const Step& step, int64_t& start_ns, Predecessor& before) const noexcept {
  before = {};
  if (step.cause == Cause::kRead || step.cause == Cause::kDecode) {
    const SampleRecord& record = samples_[static_cast<size_t>(step.index) % samples_.size()];
    if (record.sequence != step.index) return false;
    start_ns = step.cause == Cause::kRead ? record.submit_ns : record.start_ns;
    before = step.cause == Cause::kRead ? record.before_read : record.before_decode;
    return true;
  }
  const BatchRecord& record = batches_[PlaceOf(step.index)];
  if (step.cause == Cause::kNone || record.batch != step.index) return false;
  if (step.cause == Cause::kCopy) {
    start_ns = record.stamps.copy_start_ns;
    before = {record.stamps.full_ns, Sequence(record.batch, record.stamps.last_sample), Cause::kDecode};
    before.Consider({record.stamps.device_slot_ns, record.stamps.device_slot_batch,
                     record.stamps.device_slot_batch < 0 ? Cause::kNone : Cause::kConsumer});
    const BatchRecord& previous = batches_[PlaceOf(step.index - 1)];
    if (previous.batch == step.index - 1) before.Consider({previous.stamps.copy_end_ns, previous.batch, Cause::kCopy});
    return start_ns != 0;
  }
  FindConsumer(record, start_ns, before);
  return true;
}

void StallLog::FindConsumer(const BatchRecord& record, int64_t& start_ns, Predecessor& before) const noexcept {
  const BatchStamps& stamps = record.stamps;
  const BatchRecord& previous = batches_[PlaceOf(record.batch - 1)];
  const bool follows = previous.batch == record.batch - 1;
  start_ns = record.returned_ns;
  if (record.to_stream && follows && previous.device_done_ns > start_ns) {
    start_ns = previous.device_done_ns;
    before = {start_ns, previous.batch, Cause::kConsumer};
  }
  if (stamps.copy_end_ns > start_ns) {
    start_ns = stamps.copy_end_ns;
    before = {start_ns, record.batch, Cause::kCopy};
  }
  if (start_ns > record.returned_ns) return;  // the host was ahead of the device
  before = {stamps.full_ns, Sequence(record.batch, stamps.last_sample), Cause::kDecode};
  before.Consider({stamps.copy_end_ns, record.batch, stamps.copy_end_ns == 0 ? Cause::kNone : Cause::kCopy});
  before.Consider({stamps.slot_seen_ns, stamps.device_slot_batch,
                   stamps.device_slot_batch < 0 ? Cause::kNone
                   : stamps.slot_seen_by_copy   ? Cause::kCopy
                                                : Cause::kConsumer});
  if (follows) before.Consider({record.requested_ns, previous.batch, Cause::kConsumer});
}

template <typename Sink>
void StallLog::Split(const Step& step, int64_t start_ns, int64_t end_ns, const Sink& sink) const noexcept {
  // Gives [from_ns, end_ns) to `part` and goes on with what lies before it.
  const auto cut = [&](Part part, int64_t from_ns) {
    from_ns = std::clamp(from_ns, start_ns, end_ns);
    if (from_ns < end_ns) sink(part, from_ns, end_ns, step);
    end_ns = from_ns;
  };
  if (step.cause == Cause::kRead) {
    const SampleRecord& record = samples_[static_cast<size_t>(step.index) % samples_.size()];
    if (record.late_ns > 0) cut(Part::kLateReap, record.arrive_ns - record.late_ns);
    cut(record.cached ? Part::kPageCache : Part::kStorage, std::max(record.opened_ns, start_ns));
    return cut(Part::kOpen, start_ns);
  }
  if (step.cause == Cause::kDecode) {
    cut(Part::kAugment, samples_[static_cast<size_t>(step.index) % samples_.size()].decoded_ns);
    return cut(Part::kDecode, start_ns);
  }
  if (step.cause == Cause::kCopy) {
    if (fastest_copy_ns_ > 0) cut(Part::kForeignCopies, start_ns + fastest_copy_ns_);
    return cut(Part::kTransfer, start_ns);
  }
  const BatchRecord& record = batches_[PlaceOf(step.index)];
  if (record.to_stream && record.device_done_ns > 0) cut(Part::kHostGap, record.device_done_ns);
  cut(Part::kStep, start_ns);
}

// Walks back from now along what each step had waited for, giving each step's time to its parts and the gaps between a
// step's start and its predecessor's end to the runtime. The segments tile the time since `begin_ns`.
template <typename Sink>
void StallLog::Walk(int64_t begin_ns, int64_t now_ns, const Sink& sink) const noexcept {
  int64_t at = now_ns;
  const auto blame = [&](Part part, int64_t start_ns) {
    const int64_t from = std::clamp(start_ns, begin_ns, at);
    if (from < at) sink(part, from, at, Step());
    at = from;
  };
  Step step = {last_batch_ < 0 ? Cause::kNone : Cause::kConsumer, last_batch_};
  if (last_batch_ >= 0 && batches_[PlaceOf(last_batch_)].consumer_end_ns != 0) {
    // The caller sits in Next() (or has left the loop): what it waits for is not known yet.
    blame(Part::kOther, batches_[PlaceOf(last_batch_)].consumer_end_ns);
  }
  int64_t start_ns = 0;
  Predecessor before;
  // A path passes each step once; the bound only guards against records that contradict each other.
  size_t steps_left = 2 * samples_.size() + 2 * batches_.size();
  while (at > begin_ns && steps_left-- > 0 && Find(step, start_ns, before)) {
    const int64_t from = std::clamp(start_ns, begin_ns, at);
    if (from < at) Split(step, from, at, sink);
    at = from;
    if (before.cause == Cause::kNone) break;
    blame(Part::kRuntime, before.end_ns);
    step = {before.cause, before.index};
  }
  blame(Part::kOther, begin_ns);
}

void StallLog::Path(int64_t from_ns, int64_t now_ns, const SegmentSink& sink) const {
  Walk(from_ns, now_ns, [&](Part part, int64_t from, int64_t to, const Step& step) { sink({part, from, to, step}); });
}

void StallLog::Parts(const Step& step, const SegmentSink& sink) const {
  int64_t start_ns = 0;
  Predecessor before;
  if (!Find(step, start_ns, before)) return;
  int64_t end_ns = 0;
  if (step.cause == Cause::kRead || step.cause == Cause::kDecode) {
    const SampleRecord& record = samples_[static_cast<size_t>(step.index) % samples_.size()];
    end_ns = step.cause == Cause::kRead ? record.arrive_ns : record.end_ns;
  } else {
    const BatchRecord& record = batches_[PlaceOf(step.index)];
    end_ns = step.cause == Cause::kCopy ? record.stamps.copy_end_ns
                                        : std::max(record.consumer_end_ns, record.device_done_ns);
  }
  if (end_ns <= start_ns) return;
  Split(step, start_ns, end_ns, [&](Part part, int64_t from, int64_t to, const Step&) {
    sink({part, from, to, step});
  });
}

int64_t StallLog::first_held() const noexcept {
  return last_batch_ < 0 ? 0 : std::max(last_batch_ - 2 * fold_every_ + 1, int64_t{0});
}

const BatchRecord* StallLog::FindBatch(int64_t number) const noexcept {
  const BatchRecord& record = batches_[PlaceOf(number)];
  return record.batch == number ? &record : nullptr;
}

void StallLog::Fold(int64_t now_ns) noexcept {
  fold_at_ = last_batch_ + fold_every_;
  // Paths from different ends run together when they are followed back: the older half is final, the younger is not.
  Walk(folded_ns_, now_ns, [this](Part part, int64_t from_ns, int64_t to_ns, const Step&) {
    totals_.path.Add(part, from_ns, std::min(to_ns, half_ns_));
    for (LapSums& lap : laps_) lap.path.Add(part, from_ns, std::min(to_ns, half_ns_));
  });
  folded_ns_ = half_ns_;
  half_ns_ = now_ns;
}

void StallLog::SetWorkers(uint32_t workers, int64_t now_ns) noexcept {
  totals_.workers_ns += workers_ * (now_ns - workers_since_ns_);
  workers_since_ns_ = now_ns;
  workers_ = workers;
}

void StallLog::Restart(int64_t now_ns) noexcept {
  totals_ = {};
  fold_at_ = last_batch_ + fold_every_;
  if (begin_ns_ != 0) begin_ns_ = folded_ns_ = half_ns_ = now_ns;
  workers_since_ns_ = begin_ns_;
  totals_.path = PathSums(begin_ns_);
  for (const Lap lap : {Lap::kSteps, Lap::kEpoch, Lap::kTuning}) StartLap(lap, begin_ns_);
}

StallTotals StallLog::Totals(int64_t now_ns) const noexcept {
  StallTotals totals = totals_;
  if (!kCountersOn || begin_ns_ == 0 || now_ns <= folded_ns_) return totals;
  Walk(folded_ns_, now_ns,
       [&](Part part, int64_t from_ns, int64_t to_ns, const Step&) { totals.path.Add(part, from_ns, to_ns); });
  totals.wall_ns = now_ns - begin_ns_;
  totals.workers_ns += workers_ * (now_ns - workers_since_ns_);
  // A wait that has not ended counts as far as it goes.
  if (waiting_) totals.stall_ns += now_ns - std::max(request_ns_, begin_ns_);
  return totals;
}

void StallLog::StartLap(Lap lap, int64_t now_ns) noexcept {
  SetWorkers(workers_, now_ns);
  laps_[static_cast<size_t>(lap)] = {totals_, PathSums(now_ns)};
}

StallTotals StallLog::LapTotals(Lap lap, int64_t now_ns) const noexcept {
  const LapSums& sums = laps_[static_cast<size_t>(lap)];
  StallTotals totals = totals_.Since(sums.base);
  totals.path = sums.path;
  if (!kCountersOn || begin_ns_ == 0 || now_ns <= sums.path.begin_ns()) return totals;
  Walk(folded_ns_, now_ns,
       [&](Part part, int64_t from_ns, int64_t to_ns, const Step&) { totals.path.Add(part, from_ns, to_ns); });
  totals.wall_ns = now_ns - sums.path.begin_ns();
  totals.workers_ns += workers_ * (now_ns - workers_since_ns_);
  if (waiting_) totals.stall_ns += now_ns - std::max(request_ns_, sums.path.begin_ns());
  return totals;
}

}  // namespace stoker

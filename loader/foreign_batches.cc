#include "loader/foreign_batches.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <chrono>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "loader/delivery.h"
#include "loader/error.h"
#include "loader/transfer_plan.h"

namespace stoker {

// That a slot came free; outlives its owner where the caller still holds batches.
class FreeSignal {
 public:
  void Signal() EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    ++count_;
    changed_.NotifyAll();
  }
  uint64_t count() const EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    return count_;
  }
  // Until a signal came since `count` was read; wakes early now and then.
  void WaitSince(uint64_t count) EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    if (count_ == count) changed_.Wait(mutex_);
  }

 private:
  mutable Mutex mutex_;
  CondVar changed_;
  uint64_t count_ GUARDED_BY(mutex_) = 0;
};

namespace {

constexpr std::chrono::milliseconds kPatience{100};
// One is filled while the other is copied.
constexpr uint32_t kHostSlots = 2;
// What slots are multiples of; the first ones are of one, until the first batch tells what is needed.
constexpr int32_t kSlotRowBytes = 4096;
// A batch that outgrew its slot gets one that is larger by this part: others like it will follow.
constexpr size_t kRoom = 4;

SampleSpec SpecOf(size_t bytes) {
  const size_t rows = std::max<size_t>(1, (bytes + kSlotRowBytes - 1) / kSlotRowBytes);
  return {.size = {static_cast<int32_t>(rows), kSlotRowBytes}, .channels = 1, .layout = Layout::kNhwc};
}

uint32_t Checked(uint32_t depth) {
  if (depth >= 1 && depth <= ForeignBatches::kMaxDepth) return depth;
  throw std::invalid_argument(fmt::format("depth: {} (allowed: 1 to {})", depth, ForeignBatches::kMaxDepth));
}

// In place of Judge's words for stages that are not there.
void JudgeSource(StallReport& report) {
  const auto leader = std::max_element(report.shares.begin(), report.shares.end()) - report.shares.begin();
  const char* const held_back = StallWords(report.stall_share);
  if (static_cast<Stage>(leader) == Stage::kIo) {
    report.verdict =
        fmt::format("{}; the wrapped loader takes {:.0f} % of the path", held_back, 100 * report.shares[leader]);
    report.advice = "Give it more workers or less to do; picture files go faster by a loader of Stoker's own.";
  } else if (static_cast<Stage>(leader) == Stage::kRuntime) {
    report.verdict =
        fmt::format("{}; copying batches into page-locked memory and handing over takes {:.0f} % of the path",
                    held_back, 100 * report.shares[leader]);
    report.advice = "Send fewer bytes (uint8, and floats only on the device) or larger batches.";
  }
}

}  // namespace

ForeignBatches::ForeignBatches(std::string device, uint32_t depth, NowFn now)
    : device_(std::move(device)),
      depth_(Checked(depth)),
      now_(now),
      freed_(std::make_shared<FreeSignal>()),
      log_(1, kHostSlots + depth_ + 1) {
  MutexLock lock(mutex_);
  Open(0);
}

ForeignBatches::~ForeignBatches() { Stop(); }

void ForeignBatches::Open(size_t slot_bytes) {
  delivery_ = nullptr;  // and stays so where the device has no room
  const SampleSpec spec = SpecOf(slot_bytes);
  LoaderOptions options;
  options.batch_size = 1;
  options.device = device_;
  TransferPlan plan = PlanTransfer(options, spec, nullptr);
  if (!plan.upload) throw std::invalid_argument(fmt::format("device \"{}\": nothing is copied there", device_));
  delivery_ =
      std::make_shared<Delivery>(std::move(plan), kHostSlots, depth_, now_, [freed = freed_] { freed->Signal(); });
  spec_ = spec;
  opened_ = put_;
}

void ForeignBatches::Begin(const WhileWaiting& while_waiting) {
  std::shared_ptr<Delivery> delivery;
  int64_t dropped = 0;
  {
    MutexLock lock(mutex_);
    assert(ended_);
    delivery = delivery_;
    dropped = put_ - taken_;
  }
  for (; dropped > 0; --dropped) delivery->Return(Take(*delivery, kHostStream, while_waiting), kHostStream);
  MutexLock lock(mutex_);
  taken_ = put_;
  ended_ = left_ = false;
  pull_ns_ = now_();
  before_pull_ = {pull_ns_, put_ - 1, put_ > 0 ? Cause::kConsumer : Cause::kNone};
  if (delivery_ != nullptr) delivery_->Start();
}

// False where no more are wanted.
bool ForeignBatches::MakeRoom(size_t bytes) {
  MutexLock lock(mutex_);
  if (delivery_ != nullptr && bytes <= spec_.bytes()) return going();
  while (going() && taken_ < put_) changed_.Wait(mutex_);
  if (!going()) return false;
  Open(put_ == 0 ? bytes : bytes + bytes / kRoom);
  delivery_->Start();
  return true;
}

BatchSlot* ForeignBatches::Lease() {
  for (;;) {
    const uint64_t freed = freed_->count();
    std::shared_ptr<Delivery> delivery;
    {
      MutexLock lock(mutex_);
      if (!going()) return nullptr;
      delivery = delivery_;
    }
    if (BatchSlot* const slot = delivery->ring().TryLease(1)) return slot;
    freed_->WaitSince(freed);
  }
}

bool ForeignBatches::Put(std::span<const Piece> pieces, size_t bytes) {
  const int64_t arrived_ns = now_();
  if (!MakeRoom(bytes)) return false;
  BatchSlot* const slot = Lease();
  if (slot == nullptr) return false;
  for (const Piece& piece : pieces) {
    assert(piece.offset + piece.bytes <= bytes);
    if (piece.bytes > 0) std::memcpy(slot->data + piece.offset, piece.data, piece.bytes);
  }
  Record(*slot, arrived_ns);
  SampleSlot(*slot, 0).Release();
  MutexLock lock(mutex_);
  ++put_;
  changed_.NotifyAll();
  return true;
}

// The log's decode step takes no time: what lies between the batch's arrival, or a slot for it, and that step is the
// runtime's.
void ForeignBatches::Record(const BatchSlot& slot, int64_t arrived_ns) {
  MutexLock lock(mutex_);
  const int64_t now = now_();
  SampleRecord record;
  record.sequence = put_;
  record.submit_ns = pull_ns_;
  record.arrive_ns = arrived_ns;
  record.start_ns = record.decoded_ns = record.end_ns = now;
  record.before_read = before_pull_;
  record.before_decode = {arrived_ns, put_, Cause::kRead};
  if (slot.freed_by_batch >= 0) {
    record.before_decode.Consider({slot.freed_ns, opened_ + slot.freed_by_batch, Cause::kCopy});
  }
  log_.sample(put_) = record;
  pull_ns_ = now;
  before_pull_ = {now, put_, Cause::kDecode};
}

void ForeignBatches::End() {
  MutexLock lock(mutex_);
  ended_ = true;
  changed_.NotifyAll();
}

void ForeignBatches::Leave() {
  {
    MutexLock lock(mutex_);
    left_ = true;
    changed_.NotifyAll();
  }
  freed_->Signal();
}

void ForeignBatches::Stop() {
  std::shared_ptr<Delivery> delivery;
  {
    MutexLock lock(mutex_);
    stopped_ = true;
    changed_.NotifyAll();
    delivery = delivery_;
  }
  freed_->Signal();
  if (delivery != nullptr) delivery->Stop();
}

void ForeignBatches::CheckOpen() const {
  if (stopped_) throw Error(LoadError::kStopped, "next", "", -1, "the prefetcher is closed: make a new one");
}

// False at the end of the epoch.
bool ForeignBatches::WaitForBatch(const WhileWaiting& while_waiting) {
  for (;;) {
    {
      MutexLock lock(mutex_);
      CheckOpen();
      if (taken_ < put_) return true;
      if (ended_) return false;
      if (changed_.WaitFor(mutex_, kPatience)) continue;
    }
    if (while_waiting) while_waiting();
  }
}

Delivered ForeignBatches::Take(Delivery& delivery, StreamHandle stream, const WhileWaiting& while_waiting) {
  for (;;) {
    std::error_code error;
    if (const Delivered slot = delivery.Take(stream, kPatience, error)) return slot;
    if (error) throw Error(error, "copy", "", -1, "copying a batch to the device failed: " + error.message());
    {
      MutexLock lock(mutex_);
      CheckOpen();
    }
    if (while_waiting) while_waiting();
  }
}

std::optional<Batch> ForeignBatches::Next(StreamHandle stream, const WhileWaiting& while_waiting) {
  {
    MutexLock lock(mutex_);
    LogCopies();
    log_.Request(now_());
  }
  if (!WaitForBatch(while_waiting)) return std::nullopt;
  std::shared_ptr<Delivery> delivery;
  {
    MutexLock lock(mutex_);
    delivery = delivery_;
  }
  if (delivery->held_by_caller() >= depth_) {
    throw Error(
        LoadError::kAllSlotsHeld, "next", "", -1,
        fmt::format("the caller holds all {} batches, so no other can be loaded: let go of some, or raise depth",
                    depth_));
  }
  const Delivered slot = Take(*delivery, stream, while_waiting);
  // A lease from here on.
  MutexLock lock(mutex_);
  LogHandOver(slot, stream);
  Batch batch(std::move(delivery), nullptr, slot, spec_, 0, static_cast<uint64_t>(taken_++), stream);
  changed_.NotifyAll();
  return batch;
}

void ForeignBatches::LogCopies() {
  if (delivery_ != nullptr) delivery_->LogCopies(log_, opened_);
}

void ForeignBatches::LogHandOver(const Delivered& slot, StreamHandle stream) {
  BatchRecord record;
  record.batch = taken_;
  record.count = 1;
  record.stamps = delivery_->StampsOf(slot);
  if (record.stamps.device_slot_batch >= 0) record.stamps.device_slot_batch += opened_;
  record.returned_ns = now_();
  record.to_stream = stream != kHostStream;
  log_.HandOver(record);
}

StallReport ForeignBatches::Report() {
  MutexLock lock(mutex_);
  LogCopies();
  StallReport report;
  StallTotals totals = log_.Totals(now_());
  totals.path.Move(Part::kDecode, Part::kRuntime);
  Judge(totals, {}, report);
  if (totals.wall_ns > 0) JudgeSource(report);
  report.device = delivery_ != nullptr ? delivery_->device()->info().name : device_;
  report.pinned = delivery_ == nullptr || delivery_->pinned();
  report.buffers.slots = kHostSlots;
  report.buffers.slot_bytes = spec_.bytes();
  return report;
}

void ForeignBatches::RestartReport() {
  MutexLock lock(mutex_);
  LogCopies();
  log_.Restart(now_());
}

size_t ForeignBatches::slot_bytes() const {
  MutexLock lock(mutex_);
  return put_ == 0 ? 0 : spec_.bytes();
}

}  // namespace stoker

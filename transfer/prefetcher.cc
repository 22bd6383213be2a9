#include "transfer/prefetcher.h"

#include <algorithm>
#include <cstring>

#include "transfer/nvtx.h"

namespace stoker {
namespace {

// Two: the engine has the next copy queued while the end of the last one is noticed.
constexpr size_t kCopiesInFlight = 2;
// How long the thread sleeps at most where no copy runs, and between two looks at one that does.
constexpr std::chrono::milliseconds kPatience{50};
constexpr std::chrono::microseconds kCopyPatience{50};

void AddReader(DeviceSlot& slot, StreamHandle stream) {
  if (std::ranges::find(slot.readers, stream) == slot.readers.end()) slot.readers.push_back(stream);
}

}  // namespace

Prefetcher::Prefetcher(Device& device, Ring& ring, const Options& options, NowFn now)
    : device_(device),
      ring_(ring),
      options_(options),
      now_(now),
      in_flight_(kCopiesInFlight),
      returned_(options.device_slots),
      uploading_(options.device_slots),
      copied_(4 * size_t{options.device_slots}) {
  const DeviceScope scope(device_);
  if (scope.error()) throw std::system_error(scope.error(), "device " + device_.info().name);
  uploader_.emplace(device_, ring_, options_.device_slots, options_.finish);
  {
    MutexLock lock(mutex_);
    for (const auto& slot : uploader_->slots()) free_.push_back(slot.get());
  }
  ring_.OnFull([this] { Changed(); });
}

void Prefetcher::Stop() {
  {
    MutexLock lock(mutex_);
    stop_ = true;
    ++changes_;
    changed_.NotifyAll();
  }
  if (thread_.joinable()) thread_.join();
}

Prefetcher::~Prefetcher() {
  Stop();
  ring_.OnFull({});
  const DeviceScope scope(device_);
  RecordReturned();
  if (!uploader_->WaitUntilIdle(options_.copy_deadline)) uploader_->Abandon();
  uploader_.reset();  // while attached
}

void Prefetcher::Start() {
  if (!thread_.joinable()) thread_ = std::thread([this] { Run(); });
}

bool Prefetcher::stopped() const {
  MutexLock lock(mutex_);
  return stop_ || error_;
}

void Prefetcher::Changed() {
  MutexLock lock(mutex_);
  ++changes_;
  changed_.NotifyAll();
}

void Prefetcher::Run() {
  const DeviceScope scope(device_);
  if (scope.error()) return Fail(scope.error());
  while (!stopped()) {
    uint64_t seen = 0;
    {
      MutexLock lock(mutex_);
      seen = changes_;
    }
    if (Step()) continue;
    MutexLock lock(mutex_);
    if (changes_ == seen && !stop_) {
      changed_.WaitFor(mutex_, in_flight_.empty() ? std::chrono::nanoseconds(kPatience) : kCopyPatience);
    }
  }
}

bool Prefetcher::Step() {
  RecordReturned();
  while (!in_flight_.empty() && FinishIfDone(in_flight_.front())) in_flight_.Pop();
  if (target_ == nullptr) target_ = TakeFree();
  const bool room = target_ != nullptr && in_flight_.size() < kCopiesInFlight;
  BatchSlot* const host = room ? ring_.TryTakeFull() : nullptr;
  if (host != nullptr) Issue(*host, *std::exchange(target_, nullptr));
  return host != nullptr;
}

// The release of a batch is recorded as soon as possible: until then everything that its consumer submits counts as
// use.
void Prefetcher::RecordReturned() {
  for (;;) {
    DeviceSlot* slot = nullptr;
    {
      MutexLock lock(mutex_);
      if (returned_.empty()) return;
      slot = returned_.Pop();
    }
    if (const std::error_code error = uploader_->Release(*slot)) Fail(error);
    MutexLock lock(mutex_);
    free_.push_back(slot);
  }
}

DeviceSlot* Prefetcher::TakeFree() {
  MutexLock lock(mutex_);
  // A slot that came back before its copy was seen to be complete still belongs to that copy.
  const auto slot = std::find_if(free_.rbegin(), free_.rend(), [](const DeviceSlot* s) { return s->copied; });
  if (slot == free_.rend()) return nullptr;
  DeviceSlot* taken = *slot;
  free_.erase(std::next(slot).base());
  return taken;
}

void Prefetcher::Issue(BatchSlot& host, DeviceSlot& target) {
  const NvtxRange range(NvtxName::kCopy);
  const int64_t now = now_();
  const std::error_code error = uploader_->Upload(host, target);
  if (!target.small_fields.empty()) {
    std::memcpy(target.small_fields.data(), host.data + ring_.layout().fields()[1].offset, target.small_fields.size());
  }
  in_flight_.Push({&host, &target});
  if (error) return Fail(error);
  MutexLock lock(mutex_);
  target.batch = host.batch;
  target.count = host.count;
  target.stamps = host.stamps;
  target.stamps.device_slot_ns = target.freed_ns;
  target.stamps.device_slot_batch = target.freed_by_batch;
  if (target.freed_by_batch >= 0) {
    target.stamps.slot_seen_ns = std::max(target.freed_ns, target.copied_ns);
    target.stamps.slot_seen_by_copy = target.copied_ns > target.freed_ns;
  }
  target.issued_ns = now;
  target.copied = false;
  uploading_.Push(&target);
  changed_.NotifyAll();
}

bool Prefetcher::FinishIfDone(const InFlight& upload) {
  DeviceSlot& target = *upload.target;
  Uploader::Times times;
  std::error_code error = uploader_->TimesOf(target, times);
  const int64_t now = now_();
  if (error == DeviceError::kNotReady) {
    if (now - target.issued_ns < options_.copy_deadline.count()) return false;
    error = std::make_error_code(std::errc::timed_out);
  }
  if (error) {
    Fail(error);
    return false;
  }
  const int64_t waited_ns = WaitOfLastLend(target);
  {
    MutexLock lock(mutex_);
    BatchStamps& stamps = target.stamps;
    stamps.copy_end_ns = now;
    stamps.copy_start_ns = std::max(now - times.copy_ns, stamps.full_ns);
    const bool by_stream = times.since_release_ns >= 0 && stamps.device_slot_batch >= 0;
    if (by_stream) {
      stamps.device_slot_ns = std::max(stamps.device_slot_ns, now - times.copy_ns - times.since_release_ns);
    }
    target.copied = true;
    target.copied_ns = now;
    if (copied_.size() == copied_.capacity()) copied_.Pop();
    copied_.Push({target.batch, stamps, by_stream});
    device_stall_ns_ += waited_ns;
    changed_.NotifyAll();
  }
  ring_.Return(*upload.host, now);
  return true;
}

// How long the consumer's stream stood still when it last got this slot; 0 where that is not known. The upload that has
// just completed waited for the release, which came after that wait.
int64_t Prefetcher::WaitOfLastLend(DeviceSlot& slot) {
  uint64_t lend = 0;
  {
    MutexLock lock(mutex_);
    // A lend since then used the other pair of events.
    lend = slot.lends - (slot.lent_batch == slot.batch ? 1 : 0);
    if (lend == slot.measured_lends) return 0;
    slot.measured_lends = lend;
  }
  return uploader_->WaitOf(slot, lend);
}

void Prefetcher::Fail(std::error_code error) {
  MutexLock lock(mutex_);
  if (!error_) error_ = error;
  changed_.NotifyAll();
}

DeviceSlot* Prefetcher::Take(StreamHandle consumer, std::chrono::nanoseconds timeout, std::error_code& error) {
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  DeviceSlot* slot = nullptr;
  uint64_t lend = 0;
  {
    MutexLock lock(mutex_);
    while (uploading_.empty() || (consumer == kHostStream && !uploading_.front()->copied)) {
      error = error_;
      const auto left = deadline - std::chrono::steady_clock::now();
      if (error || stop_ || left <= left.zero()) return nullptr;
      changed_.WaitFor(mutex_, left);
    }
    slot = uploading_.Pop();
    ++held_;
    if (consumer == kHostStream) return slot;
    lend = ++slot->lends;
    slot->lent_batch = slot->batch;
  }
  const DeviceScope scope(device_);
  error = scope.error() ? scope.error() : uploader_->Lend(*slot, lend, consumer);
  if (!error) return slot;
  Return(*slot, kHostStream);  // nobody has read it
  return nullptr;
}

std::error_code Prefetcher::WaitOn(DeviceSlot& slot, StreamHandle stream) {
  {
    MutexLock lock(mutex_);
    AddReader(slot, stream);
  }
  const DeviceScope scope(device_);
  return scope.error() ? scope.error() : device_.StreamWaitEvent(stream, slot.ready);
}

void Prefetcher::Return(DeviceSlot& slot, StreamHandle consumer) {
  MutexLock lock(mutex_);
  --held_;
  slot.freed_ns = now_();
  slot.freed_by_batch = slot.batch;
  if (consumer != kHostStream) AddReader(slot, consumer);
  returned_.Push(&slot);
  ++changes_;
  changed_.NotifyAll();
}

BatchStamps Prefetcher::StampsOf(const DeviceSlot& slot) const {
  MutexLock lock(mutex_);
  return slot.stamps;
}

bool Prefetcher::TakeCopied(Copied& copied) {
  MutexLock lock(mutex_);
  if (copied_.empty()) return false;
  copied = copied_.Pop();
  return true;
}

int64_t Prefetcher::TakeDeviceStallNs() {
  MutexLock lock(mutex_);
  return std::exchange(device_stall_ns_, 0);
}

uint32_t Prefetcher::waiting() const {
  MutexLock lock(mutex_);
  return static_cast<uint32_t>(uploading_.size());
}

uint32_t Prefetcher::held_by_caller() const {
  MutexLock lock(mutex_);
  return held_;
}

}  // namespace stoker

#include "transfer/prefetcher.h"

#include <algorithm>
#include <cstring>
#include <string>

namespace stoker {
namespace {

// Two: the engine has the next copy queued while the end of the last one is noticed.
constexpr size_t kCopiesInFlight = 2;
// How long the thread sleeps before it looks whether it should stop.
constexpr std::chrono::milliseconds kPatience{50};

void ThrowIf(std::error_code error, const std::string& what) {
  if (error) throw std::system_error(error, what);
}

}  // namespace

Prefetcher::Prefetcher(Device& device, Ring& ring, uint32_t device_slots, NowFn now)
    : device_(device), ring_(ring), now_(now), in_flight_(kCopiesInFlight), uploading_(device_slots) {
  try {
    Allocate(device_slots);
  } catch (...) {
    Free();
    throw;
  }
}

void Prefetcher::Allocate(uint32_t device_slots) {
  ThrowIf(device_.Attach(), "device " + device_.name());
  ThrowIf(device_.CreateStream(copy_stream_), "copy stream");
  ring_.arena().KeepFromChildren();
  pinned_ = !device_.RegisterHost(ring_.arena().data(), ring_.arena().size());
  const SlotLayout& layout = ring_.layout();
  const size_t small_bytes = layout.fields().size() > 1 ? layout.bytes() - layout.fields()[1].offset : 0;
  MutexLock lock(mutex_);
  free_.reserve(device_slots);
  for (uint32_t i = 0; i < device_slots; ++i) {
    slots_.push_back(std::make_unique<DeviceSlot>());
    DeviceSlot& slot = *slots_.back();
    ThrowIf(device_.Allocate(layout.bytes(), slot.memory),
            "device slot " + std::to_string(i + 1) + " of " + std::to_string(device_slots) + ", " +
                std::to_string(layout.bytes()) + " bytes each (lower batch_size or prefetch_factor)");
    ThrowIf(device_.CreateEvent(slot.copy_start), "event");
    ThrowIf(device_.CreateEvent(slot.uploaded), "event");
    ThrowIf(device_.CreateEvent(slot.released), "event");
    slot.small_fields.resize(small_bytes);
    free_.push_back(&slot);
  }
}

void Prefetcher::Stop() {
  {
    MutexLock lock(mutex_);
    stop_ = true;
    changed_.NotifyAll();
  }
  if (thread_.joinable()) thread_.join();
}

Prefetcher::~Prefetcher() {
  Stop();
  Free();
}

// Nothing can be reported to anybody here, and a driver that is going away has freed everything itself.
void Prefetcher::Free() noexcept {
  (void)device_.Attach();
  (void)device_.SynchronizeStream(copy_stream_);
  for (auto& slot : slots_) {
    (void)device_.SynchronizeEvent(slot->released);  // the consumer's work may still read the slot
    (void)device_.DestroyEvent(slot->copy_start);
    (void)device_.DestroyEvent(slot->uploaded);
    (void)device_.DestroyEvent(slot->released);
    (void)device_.Free(slot->memory);
  }
  if (pinned_) (void)device_.UnregisterHost(ring_.arena().data());
  (void)device_.DestroyStream(copy_stream_);
}

void Prefetcher::Start() {
  if (!thread_.joinable()) thread_ = std::thread([this] { Run(); });
}

bool Prefetcher::stopped() const {
  MutexLock lock(mutex_);
  return stop_ || error_;
}

void Prefetcher::Run() {
  if (const std::error_code error = device_.Attach()) return Fail(error);
  DeviceSlot* target = nullptr;
  while (!stopped()) {
    const bool idle = in_flight_.empty();
    if (target == nullptr) target = TakeFree(idle);
    BatchSlot* host = nullptr;
    if (target != nullptr && in_flight_.size() < kCopiesInFlight) {
      host = idle ? ring_.TakeFull(kPatience) : ring_.TryTakeFull();
    }
    if (host != nullptr) {
      Issue(*host, *target);
      target = nullptr;
    } else if (!in_flight_.empty()) {
      Finish(in_flight_.Pop());
    }
  }
  (void)device_.SynchronizeStream(copy_stream_);  // the ring's memory must outlive every copy
}

DeviceSlot* Prefetcher::TakeFree(bool wait) {
  MutexLock lock(mutex_);
  if (free_.empty() && wait && !stop_) changed_.WaitFor(mutex_, kPatience);
  // A slot that came back before its copy was seen to be complete still belongs to that copy.
  const auto slot = std::find_if(free_.rbegin(), free_.rend(), [](const DeviceSlot* s) { return s->copied; });
  if (slot == free_.rend()) return nullptr;
  DeviceSlot* taken = *slot;
  free_.erase(std::next(slot).base());
  return taken;
}

void Prefetcher::Issue(BatchSlot& host, DeviceSlot& target) {
  const SlotLayout& layout = ring_.layout();
  std::error_code error = device_.StreamWaitEvent(copy_stream_, target.released);
  if (!error) error = device_.RecordEvent(target.copy_start, copy_stream_);
  if (!error) error = device_.CopyToDeviceAsync(target.memory, host.data, layout.bytes(), copy_stream_);
  if (!error) error = device_.RecordEvent(target.uploaded, copy_stream_);
  if (!target.small_fields.empty()) {
    std::memcpy(target.small_fields.data(), host.data + layout.fields()[1].offset, target.small_fields.size());
  }
  in_flight_.Push({&host, &target});
  if (error) return Fail(error);
  MutexLock lock(mutex_);
  target.batch = host.batch;
  target.count = host.count;
  target.stamps = host.stamps;
  target.stamps.device_slot_ns = target.freed_ns;
  target.stamps.device_slot_batch = target.freed_by_batch;
  target.copied = false;
  uploading_.Push(&target);
  changed_.NotifyAll();
}

void Prefetcher::Finish(Upload upload) {
  std::error_code error = device_.SynchronizeEvent(upload.target->uploaded);
  int64_t copy_ns = 0;
  if (!error) error = device_.ElapsedNs(upload.target->copy_start, upload.target->uploaded, copy_ns);
  if (error) return Fail(error);
  const int64_t now = now_();
  {
    MutexLock lock(mutex_);
    upload.target->stamps.copy_end_ns = now;
    upload.target->stamps.copy_start_ns = std::max(now - copy_ns, upload.target->stamps.full_ns);
    upload.target->copied = true;
    changed_.NotifyAll();
  }
  ring_.Return(*upload.host, now);
}

void Prefetcher::Fail(std::error_code error) {
  MutexLock lock(mutex_);
  if (!error_) error_ = error;
  changed_.NotifyAll();
}

DeviceSlot* Prefetcher::Take(StreamHandle consumer, std::chrono::nanoseconds timeout, std::error_code& error) {
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  DeviceSlot* slot = nullptr;
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
  }
  if (consumer != kHostStream) error = device_.StreamWaitEvent(consumer, slot->uploaded);
  if (!error) return slot;
  Return(*slot, kHostStream);  // nobody has read it
  return nullptr;
}

void Prefetcher::Return(DeviceSlot& slot, StreamHandle consumer) {
  if (consumer != kHostStream) {
    if (const std::error_code error = device_.RecordEvent(slot.released, consumer)) Fail(error);
  }
  MutexLock lock(mutex_);
  --held_;
  slot.freed_ns = now_();
  slot.freed_by_batch = slot.batch;
  free_.push_back(&slot);
  changed_.NotifyAll();
}

BatchStamps Prefetcher::StampsOf(const DeviceSlot& slot) const {
  MutexLock lock(mutex_);
  return slot.stamps;
}

uint32_t Prefetcher::held_by_caller() const {
  MutexLock lock(mutex_);
  return held_;
}

}  // namespace stoker

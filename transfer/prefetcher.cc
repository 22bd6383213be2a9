#include "transfer/prefetcher.h"

#include <algorithm>
#include <cstring>
#include <string>

namespace stoker {
namespace {

// Two: the engine has the next copy queued while the end of the last one is noticed.
constexpr size_t kCopiesInFlight = 2;
// How long the thread sleeps at most where no copy runs, and between two looks at one that does.
constexpr std::chrono::milliseconds kPatience{50};
constexpr std::chrono::microseconds kCopyPatience{50};

void ThrowIf(std::error_code error, const std::string& what) {
  if (error) throw std::system_error(error, what);
}

}  // namespace

Prefetcher::Prefetcher(Device& device, Ring& ring, Options options, NowFn now)
    : device_(device),
      ring_(ring),
      options_(std::move(options)),
      now_(now),
      slots_(device),
      in_flight_(kCopiesInFlight),
      returned_(options_.device_slots),
      uploading_(options_.device_slots),
      copied_(4 * size_t{options_.device_slots}) {
  const DeviceScope scope(device_);
  ThrowIf(scope.error(), "device " + device_.info().name);
  try {
    Allocate();
  } catch (...) {
    Free();
    throw;
  }
  ring_.OnFull([this] { Changed(); });
}

void Prefetcher::Allocate() {
  ThrowIf(device_.CreateStream(copy_stream_), "copy stream");
  if (options_.finish) ThrowIf(device_.CreateStream(finish_stream_), "finishing stream");
  for (EventHandle& event : drained_) ThrowIf(device_.CreateEvent(event), "event");
  ring_.arena().KeepFromChildren();
  ring_.arena().FaultIn(device_.info().numa_node);
  pinned_ = !device_.RegisterHost(ring_.arena().data(), ring_.arena().size());
  slots_.Allocate(options_.device_slots, ring_.layout(), options_.finish);
  MutexLock lock(mutex_);
  for (const auto& slot : slots_.slots()) free_.push_back(slot.get());
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
  if (WaitUntilIdle()) {
    Free();
  } else {
    ring_.arena().Abandon();
  }
}

// Whether no work uses the memory any more. A device that has failed, or a driver that is going away, runs none.
bool Prefetcher::WaitUntilIdle() noexcept {
  (void)device_.RecordEvent(drained_[0], copy_stream_);
  if (options_.finish) (void)device_.RecordEvent(drained_[1], finish_stream_);
  // An error that does not last says nothing about the work: only asked twice is it believed.
  const auto runs = [this](EventHandle event) {
    return device_.QueryEvent(event) && device_.QueryEvent(event) == DeviceError::kNotReady;
  };
  const auto deadline = std::chrono::steady_clock::now() + options_.copy_deadline;
  while (std::ranges::any_of(drained_, runs) ||
         std::ranges::any_of(slots_.slots(), [&](const auto& slot) { return runs(slot->released); })) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(kCopyPatience);
  }
  return true;
}

void Prefetcher::Free() noexcept {
  slots_.Free();
  if (pinned_) (void)device_.UnregisterHost(ring_.arena().data());
  for (const EventHandle event : drained_) {
    if (event != 0) (void)device_.DestroyEvent(event);
  }
  if (finish_stream_ != 0) (void)device_.DestroyStream(finish_stream_);
  if (copy_stream_ != 0) (void)device_.DestroyStream(copy_stream_);
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
  DeviceSlot* target = nullptr;
  while (!stopped()) {
    uint64_t seen = 0;
    {
      MutexLock lock(mutex_);
      seen = changes_;
    }
    RecordReturned();
    while (!in_flight_.empty() && FinishIfDone(in_flight_.front())) in_flight_.Pop();
    if (target == nullptr) target = TakeFree();
    const bool room = target != nullptr && in_flight_.size() < kCopiesInFlight;
    if (BatchSlot* const host = room ? ring_.TryTakeFull() : nullptr) {
      Issue(*host, *std::exchange(target, nullptr));
      continue;
    }
    MutexLock lock(mutex_);
    if (changes_ == seen && !stop_) {
      changed_.WaitFor(mutex_, in_flight_.empty() ? std::chrono::nanoseconds(kPatience) : kCopyPatience);
    }
  }
}

// The release of a batch is recorded as soon as possible: until then everything that its consumer submits counts as
// use.
void Prefetcher::RecordReturned() {
  for (;;) {
    Returned returned;
    {
      MutexLock lock(mutex_);
      if (returned_.empty()) return;
      returned = returned_.Pop();
    }
    DeviceSlot& slot = *returned.slot;
    if (returned.consumer != kHostStream) {
      if (const std::error_code error = device_.RecordEvent(slot.released, returned.consumer)) Fail(error);
    }
    MutexLock lock(mutex_);
    free_.push_back(&slot);
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

std::error_code Prefetcher::Submit(const BatchSlot& host, const DeviceSlot& target) noexcept {
  std::error_code error = device_.StreamWaitEvent(copy_stream_, target.released);
  if (!error) error = device_.RecordEvent(target.copy_start, copy_stream_);
  if (!error) error = device_.CopyToDeviceAsync(target.upload, host.data, ring_.layout().bytes(), copy_stream_);
  if (!error) error = device_.RecordEvent(target.uploaded, copy_stream_);
  if (error || !options_.finish) return error;
  // The tensor is free too: its last reader was before `released`, which the copy waited for.
  FinishLaunch launch = options_.finish->launch;
  launch.pixels = reinterpret_cast<const uint8_t*>(target.upload);
  launch.flips = launch.pixels + ring_.layout().fields()[options_.finish->flips_field].offset;
  launch.out = target.tensor;
  launch.count = host.count;
  error = device_.StreamWaitEvent(finish_stream_, target.uploaded);
  if (!error) error = device_.FinishAsync(launch, finish_stream_);
  if (!error) error = device_.RecordEvent(target.ready, finish_stream_);
  return error;
}

void Prefetcher::Issue(BatchSlot& host, DeviceSlot& target) {
  const int64_t now = now_();
  const std::error_code error = Submit(host, target);
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
  target.issued_ns = now;
  target.copied = false;
  uploading_.Push(&target);
  changed_.NotifyAll();
}

bool Prefetcher::FinishIfDone(const Upload& upload) {
  DeviceSlot& target = *upload.target;
  // The kernel too: a slot whose tensor is still being written is not done with.
  std::error_code error = device_.QueryEvent(target.ready);
  if (error == DeviceError::kNotReady) {
    if (now_() - target.issued_ns < options_.copy_deadline.count()) return false;
    error = std::make_error_code(std::errc::timed_out);
  }
  int64_t copy_ns = 0;
  if (!error) error = device_.ElapsedNs(target.copy_start, target.uploaded, copy_ns);
  if (error) {
    Fail(error);
    return false;
  }
  const int64_t now = now_();
  const int64_t waited_ns = WaitOfLastLend(target);
  {
    MutexLock lock(mutex_);
    target.stamps.copy_end_ns = now;
    target.stamps.copy_start_ns = std::max(now - copy_ns, target.stamps.full_ns);
    target.copied = true;
    if (copied_.size() == copied_.capacity()) copied_.Pop();
    copied_.Push({target.batch, target.stamps.copy_start_ns, now});
    device_stall_ns_ += waited_ns;
    changed_.NotifyAll();
  }
  ring_.Return(*upload.host, now);
  return true;
}

// How long the consumer's stream stood still when it last got this slot; 0 where that is not known. The upload that
// has just completed waited for the release, which came after that wait.
int64_t Prefetcher::WaitOfLastLend(DeviceSlot& slot) noexcept {
  uint64_t lend = 0;
  {
    MutexLock lock(mutex_);
    // A lend since then used the other pair of events.
    lend = slot.lends - (slot.lent_batch == slot.batch ? 1 : 0);
    if (lend == slot.measured_lends) return 0;
    slot.measured_lends = lend;
  }
  const DeviceSlot::Wait& wait = slot.waits[lend % 2];
  int64_t ns = 0;
  return device_.ElapsedNs(wait.begin, wait.end, ns) ? 0 : ns;
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
  error = scope.error();
  const DeviceSlot::Wait& wait = slot->waits[lend % 2];
  if (!error) error = device_.RecordEvent(wait.begin, consumer);
  if (!error) error = device_.StreamWaitEvent(consumer, slot->ready);
  if (!error) error = device_.RecordEvent(wait.end, consumer);
  if (!error) return slot;
  Return(*slot, kHostStream);  // nobody has read it
  return nullptr;
}

std::error_code Prefetcher::WaitOn(const DeviceSlot& slot, StreamHandle stream) noexcept {
  const DeviceScope scope(device_);
  return scope.error() ? scope.error() : device_.StreamWaitEvent(stream, slot.ready);
}

void Prefetcher::Return(DeviceSlot& slot, StreamHandle consumer) {
  MutexLock lock(mutex_);
  --held_;
  slot.freed_ns = now_();
  slot.freed_by_batch = slot.batch;
  returned_.Push({&slot, consumer});
  ++changes_;
  changed_.NotifyAll();
}

BatchStamps Prefetcher::StampsOf(const DeviceSlot& slot) const {
  MutexLock lock(mutex_);
  return slot.stamps;
}

bool Prefetcher::TakeCopied(CopyTimes& copied) {
  MutexLock lock(mutex_);
  if (copied_.empty()) return false;
  copied = copied_.Pop();
  return true;
}

int64_t Prefetcher::TakeDeviceStallNs() {
  MutexLock lock(mutex_);
  return std::exchange(device_stall_ns_, 0);
}

uint32_t Prefetcher::held_by_caller() const {
  MutexLock lock(mutex_);
  return held_;
}

}  // namespace stoker

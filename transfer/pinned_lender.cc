#include "transfer/pinned_lender.h"

#include <string>
#include <system_error>

namespace stoker {
namespace {

constexpr std::chrono::milliseconds kPatience{50};
// Between two looks at work that runs.
constexpr std::chrono::microseconds kWorkPatience{100};

}  // namespace

PinnedLender::PinnedLender(Device& device, Ring& ring, NowFn now, std::chrono::nanoseconds deadline)
    : device_(device), ring_(ring), now_(now), deadline_(deadline), recorded_(ring.slots()), returned_(ring.slots()) {
  const DeviceScope scope(device_);
  if (scope.error()) throw std::system_error(scope.error(), "device " + device_.info().name);
  pinned_ = ring_.PageLock(device_);
  for (uint32_t i = 0; pinned_ && i < ring_.slots(); ++i) {
    EventHandle event = 0;
    if (const std::error_code error = device_.CreateEvent(event)) {
      Free();
      throw std::system_error(error, "event");
    }
    events_.push_back(event);
  }
}

PinnedLender::~PinnedLender() {
  {
    MutexLock lock(mutex_);
    stop_ = true;
    changed_.NotifyAll();
  }
  if (thread_.joinable()) thread_.join();
  const DeviceScope scope(device_);
  for (Returned returned; TakeReturned(returned, {});) Record(returned);
  const auto deadline = std::chrono::steady_clock::now() + deadline_;
  for (FreeFinished(); !recorded_.empty(); FreeFinished()) {
    if (std::chrono::steady_clock::now() > deadline) {
      ring_.arena().Abandon();
      return;
    }
    std::this_thread::sleep_for(kWorkPatience);
  }
  Free();
}

void PinnedLender::Free() noexcept {
  for (const EventHandle event : events_) (void)device_.DestroyEvent(event);
  if (pinned_) (void)device_.UnregisterHost(ring_.arena().data());
}

void PinnedLender::Start() {
  if (pinned_ && !thread_.joinable()) thread_ = std::thread([this] { Run(); });
}

void PinnedLender::Return(BatchSlot& slot, StreamHandle consumer) {
  // A slot that came later than the ring lies in pageable memory.
  if (!pinned_ || consumer == kHostStream || slot.own_memory.size() > 0) return ring_.Return(slot, now_());
  ring_.EndLoan(slot);
  MutexLock lock(mutex_);
  returned_.Push({&slot, consumer});
  changed_.NotifyAll();
}

bool PinnedLender::TakeReturned(Returned& returned, std::chrono::nanoseconds wait) {
  MutexLock lock(mutex_);
  if (returned_.empty() && !stop_ && wait > wait.zero()) changed_.WaitFor(mutex_, wait);
  if (returned_.empty()) return false;
  returned = returned_.Pop();
  return true;
}

void PinnedLender::Run() {
  const DeviceScope scope(device_);
  for (;;) {
    Returned returned;
    if (TakeReturned(returned, recorded_.empty() ? std::chrono::nanoseconds(kPatience) : kWorkPatience)) {
      Record(returned);
    }
    FreeFinished();
    MutexLock lock(mutex_);
    if (stop_) return;
  }
}

// Where nothing can be recorded the device has failed, and runs no work.
void PinnedLender::Record(Returned returned) {
  returned.released = events_.back();
  if (device_.RecordEvent(returned.released, returned.consumer)) return ring_.Return(*returned.slot, now_());
  events_.pop_back();
  recorded_.Push(returned);
}

void PinnedLender::FreeFinished() {
  while (!recorded_.empty() && device_.QueryEvent(recorded_.front().released) != DeviceError::kNotReady) {
    const Returned done = recorded_.Pop();
    events_.push_back(done.released);
    ring_.Return(*done.slot, now_());
  }
}

}  // namespace stoker

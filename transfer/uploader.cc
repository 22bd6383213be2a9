#include "transfer/uploader.h"

#include <algorithm>
#include <string>
#include <thread>
#include <utility>

namespace stoker {
namespace {

// Between two looks at work that runs.
constexpr std::chrono::microseconds kPatience{50};

void ThrowIf(std::error_code error, const std::string& what) {
  if (error) throw std::system_error(error, what);
}

}  // namespace

Uploader::Uploader(Device& device, Ring& ring, uint32_t device_slots, const std::optional<DeviceFinish>& finish)
    : device_(device), ring_(ring), finish_(finish), slots_(device) {
  try {
    Allocate(device_slots);
  } catch (...) {
    Free();
    throw;
  }
}

void Uploader::Allocate(uint32_t device_slots) {
  ThrowIf(device_.CreateStream(copy_stream_), "copy stream");
  if (finish_) ThrowIf(device_.CreateStream(finish_stream_), "finishing stream");
  for (EventHandle& event : drained_) ThrowIf(device_.CreateEvent(event), "event");
  pinned_ = ring_.PageLock(device_);
  slots_.Allocate(device_slots, ring_.layout(), finish_);
}

Uploader::~Uploader() {
  if (!abandoned_) Free();
}

void Uploader::Free() noexcept {
  slots_.Free();
  if (pinned_) (void)device_.UnregisterHost(ring_.arena().data());
  for (const EventHandle event : drained_) {
    if (event != 0) (void)device_.DestroyEvent(event);
  }
  if (finish_stream_ != 0) (void)device_.DestroyStream(finish_stream_);
  if (copy_stream_ != 0) (void)device_.DestroyStream(copy_stream_);
}

void Uploader::Abandon() noexcept {
  abandoned_ = true;
  ring_.arena().Abandon();
}

// A device that has failed, or a driver that is going away, runs nothing any more.
bool Uploader::WaitUntilIdle(std::chrono::nanoseconds limit) noexcept {
  (void)device_.RecordEvent(drained_[0], copy_stream_);
  if (finish_) (void)device_.RecordEvent(drained_[1], finish_stream_);
  // An error that does not last says nothing about the work: only asked twice is it believed.
  const auto runs = [this](EventHandle event) {
    return device_.QueryEvent(event) && device_.QueryEvent(event) == DeviceError::kNotReady;
  };
  const auto is_read = [&](const auto& slot) { return std::ranges::any_of(slot->released, runs); };
  const auto deadline = std::chrono::steady_clock::now() + limit;
  while (std::ranges::any_of(drained_, runs) || std::ranges::any_of(slots(), is_read)) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(kPatience);
  }
  return true;
}

std::error_code Uploader::Upload(const BatchSlot& host, DeviceSlot& target) noexcept {
  target.upload_waited_for = std::exchange(target.latest_release, 0);
  std::error_code error;
  if (target.upload_waited_for != 0) error = device_.StreamWaitEvent(copy_stream_, target.upload_waited_for);
  if (!error) error = device_.RecordEvent(target.copy_start, copy_stream_);
  if (!error) error = device_.CopyToDeviceAsync(target.upload, host.data, ring_.layout().bytes(), copy_stream_);
  if (!error) error = device_.RecordEvent(target.uploaded, copy_stream_);
  if (error || !finish_) return error;
  // The tensor is free too: its last reader was before the release that the copy waited for.
  FinishLaunch launch = finish_->launch;
  launch.pixels = reinterpret_cast<const uint8_t*>(target.upload);
  launch.flips = launch.pixels + ring_.layout().fields()[finish_->flips_field].offset;
  launch.out = target.tensor;
  launch.count = host.count;
  error = device_.StreamWaitEvent(finish_stream_, target.uploaded);
  if (!error) error = device_.FinishAsync(launch, finish_stream_);
  if (!error) error = device_.RecordEvent(target.ready, finish_stream_);
  return error;
}

std::error_code Uploader::TimesOf(const DeviceSlot& target, Times& times) noexcept {
  if (const std::error_code error = device_.QueryEvent(target.ready)) return error;
  times = {};
  if (target.upload_waited_for != 0 &&
      device_.ElapsedNs(target.upload_waited_for, target.copy_start, times.since_release_ns)) {
    times.since_release_ns = -1;
  }
  return device_.ElapsedNs(target.copy_start, target.uploaded, times.copy_ns);
}

std::error_code Uploader::Lend(const DeviceSlot& slot, uint64_t lend, StreamHandle consumer) noexcept {
  const DeviceSlot::Wait& wait = slot.waits[lend % 2];
  std::error_code error = device_.RecordEvent(wait.begin, consumer);
  if (!error) error = device_.StreamWaitEvent(consumer, slot.ready);
  if (!error) error = device_.RecordEvent(wait.end, consumer);
  return error;
}

int64_t Uploader::WaitOf(const DeviceSlot& slot, uint64_t lend) noexcept {
  const DeviceSlot::Wait& wait = slot.waits[lend % 2];
  int64_t ns = 0;
  return device_.ElapsedNs(wait.begin, wait.end, ns) ? 0 : ns;
}

std::error_code Uploader::Release(DeviceSlot& slot) noexcept {
  std::error_code error;
  const EventHandle event = slot.released[++slot.releases % 2];
  for (size_t i = 0; i < slot.readers.size() && !error; ++i) {
    // One event holds one record: before the next, the copy stream waits for it at once.
    if (i > 0) error = device_.StreamWaitEvent(copy_stream_, event);
    if (!error) error = device_.RecordEvent(event, slot.readers[i]);
    if (!error) slot.latest_release = event;
  }
  slot.readers.clear();
  return error;
}

}  // namespace stoker

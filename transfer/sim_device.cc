#include "transfer/sim_device.h"

#include <atomic>
#include <chrono>
#include <cstring>
#include <thread>

#include "transfer/clock.h"
#include "transfer/mutex.h"
#include "transfer/sim_memory.h"
#include "transfer/sim_schedule.h"

namespace stoker {
namespace {

uint64_t NextDeviceId() {
  static std::atomic<uint64_t> last_id{0};
  return ++last_id;
}

// The device that is current on this thread, as a CUDA context is. An id, since an address may come again.
thread_local uint64_t current_device_id = 0;

std::error_code OkIf(bool condition) {
  return condition ? std::error_code() : make_error_code(DeviceError::kInvalidValue);
}

// A device whose memory is host memory and whose copies take the time of a modelled link.
//
// A copy reads and writes all its bytes at the end of its modelled interval, the latest moment at which CUDA may, so
// that reusing a buffer too early gives wrong bytes every time. A copy from or to unregistered memory blocks the caller
// until it is done. The n-th copy that is told to fail, and one whose memory was freed or unregistered under it, leave
// the sticky error.
//
// Threads: one of its own, the engine thread, runs all submitted work; `mutex_` guards everything. The destructor has
// the rest of the work done at once, without the modelled time, and joins the thread.
// Owns: device memory, streams and events that were not given back.
class SimDevice final : public Device {
 public:
  explicit SimDevice(const SimOptions& options)
      : options_(options),
        memory_(options.memory_bytes),
        schedule_(options),
        engine_thread_([this] { RunEngines(); }) {}
  ~SimDevice() override;

  std::string name() const override { return "sim"; }
  std::error_code Attach() noexcept override;

  std::error_code Allocate(size_t bytes, void*& memory) noexcept override;
  std::error_code Free(void* memory) noexcept override;
  std::error_code RegisterHost(void* memory, size_t bytes) noexcept override;
  std::error_code UnregisterHost(void* memory) noexcept override;

  std::error_code CreateStream(StreamHandle& stream) noexcept override;
  std::error_code DestroyStream(StreamHandle stream) noexcept override;
  std::error_code SynchronizeStream(StreamHandle stream) noexcept override;
  std::error_code StreamWaitEvent(StreamHandle stream, EventHandle event) noexcept override;

  std::error_code CreateEvent(EventHandle& event) noexcept override;
  std::error_code DestroyEvent(EventHandle event) noexcept override;
  std::error_code RecordEvent(EventHandle event, StreamHandle stream) noexcept override;
  std::error_code QueryEvent(EventHandle event) noexcept override;
  std::error_code SynchronizeEvent(EventHandle event) noexcept override;
  std::error_code ElapsedNs(EventHandle start, EventHandle end, int64_t& ns) noexcept override;

  std::error_code CopyToDeviceAsync(void* to, const void* from, size_t bytes, StreamHandle stream) noexcept override {
    return SubmitCopy({to, from, bytes, kToDevice}, stream);
  }
  std::error_code CopyToHostAsync(void* to, const void* from, size_t bytes, StreamHandle stream) noexcept override {
    return SubmitCopy({to, from, bytes, kToHost}, stream);
  }

 private:
  // Why a call is refused whatever it asks for: the device is not current, or the sticky error.
  std::error_code Refusal() const REQUIRES(mutex_);
  std::error_code SubmitCopy(SimCopy copy, StreamHandle handle) noexcept EXCLUDES(mutex_);
  // Blocks while the stream is full.
  SimTicket Submit(StreamHandle handle, SimStream& stream, SimOperation operation) REQUIRES(mutex_);
  std::error_code WaitFor(const SimTicket& ticket) REQUIRES(mutex_);
  void RunEngines() EXCLUDES(mutex_);
  void FinishCopy(SimCopyEngine& engine) REQUIRES(mutex_);

  const SimOptions options_;
  const uint64_t id_ = NextDeviceId();
  Mutex mutex_;
  CondVar work_;  // wakes the engine thread: something was submitted, or stop
  CondVar done_;  // wakes everybody else: something finished
  bool stopping_ GUARDED_BY(mutex_) = false;
  std::error_code sticky_ GUARDED_BY(mutex_);
  int64_t submitted_copies_ GUARDED_BY(mutex_) = 0;
  SimMemory memory_ GUARDED_BY(mutex_);
  SimSchedule schedule_ GUARDED_BY(mutex_);
  std::thread engine_thread_;  // last: it uses all of the above
};

SimDevice::~SimDevice() {
  {
    MutexLock lock(mutex_);
    stopping_ = true;
    work_.NotifyOne();
  }
  engine_thread_.join();
}

std::error_code SimDevice::Attach() noexcept {
  current_device_id = id_;
  MutexLock lock(mutex_);
  return sticky_;
}

std::error_code SimDevice::Refusal() const {
  if (current_device_id != id_) return DeviceError::kNotAttached;
  return sticky_;
}

std::error_code SimDevice::Allocate(size_t bytes, void*& memory) noexcept {
  MutexLock lock(mutex_);
  if (const auto refusal = Refusal()) return refusal;
  return memory_.Allocate(bytes, memory);
}

std::error_code SimDevice::Free(void* memory) noexcept {
  MutexLock lock(mutex_);
  if (const auto refusal = Refusal()) return refusal;
  return OkIf(memory_.Free(memory));
}

std::error_code SimDevice::RegisterHost(void* memory, size_t bytes) noexcept {
  MutexLock lock(mutex_);
  if (const auto refusal = Refusal()) return refusal;
  return OkIf(memory_.Register(memory, bytes));
}

std::error_code SimDevice::UnregisterHost(void* memory) noexcept {
  MutexLock lock(mutex_);
  if (const auto refusal = Refusal()) return refusal;
  return OkIf(memory_.Unregister(memory));
}

std::error_code SimDevice::CreateStream(StreamHandle& stream) noexcept {
  MutexLock lock(mutex_);
  if (const auto refusal = Refusal()) return refusal;
  stream = schedule_.CreateStream();
  return {};
}

std::error_code SimDevice::DestroyStream(StreamHandle handle) noexcept {
  MutexLock lock(mutex_);
  if (const auto refusal = Refusal()) return refusal;
  SimStream* const stream = schedule_.FindStream(handle);
  if (stream == nullptr) return DeviceError::kInvalidValue;
  stream->destroyed = true;
  work_.NotifyOne();  // the engine thread erases it once it is empty
  return {};
}

std::error_code SimDevice::SynchronizeStream(StreamHandle handle) noexcept {
  MutexLock lock(mutex_);
  if (const auto refusal = Refusal()) return refusal;
  const SimStream* const stream = schedule_.FindStream(handle);
  if (stream == nullptr) return DeviceError::kInvalidValue;
  return WaitFor({handle, stream->submitted()});
}

std::error_code SimDevice::StreamWaitEvent(StreamHandle stream_handle, EventHandle event_handle) noexcept {
  MutexLock lock(mutex_);
  if (const auto refusal = Refusal()) return refusal;
  SimStream* const stream = schedule_.FindStream(stream_handle);
  const SimEvent* const event = schedule_.FindEvent(event_handle);
  if (stream == nullptr || event == nullptr) return DeviceError::kInvalidValue;
  if (schedule_.IsComplete(event->record)) return {};
  Submit(stream_handle, *stream, {.kind = SimOperation::kWait, .captured = event->record});
  return sticky_;
}

std::error_code SimDevice::CreateEvent(EventHandle& event) noexcept {
  MutexLock lock(mutex_);
  if (const auto refusal = Refusal()) return refusal;
  event = schedule_.CreateEvent();
  return {};
}

std::error_code SimDevice::DestroyEvent(EventHandle event) noexcept {
  MutexLock lock(mutex_);
  if (const auto refusal = Refusal()) return refusal;
  return OkIf(schedule_.DestroyEvent(event));
}

std::error_code SimDevice::RecordEvent(EventHandle event_handle, StreamHandle stream_handle) noexcept {
  MutexLock lock(mutex_);
  if (const auto refusal = Refusal()) return refusal;
  SimStream* const stream = schedule_.FindStream(stream_handle);
  SimEvent* const event = schedule_.FindEvent(event_handle);
  if (stream == nullptr || event == nullptr) return DeviceError::kInvalidValue;
  event->record = Submit(stream_handle, *stream, {.kind = SimOperation::kRecord, .event = event_handle});
  return sticky_;
}

std::error_code SimDevice::QueryEvent(EventHandle handle) noexcept {
  MutexLock lock(mutex_);
  if (const auto refusal = Refusal()) return refusal;
  const SimEvent* const event = schedule_.FindEvent(handle);
  if (event == nullptr) return DeviceError::kInvalidValue;
  if (!schedule_.IsComplete(event->record)) return DeviceError::kNotReady;
  return {};
}

std::error_code SimDevice::SynchronizeEvent(EventHandle handle) noexcept {
  MutexLock lock(mutex_);
  if (const auto refusal = Refusal()) return refusal;
  const SimEvent* const event = schedule_.FindEvent(handle);
  if (event == nullptr) return DeviceError::kInvalidValue;
  return WaitFor(SimTicket(event->record));  // by value: another thread may record the event meanwhile
}

std::error_code SimDevice::ElapsedNs(EventHandle start_handle, EventHandle end_handle, int64_t& ns) noexcept {
  MutexLock lock(mutex_);
  if (const auto refusal = Refusal()) return refusal;
  const SimEvent* const start = schedule_.FindEvent(start_handle);
  const SimEvent* const end = schedule_.FindEvent(end_handle);
  if (start == nullptr || end == nullptr) return DeviceError::kInvalidValue;
  if (start->record.stream == 0 || end->record.stream == 0) return DeviceError::kInvalidValue;
  if (!schedule_.IsComplete(start->record) || !schedule_.IsComplete(end->record)) return DeviceError::kNotReady;
  ns = end->finished_ns - start->finished_ns;
  return {};
}

std::error_code SimDevice::SubmitCopy(SimCopy copy, StreamHandle handle) noexcept {
  MutexLock lock(mutex_);
  if (const auto refusal = Refusal()) return refusal;
  SimStream* const stream = schedule_.FindStream(handle);
  if (stream == nullptr || !memory_.IsAllocated(copy.device(), copy.bytes)) return DeviceError::kInvalidValue;
  copy.pinned = memory_.IsRegistered(copy.host(), copy.bytes);
  if (!copy.pinned && !memory_.IsPageable(copy.host(), copy.bytes)) return DeviceError::kInvalidValue;
  copy.fails = submitted_copies_++ == options_.fail_copy_at;
  const SimTicket ticket = Submit(handle, *stream, {.kind = SimOperation::kCopy, .copy = copy});
  return copy.pinned ? sticky_ : WaitFor(ticket);
}

SimTicket SimDevice::Submit(StreamHandle handle, SimStream& stream, SimOperation operation) {
  while (stream.full()) done_.Wait(mutex_);
  operation.submit_ns = SteadyNow();
  if (!sticky_) stream.Push(operation);
  work_.NotifyOne();
  return {handle, stream.submitted()};
}

std::error_code SimDevice::WaitFor(const SimTicket& ticket) {
  while (!schedule_.IsComplete(ticket)) done_.Wait(mutex_);
  return sticky_;
}

void SimDevice::RunEngines() {
  MutexLock lock(mutex_);
  while (true) {
    if (schedule_.Advance()) done_.NotifyAll();
    SimCopyEngine* const engine = schedule_.NextToFinish();
    if (engine == nullptr) {
      if (stopping_) return;
      work_.Wait(mutex_);
      continue;
    }
    const int64_t wait_ns = stopping_ ? 0 : engine->free_ns - SteadyNow();
    if (wait_ns > 0) {
      work_.WaitFor(mutex_, std::chrono::nanoseconds(wait_ns));
    } else {
      FinishCopy(*engine);
    }
  }
}

void SimDevice::FinishCopy(SimCopyEngine& engine) {
  const SimCopy copy = engine.running->front().copy;
  const bool memory_is_gone = !memory_.IsAllocated(copy.device(), copy.bytes) ||
                              (copy.pinned && !memory_.IsRegistered(copy.host(), copy.bytes));
  if (copy.fails || memory_is_gone) {
    sticky_ = DeviceError::kLaunchFailed;
    schedule_.Clear();
  } else {
    mutex_.Unlock();  // submitting never waits for bytes
    std::memcpy(copy.to, copy.from, copy.bytes);
    mutex_.Lock();
    schedule_.FinishCopy(engine, SteadyNow());
  }
  done_.NotifyAll();
}

}  // namespace

std::unique_ptr<Device> MakeSimDevice(const SimOptions& options) { return std::make_unique<SimDevice>(options); }

}  // namespace stoker

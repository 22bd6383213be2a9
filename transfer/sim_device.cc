#include "transfer/sim_device.h"

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace stoker {
namespace {

uint64_t NextDeviceId() {
  static std::atomic<uint64_t> last_id{0};
  return ++last_id;
}

// The devices that this thread is attached to, as a stack of CUDA contexts is; the last one is current. Ids, since an
// address may come again.
thread_local std::vector<uint64_t> attached_devices;

bool IsCurrent(uint64_t id) { return !attached_devices.empty() && attached_devices.back() == id; }

std::error_code OkIf(bool condition) {
  return condition ? std::error_code() : make_error_code(DeviceError::kInvalidValue);
}

}  // namespace

SimDevice::SimDevice(const SimOptions& options)
    : options_(options),
      id_(NextDeviceId()),
      random_(options.seed),
      memory_(options.memory_bytes, options.host_may_access),
      schedule_(options),
      checker_(options) {
  if (options_.mode == SimMode::kModelled) engine_thread_ = std::thread([this] { RunEngines(); });
}

SimDevice::~SimDevice() {
  {
    MutexLock lock(mutex_);
    stopping_ = true;
    work_.NotifyOne();
  }
  if (engine_thread_.joinable()) engine_thread_.join();
  MutexLock lock(mutex_);
  if (options_.mode != SimMode::kModelled) {
    while (RunAny()) {
    }
  }
  // A driver that is going away has freed everything itself.
  if (checker_.is_on() && sticky_ != DeviceError::kShuttingDown) checker_.CheckLeaks(memory_, schedule_);
  if (options_.checks != SimChecks::kAbort || checker_.violations().empty()) return;
  for (const std::string& violation : checker_.violations()) std::fprintf(stderr, "sim: %s\n", violation.c_str());
  std::abort();
}

std::error_code SimDevice::Enter(SimCall call) {
  const std::error_code injected = calls_.Count(call);
  // Now and then a few at once, slower than work is submitted: queues fill.
  if (options_.mode == SimMode::kRandom && random_() % 8 == 0) {
    for (uint64_t n = 1 + random_() % 4; n > 0 && RunAny(); --n) {
    }
  }
  if (!sticky_ && call != SimCall::kAttach && !IsCurrent(id_)) {
    checker_.Report(std::string(NameOf(call)) + " by a thread that is not attached");
    return DeviceError::kNotAttached;
  }
  if (!sticky_ && (injected == DeviceError::kLaunchFailed || injected == DeviceError::kShuttingDown)) Break(injected);
  if (sticky_ == DeviceError::kShuttingDown) checker_.CalledAtShutdown(call);
  return sticky_ ? sticky_ : injected;
}

void SimDevice::Break(std::error_code error) {
  WaitForEngine();
  if (!sticky_) sticky_ = error;
  schedule_.Clear();
  checker_.Dropped();
  done_.NotifyAll();
}

void SimDevice::WaitForEngine() {
  while (engine_at_work_) done_.Wait(mutex_);
}

std::error_code SimDevice::Attach() noexcept {
  MutexLock lock(mutex_);
  if (const auto refusal = Enter(SimCall::kAttach)) return refusal;
  attached_devices.push_back(id_);
  return {};
}

void SimDevice::Detach() noexcept {
  MutexLock lock(mutex_);
  if (!IsCurrent(id_)) return checker_.Report("Detach by a thread that is not attached");
  attached_devices.pop_back();
}

std::error_code SimDevice::FreeMemory(size_t& bytes) noexcept {
  MutexLock lock(mutex_);
  if (const auto refusal = Enter(SimCall::kFreeMemory)) return refusal;
  bytes = memory_.free_bytes();
  return {};
}

std::error_code SimDevice::Allocate(size_t bytes, void*& memory) noexcept {
  MutexLock lock(mutex_);
  if (const auto refusal = Enter(SimCall::kAllocate)) return refusal;
  return memory_.Allocate(bytes, memory);
}

// Whoever gives something back is rid of it even where that returns an error: there is nothing more that it could do.

std::error_code SimDevice::Free(void* memory) noexcept {
  MutexLock lock(mutex_);
  const auto refusal = Enter(SimCall::kFree);
  if (refusal == DeviceError::kNotAttached) return refusal;
  WaitForEngine();
  checker_.GivenBack(SimCall::kFree, memory, memory_.allocations().SizeAt(memory));
  const bool known = memory_.Free(memory);
  return refusal ? refusal : OkIf(known);
}

std::error_code SimDevice::RegisterHost(void* memory, size_t bytes) noexcept {
  MutexLock lock(mutex_);
  if (const auto refusal = Enter(SimCall::kRegisterHost)) return refusal;
  return OkIf(memory_.Register(memory, bytes));
}

std::error_code SimDevice::UnregisterHost(void* memory) noexcept {
  MutexLock lock(mutex_);
  const auto refusal = Enter(SimCall::kUnregisterHost);
  if (refusal == DeviceError::kNotAttached) return refusal;
  WaitForEngine();
  checker_.GivenBack(SimCall::kUnregisterHost, memory, memory_.registrations().SizeAt(memory));
  const bool known = memory_.Unregister(memory);
  return refusal ? refusal : OkIf(known);
}

std::error_code SimDevice::CreateStream(StreamHandle& stream) noexcept {
  MutexLock lock(mutex_);
  if (const auto refusal = Enter(SimCall::kCreateStream)) return refusal;
  stream = schedule_.CreateStream();
  return {};
}

std::error_code SimDevice::DestroyStream(StreamHandle handle) noexcept {
  MutexLock lock(mutex_);
  const auto refusal = Enter(SimCall::kDestroyStream);
  if (refusal == DeviceError::kNotAttached) return refusal;
  SimStream* const stream = handle == kLegacyStream ? nullptr : schedule_.FindStream(handle);
  if (stream != nullptr) stream->destroyed = true;  // it goes once it is empty
  work_.NotifyOne();
  return refusal ? refusal : OkIf(stream != nullptr);
}

std::error_code SimDevice::SynchronizeStream(StreamHandle handle) noexcept {
  MutexLock lock(mutex_);
  if (const auto refusal = Enter(SimCall::kSynchronizeStream)) return refusal;
  const SimStream* const stream = schedule_.FindStream(handle);
  if (stream == nullptr) return DeviceError::kInvalidValue;
  return WaitFor({handle, stream->submitted()}, checker_.ClockOf(handle));
}

std::error_code SimDevice::StreamWaitEvent(StreamHandle stream_handle, EventHandle event_handle) noexcept {
  MutexLock lock(mutex_);
  if (const auto refusal = Enter(SimCall::kStreamWaitEvent)) return refusal;
  SimStream* const stream = schedule_.FindStream(stream_handle);
  const SimEvent* const event = schedule_.FindEvent(event_handle);
  if (stream == nullptr || event == nullptr) return DeviceError::kInvalidValue;
  checker_.Waited(stream_handle, event_handle);
  if (schedule_.IsComplete(event->record)) return {};
  Submit(stream_handle, *stream, {.kind = SimOperation::kWait, .captured = event->record});
  return sticky_;
}

std::error_code SimDevice::CreateEvent(EventHandle& event) noexcept {
  MutexLock lock(mutex_);
  if (const auto refusal = Enter(SimCall::kCreateEvent)) return refusal;
  event = schedule_.CreateEvent();
  return {};
}

std::error_code SimDevice::DestroyEvent(EventHandle event) noexcept {
  MutexLock lock(mutex_);
  const auto refusal = Enter(SimCall::kDestroyEvent);
  if (refusal == DeviceError::kNotAttached) return refusal;
  const bool known = schedule_.DestroyEvent(event);
  return refusal ? refusal : OkIf(known);
}

std::error_code SimDevice::RecordEvent(EventHandle event_handle, StreamHandle stream_handle) noexcept {
  MutexLock lock(mutex_);
  if (const auto refusal = Enter(SimCall::kRecordEvent)) return refusal;
  SimStream* const stream = schedule_.FindStream(stream_handle);
  if (stream == nullptr || schedule_.FindEvent(event_handle) == nullptr) return DeviceError::kInvalidValue;
  Submit(stream_handle, *stream, {.kind = SimOperation::kRecord, .event = event_handle});
  return sticky_;
}

std::error_code SimDevice::QueryEvent(EventHandle handle) noexcept {
  MutexLock lock(mutex_);
  if (const auto refusal = Enter(SimCall::kQueryEvent)) return refusal;
  SimEvent* const event = schedule_.FindEvent(handle);
  if (event == nullptr) return DeviceError::kInvalidValue;
  if (!Polled(*event)) return DeviceError::kNotReady;
  checker_.HostKnows(checker_.ClockOfEvent(handle));
  return sticky_;
}

std::error_code SimDevice::SynchronizeEvent(EventHandle handle) noexcept {
  MutexLock lock(mutex_);
  if (const auto refusal = Enter(SimCall::kSynchronizeEvent)) return refusal;
  const SimEvent* const event = schedule_.FindEvent(handle);
  if (event == nullptr) return DeviceError::kInvalidValue;
  return WaitFor(event->record, checker_.ClockOfEvent(handle));
}

std::error_code SimDevice::ElapsedNs(EventHandle start_handle, EventHandle end_handle, int64_t& ns) noexcept {
  MutexLock lock(mutex_);
  if (const auto refusal = Enter(SimCall::kElapsedNs)) return refusal;
  SimEvent* const start = schedule_.FindEvent(start_handle);
  SimEvent* const end = schedule_.FindEvent(end_handle);
  if (start == nullptr || end == nullptr) return DeviceError::kInvalidValue;
  if (start->record.stream == 0 || end->record.stream == 0) return DeviceError::kInvalidValue;
  const bool started = Polled(*start);
  if (!Polled(*end) || !started) return DeviceError::kNotReady;
  checker_.HostKnows(checker_.ClockOfEvent(start_handle));
  checker_.HostKnows(checker_.ClockOfEvent(end_handle));
  ns = end->finished_ns - start->finished_ns;
  return sticky_;
}

std::error_code SimDevice::CopyToDeviceAsync(void* to, const void* from, size_t bytes, StreamHandle stream) noexcept {
  return SubmitCopy({.to = to, .from = from, .bytes = bytes, .direction = kToDevice}, stream);
}

std::error_code SimDevice::CopyToHostAsync(void* to, const void* from, size_t bytes, StreamHandle stream) noexcept {
  return SubmitCopy({.to = to, .from = from, .bytes = bytes, .direction = kToHost}, stream);
}

std::vector<std::string> SimDevice::violations() const {
  MutexLock lock(mutex_);
  return checker_.violations();
}

uint64_t SimDevice::calls(SimCall call) const {
  MutexLock lock(mutex_);
  return calls_.count(call);
}

void SimDevice::FailCall(SimCall call, uint64_t n, DeviceError error) {
  MutexLock lock(mutex_);
  calls_.Fail(call, n, error);
}

void SimDevice::EndHang() {
  MutexLock lock(mutex_);
  schedule_.EndHang();
  work_.NotifyOne();
  done_.NotifyAll();
}

std::unique_ptr<Device> MakeSimDevice(const SimOptions& options) { return std::make_unique<SimDevice>(options); }

}  // namespace stoker

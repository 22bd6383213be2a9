#include "transfer/cuda_device.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>

#include "transfer/cuda_choice.h"
#include "transfer/cuda_driver.h"
#include "transfer/cuda_finish_image.h"
#include "transfer/mutex.h"

namespace stoker {
namespace {

// The contexts that this thread attached and has not detached yet, the current one last.
struct AttachedContexts {
  static constexpr int kMax = 16;

  CuContext contexts[kMax] = {};
  int depth = 0;
};
thread_local AttachedContexts attached;
// The last of them, which every call asks for. By the usual model that would be a function call of its own in a shared
// library; the word is small enough for the room that is kept for libraries which come later.
[[gnu::tls_model("initial-exec")]] thread_local CuContext current_context = nullptr;

void SetAttached(int depth) {
  attached.depth = depth;
  current_context = depth > 0 ? attached.contexts[depth - 1] : nullptr;
}

// Copied: one that is made anew asks the library for its category each time.
const std::error_code kNoError;

// Host memory is registered in pieces of this size, since one registration of 512 GiB is more than drivers from 580 on
// can keep the page table of (LMCache/LMCache#5177). 1 GiB, for an io_uring's fixed buffers are at most that long, too.
constexpr size_t kPieceBytes = size_t{1} << 30;

CuStream StreamOf(StreamHandle handle) { return reinterpret_cast<CuStream>(handle); }
CuEvent EventOf(EventHandle handle) { return reinterpret_cast<CuEvent>(handle); }
CuDevicePointer PointerOf(const void* memory) { return reinterpret_cast<CuDevicePointer>(memory); }
std::byte* At(void* memory, size_t offset) { return static_cast<std::byte*>(memory) + offset; }

// One share in a device's primary context.
class PrimaryContext {
 public:
  PrimaryContext(const CudaApi& api, const DeviceInfo& info) : api_(api) {
    CuResult result = api.device_get(&device_, info.cuda_index);
    if (result == CuResult::kSuccess) result = api.device_primary_ctx_retain(&context_, device_);
    if (result != CuResult::kSuccess) {
      throw std::system_error(static_cast<int>(result), cuda_category(), "context of " + info.name);
    }
  }
  // A driver that is going away has released everything itself.
  ~PrimaryContext() { (void)api_.device_primary_ctx_release(device_); }
  PrimaryContext(const PrimaryContext&) = delete;
  PrimaryContext& operator=(const PrimaryContext&) = delete;

  CuContext get() const { return context_; }

 private:
  const CudaApi& api_;
  CuDevice device_ = 0;
  CuContext context_ = nullptr;
};

// A device in its primary context. Calls of a thread that did not attach never reach the driver, which would make them
// in whatever context is current there.
// Threads: none of its own; `mutex_` guards the book-keeping of registered memory, the driver itself.
// Owns: a share in the context and the kernel. Memory, streams and events that were not given back stay the context's.
class CudaDevice final : public Device {
 public:
  CudaDevice(const CudaDriver& driver, DeviceInfo info)
      : api_(driver.api()), info_(std::move(info)), context_(api_, info_) {
    LoadKernel();
  }
  ~CudaDevice() override;

  const DeviceInfo& info() const noexcept override { return info_; }
  std::error_code Attach() noexcept override;
  void Detach() noexcept override;

  std::error_code FreeMemory(size_t& bytes) noexcept override;
  std::error_code Allocate(size_t bytes, void*& memory) noexcept override;
  std::error_code Free(void* memory) noexcept override;
  std::error_code RegisterHost(void* memory, size_t bytes) noexcept override;
  std::error_code UnregisterHost(void* memory) noexcept override;

  std::error_code CreateStream(StreamHandle& stream) noexcept override;
  std::error_code DestroyStream(StreamHandle stream) noexcept override {
    return CallWith(stream, api_.stream_destroy, StreamOf(stream));
  }
  std::error_code SynchronizeStream(StreamHandle stream) noexcept override {
    return CallWith(stream, api_.stream_synchronize, StreamOf(stream));
  }
  std::error_code StreamWaitEvent(StreamHandle stream, EventHandle event) noexcept override {
    return CallWith(stream && event, api_.stream_wait_event, StreamOf(stream), EventOf(event), 0u);
  }

  std::error_code CreateEvent(EventHandle& event) noexcept override;
  std::error_code DestroyEvent(EventHandle event) noexcept override {
    return CallWith(event, api_.event_destroy, EventOf(event));
  }
  std::error_code RecordEvent(EventHandle event, StreamHandle stream) noexcept override {
    return CallWith(stream && event, api_.event_record, EventOf(event), StreamOf(stream));
  }
  std::error_code QueryEvent(EventHandle event) noexcept override {
    return CallWith(event, api_.event_query, EventOf(event));
  }
  std::error_code SynchronizeEvent(EventHandle event) noexcept override {
    return CallWith(event, api_.event_synchronize, EventOf(event));
  }
  std::error_code ElapsedNs(EventHandle start, EventHandle end, int64_t& ns) noexcept override;

  std::error_code CopyToDeviceAsync(void* to, const void* from, size_t bytes, StreamHandle stream) noexcept override;
  std::error_code CopyToHostAsync(void* to, const void* from, size_t bytes, StreamHandle stream) noexcept override;
  bool can_finish() const noexcept override { return finish_ != nullptr; }
  std::error_code FinishAsync(const FinishLaunch& launch, StreamHandle stream) noexcept override;

 private:
  void LoadKernel() noexcept;
  // Calls the driver with handles that are all there: 0 is nobody's, while to the driver it is the legacy stream.
  template <typename... P, typename... A>
  std::error_code CallWith(bool handles, CuResult (*entry)(P...), A... arguments) const noexcept {
    if (current_context != context_.get()) return DeviceError::kNotAttached;
    if (!handles) return DeviceError::kInvalidValue;
    const CuResult result = entry(arguments...);
    return result == CuResult::kSuccess ? kNoError : make_error_code(result);
  }
  template <typename... P, typename... A>
  std::error_code Call(CuResult (*entry)(P...), A... arguments) const noexcept {
    return CallWith(true, entry, arguments...);
  }
  std::error_code UnregisterPieces(void* memory, size_t bytes) noexcept;
  // How many of the `bytes` from `host` on lie in one registration, or in none.
  size_t BytesInPiece(const void* host, size_t bytes) noexcept EXCLUDES(mutex_);

  const CudaApi& api_;
  const DeviceInfo info_;
  const PrimaryContext context_;
  CuModule module_ = nullptr;
  CuFunction finish_ = nullptr;
  Mutex mutex_;
  std::map<uintptr_t, size_t> registered_ GUARDED_BY(mutex_);  // begin -> bytes
};

// Without its kernel a device is whole but for FinishAsync: nothing here is an error.
void CudaDevice::LoadKernel() noexcept {
  if (FinishImage().empty()) return;
  const DeviceScope scope(*this);
  if (scope.error() || api_.module_load_data(&module_, FinishImage().data()) != CuResult::kSuccess) return;
  if (api_.module_get_function(&finish_, module_, kFinishKernel) != CuResult::kSuccess) finish_ = nullptr;
}

CudaDevice::~CudaDevice() {
  if (module_ == nullptr) return;
  const DeviceScope scope(*this);
  if (!scope.error()) (void)api_.module_unload(module_);
}

std::error_code CudaDevice::Attach() noexcept {
  if (attached.depth == AttachedContexts::kMax) return DeviceError::kInvalidValue;
  const CuResult result = api_.ctx_push_current(context_.get());
  if (result == CuResult::kSuccess) {
    attached.contexts[attached.depth] = context_.get();
    SetAttached(attached.depth + 1);
  }
  return make_error_code(result);
}

void CudaDevice::Detach() noexcept {
  if (current_context != context_.get()) return;
  SetAttached(attached.depth - 1);
  CuContext popped = nullptr;
  (void)api_.ctx_pop_current(&popped);
}

std::error_code CudaDevice::FreeMemory(size_t& bytes) noexcept {
  size_t total_bytes = 0;
  return Call(api_.mem_get_info, &bytes, &total_bytes);
}

std::error_code CudaDevice::Allocate(size_t bytes, void*& memory) noexcept {
  CuDevicePointer pointer = 0;
  const std::error_code error = Call(api_.mem_alloc, &pointer, bytes);
  if (!error) memory = reinterpret_cast<void*>(pointer);
  return error;
}

std::error_code CudaDevice::Free(void* memory) noexcept {
  if (memory == nullptr) return current_context == context_.get() ? std::error_code() : DeviceError::kNotAttached;
  return Call(api_.mem_free, PointerOf(memory));
}

std::error_code CudaDevice::RegisterHost(void* memory, size_t bytes) noexcept {
  if (bytes == 0) return Call(api_.mem_host_register, memory, bytes, kCuMemHostRegisterPortable);
  for (size_t done = 0; done < bytes; done += kPieceBytes) {
    // Portable: pinned for every context, since copies to other devices may read the same memory.
    const size_t piece = std::min(kPieceBytes, bytes - done);
    if (const auto error = Call(api_.mem_host_register, At(memory, done), piece, kCuMemHostRegisterPortable)) {
      (void)UnregisterPieces(memory, done);
      return error;
    }
  }
  MutexLock lock(mutex_);
  registered_[reinterpret_cast<uintptr_t>(memory)] = bytes;
  return {};
}

std::error_code CudaDevice::UnregisterHost(void* memory) noexcept {
  if (current_context != context_.get()) return DeviceError::kNotAttached;
  size_t bytes = 0;
  {
    MutexLock lock(mutex_);
    const auto found = registered_.find(reinterpret_cast<uintptr_t>(memory));
    if (found == registered_.end()) return DeviceError::kInvalidValue;
    bytes = found->second;
    registered_.erase(found);
  }
  return UnregisterPieces(memory, bytes);
}

std::error_code CudaDevice::UnregisterPieces(void* memory, size_t bytes) noexcept {
  std::error_code first;
  for (size_t done = 0; done < bytes; done += kPieceBytes) {
    const std::error_code error = Call(api_.mem_host_unregister, At(memory, done));
    if (error && !first) first = error;
  }
  return first;
}

size_t CudaDevice::BytesInPiece(const void* host, size_t bytes) noexcept {
  const auto begin = reinterpret_cast<uintptr_t>(host);
  MutexLock lock(mutex_);
  auto range = registered_.upper_bound(begin);
  if (range == registered_.begin()) return bytes;
  --range;
  if (begin - range->first >= range->second) return bytes;
  return std::min(bytes, kPieceBytes - (begin - range->first) % kPieceBytes);
}

std::error_code CudaDevice::CreateStream(StreamHandle& stream) noexcept {
  CuStream created = nullptr;
  const std::error_code error = Call(api_.stream_create, &created, kCuStreamNonBlocking);
  if (!error) stream = reinterpret_cast<StreamHandle>(created);
  return error;
}

std::error_code CudaDevice::CreateEvent(EventHandle& event) noexcept {
  CuEvent created = nullptr;
  // Waiting threads sleep: a spinning one would take a core from the decoders.
  const std::error_code error = Call(api_.event_create, &created, kCuEventBlockingSync);
  if (!error) event = reinterpret_cast<EventHandle>(created);
  return error;
}

std::error_code CudaDevice::ElapsedNs(EventHandle start, EventHandle end, int64_t& ns) noexcept {
  float milliseconds = 0;
  const std::error_code error =
      CallWith(start && end, api_.event_elapsed_time, &milliseconds, EventOf(start), EventOf(end));
  if (!error) ns = std::llround(milliseconds * 1e6);
  return error;
}

// A copy that spans two registrations is refused by the driver, so both directions copy piece by piece.
std::error_code CudaDevice::CopyToDeviceAsync(void* to, const void* from, size_t bytes, StreamHandle stream) noexcept {
  for (size_t done = 0; done < bytes;) {
    const std::byte* const host = static_cast<const std::byte*>(from) + done;
    const size_t piece = BytesInPiece(host, bytes - done);
    if (const auto error =
            CallWith(stream, api_.memcpy_htod_async, PointerOf(At(to, done)), host, piece, StreamOf(stream))) {
      return error;
    }
    done += piece;
  }
  return {};
}

std::error_code CudaDevice::CopyToHostAsync(void* to, const void* from, size_t bytes, StreamHandle stream) noexcept {
  for (size_t done = 0; done < bytes;) {
    std::byte* const host = At(to, done);
    const size_t piece = BytesInPiece(host, bytes - done);
    if (const auto error =
            CallWith(stream, api_.memcpy_dtoh_async, host, PointerOf(from) + done, piece, StreamOf(stream))) {
      return error;
    }
    done += piece;
  }
  return {};
}

std::error_code CudaDevice::FinishAsync(const FinishLaunch& launch, StreamHandle stream) noexcept {
  if (finish_ == nullptr) return DeviceError::kInvalidValue;
  const FinishGrid grid = GridOf(launch);
  if (grid.blocks == 0) return {};
  FinishLaunch copy = launch;  // the driver wants the arguments' addresses, and writes to none
  void* parameters[] = {&copy};
  return CallWith(stream, api_.launch_kernel, finish_, grid.blocks, 1u, 1u, grid.threads, 1u, 1u, 0u, StreamOf(stream),
                  static_cast<void**>(parameters), static_cast<void**>(nullptr));
}

}  // namespace

int CudaDeviceCount() noexcept {
  const CudaDriver& driver = CudaDriver::Get();
  int count = 0;
  if (driver.refusal().empty() && driver.api().device_get_count(&count) != CuResult::kSuccess) count = 0;
  return count;
}

std::unique_ptr<Device> MakeCudaDevice(const CudaDriver& driver, std::string_view which) {
  return std::make_unique<CudaDevice>(driver, ChooseCudaDevice(driver, which));
}

std::unique_ptr<Device> MakeCudaDevice(std::string_view which) { return MakeCudaDevice(CudaDriver::Get(), which); }

}  // namespace stoker

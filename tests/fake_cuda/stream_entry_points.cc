// Memory, streams, events, copies and kernels of the fake driver.
#include <atomic>
#include <cstring>

#include "tests/fake_cuda/entry_point.h"
#include "transfer/cuda_finish_image.h"

using namespace stoker;  // NOLINT: what follows has C's names

namespace stoker {

std::vector<FakeDevice*>& PushedDevices() {
  thread_local std::vector<FakeDevice*> devices;
  return devices;
}

CuResult ResultOf(std::error_code error) {
  if (!error) return CuResult::kSuccess;
  switch (static_cast<DeviceError>(error.value())) {
    case DeviceError::kInvalidValue:
      return CuResult::kInvalidValue;
    case DeviceError::kOutOfMemory:
      return CuResult::kOutOfMemory;
    case DeviceError::kNotReady:
      return CuResult::kNotReady;
    case DeviceError::kNotAttached:
      return CuResult::kInvalidContext;
    case DeviceError::kLaunchFailed:
      return CuResult::kLaunchFailed;
    case DeviceError::kShuttingDown:
      return CuResult::kDeinitialized;
  }
  return CuResult{999};
}

namespace {

// The memory has a name of its own: the simulated device knows its pointers itself.
void* MemoryOf(CuDevicePointer pointer) { return reinterpret_cast<void*>(pointer); }
template <typename Handle>
uint64_t NumberOf(Handle handle) {
  return reinterpret_cast<uint64_t>(handle);
}

// A call that gives something back. It is off the books whether the call is told to fail or not: what a driver does not
// take back is no leak of its caller's.
template <typename Body>
CuResult GiveBack(const char* entry, const char* kind, uint64_t handle, Body body) {
  if (!PushedDevices().empty()) (void)FakeDriver::Get().GivenBack(*PushedDevices().back(), kind, handle);
  return CallInContext(entry, body);
}

// Enters what a call has made into the books, where it has.
CuResult Made(const InContext& in, std::error_code error, const char* kind, uint64_t handle) {
  if (!error) in.driver.Made(in.device, kind, handle);
  return ResultOf(error);
}

constexpr const char* kMemory = "block of memory";
constexpr const char* kRegistration = "registration";
constexpr const char* kStream = "stream";
constexpr const char* kEvent = "event";
constexpr const char* kModule = "module";

}  // namespace
}  // namespace stoker

FAKE_CUDA CuResult cuMemGetInfo_v2(size_t* free_bytes, size_t* total_bytes) {
  return CallInContext(__func__, [&](const InContext& in) {
    *total_bytes = in.driver.options().sim.memory_bytes;
    return ResultOf(in.sim.FreeMemory(*free_bytes));
  });
}

FAKE_CUDA CuResult cuMemAlloc_v2(CuDevicePointer* pointer, size_t bytes) {
  return CallInContext(__func__, [&](const InContext& in) {
    void* memory = nullptr;
    const std::error_code error = in.sim.Allocate(bytes, memory);
    *pointer = NumberOf(memory);
    return Made(in, error, kMemory, *pointer);
  });
}

FAKE_CUDA CuResult cuMemFree_v2(CuDevicePointer pointer) {
  return GiveBack(__func__, kMemory, pointer,
                  [&](const InContext& in) { return ResultOf(in.sim.Free(MemoryOf(pointer))); });
}

FAKE_CUDA CuResult cuMemHostRegister_v2(void* memory, size_t bytes, unsigned flags) {
  return CallInContext(__func__, [&](const InContext& in) {
    if ((flags & kCuMemHostRegisterPortable) == 0) in.driver.Violation("host memory registered for one context only");
    return Made(in, in.sim.RegisterHost(memory, bytes), kRegistration, NumberOf(memory));
  });
}

FAKE_CUDA CuResult cuMemHostUnregister(void* memory) {
  return GiveBack(__func__, kRegistration, NumberOf(memory), [&](const InContext& in) {
    const CuResult result = ResultOf(in.sim.UnregisterHost(memory));
    return result == CuResult::kInvalidValue ? CuResult::kHostMemoryNotRegistered : result;
  });
}

FAKE_CUDA CuResult cuStreamCreate(CuStream* stream, unsigned flags) {
  return CallInContext(__func__, [&](const InContext& in) {
    if (flags != kCuStreamNonBlocking) in.driver.Violation("a stream that waits for the legacy stream");
    StreamHandle handle = 0;
    const std::error_code error = in.sim.CreateStream(handle);
    *stream = reinterpret_cast<CuStream>(in.HandleOf(handle));
    return Made(in, error, kStream, NumberOf(*stream));
  });
}

FAKE_CUDA CuResult cuStreamDestroy_v2(CuStream stream) {
  return GiveBack(__func__, kStream, NumberOf(stream),
                  [&](const InContext& in) { return ResultOf(in.sim.DestroyStream(in.StreamOf(stream))); });
}

FAKE_CUDA CuResult cuStreamSynchronize(CuStream stream) {
  return CallInContext(__func__,
                       [&](const InContext& in) { return ResultOf(in.sim.SynchronizeStream(in.StreamOf(stream))); });
}

FAKE_CUDA CuResult cuStreamWaitEvent(CuStream stream, CuEvent event, unsigned flags) {
  return CallInContext(__func__, [&](const InContext& in) {
    if (flags != 0) return CuResult::kInvalidValue;
    return ResultOf(in.sim.StreamWaitEvent(in.StreamOf(stream), in.EventOf(event)));
  });
}

FAKE_CUDA CuResult cuEventCreate(CuEvent* event, unsigned flags) {
  return CallInContext(__func__, [&](const InContext& in) {
    if (flags > kCuEventBlockingSync) in.driver.Violation("an event without times");
    EventHandle handle = 0;
    const std::error_code error = in.sim.CreateEvent(handle);
    *event = reinterpret_cast<CuEvent>(in.HandleOf(handle));
    return Made(in, error, kEvent, NumberOf(*event));
  });
}

FAKE_CUDA CuResult cuEventDestroy_v2(CuEvent event) {
  return GiveBack(__func__, kEvent, NumberOf(event),
                  [&](const InContext& in) { return ResultOf(in.sim.DestroyEvent(in.EventOf(event))); });
}

FAKE_CUDA CuResult cuEventRecord(CuEvent event, CuStream stream) {
  return CallInContext(__func__, [&](const InContext& in) {
    return ResultOf(in.sim.RecordEvent(in.EventOf(event), in.StreamOf(stream)));
  });
}

FAKE_CUDA CuResult cuEventQuery(CuEvent event) {
  return CallInContext(__func__, [&](const InContext& in) { return ResultOf(in.sim.QueryEvent(in.EventOf(event))); });
}

FAKE_CUDA CuResult cuEventSynchronize(CuEvent event) {
  return CallInContext(__func__,
                       [&](const InContext& in) { return ResultOf(in.sim.SynchronizeEvent(in.EventOf(event))); });
}

FAKE_CUDA CuResult cuEventElapsedTime(float* milliseconds, CuEvent start, CuEvent end) {
  return CallInContext(__func__, [&](const InContext& in) {
    int64_t ns = 0;
    const std::error_code error = in.sim.ElapsedNs(in.EventOf(start), in.EventOf(end), ns);
    if (!error) *milliseconds = static_cast<float>(static_cast<double>(ns) * 1e-6);
    return ResultOf(error);
  });
}

FAKE_CUDA CuResult cuMemcpyHtoDAsync_v2(CuDevicePointer to, const void* from, size_t bytes, CuStream stream) {
  return CallInContext(__func__, [&](const InContext& in) {
    return ResultOf(in.sim.CopyToDeviceAsync(MemoryOf(to), from, bytes, in.StreamOf(stream)));
  });
}

FAKE_CUDA CuResult cuMemcpyDtoHAsync_v2(void* to, CuDevicePointer from, size_t bytes, CuStream stream) {
  return CallInContext(__func__, [&](const InContext& in) {
    return ResultOf(in.sim.CopyToHostAsync(to, MemoryOf(from), bytes, in.StreamOf(stream)));
  });
}

FAKE_CUDA CuResult cuModuleLoadData(CuModule* module, const void* image) {
  return CallInContext(__func__, [&](const InContext& in) {
    constexpr uint32_t kFatBinary = 0xBA55ED50;
    uint32_t magic = 0;
    std::memcpy(&magic, image, sizeof magic);
    if (magic != kFatBinary) return CuResult::kInvalidImage;
    // As many of one image as somebody likes: its address in this process, then the number of the module.
    static std::atomic<uint64_t> last{0};
    *module = reinterpret_cast<CuModule>(in.HandleOf(++last));
    return Made(in, {}, kModule, NumberOf(*module));
  });
}

FAKE_CUDA CuResult cuModuleUnload(CuModule module) {
  return GiveBack(__func__, kModule, NumberOf(module), [](const InContext&) { return CuResult::kSuccess; });
}

FAKE_CUDA CuResult cuModuleGetFunction(CuFunction* function, CuModule module, const char* name) {
  return CallInContext(__func__, [&](const InContext& in) {
    if (!in.driver.IsLive(in.device, kModule, NumberOf(module))) return CuResult::kInvalidHandle;
    if (std::strcmp(name, kFinishKernel) != 0) return CuResult::kNotFound;
    *function = reinterpret_cast<CuFunction>(module);
    return CuResult::kSuccess;
  });
}

FAKE_CUDA CuResult cuLaunchKernel(CuFunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                                  unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
                                  CuStream stream, void** parameters, void** extra) {
  return CallInContext(__func__, [&](const InContext& in) {
    if (!in.driver.IsLive(in.device, kModule, NumberOf(function))) return CuResult::kInvalidHandle;
    if (extra != nullptr || parameters == nullptr) return CuResult::kInvalidValue;
    FinishLaunch launch;
    std::memcpy(&launch, parameters[0], sizeof launch);
    const FinishGrid grid = GridOf(launch);
    if (grid_x != grid.blocks || block_x != grid.threads || grid_y * grid_z * block_y * block_z != 1 ||
        shared_bytes != 0) {
      in.driver.Violation("a kernel launched on a grid that is not its own");
    }
    return ResultOf(in.sim.FinishAsync(launch, in.StreamOf(stream)));
  });
}

// The device seam: the few driver entry points that the transfer stage needs, as one table. The pipeline knows only
// this; `SimDevice` stands behind it on any machine, a CUDA driver where there is a GPU.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <system_error>

#include "transfer/finish_launch.h"

namespace stoker {

// Handles belong to the device that made them; on CUDA a stream is its CUstream, so that a caller may pass its own.
// kHostStream is no stream at all: the calling thread itself. kLegacyStream is CUDA's default stream, which a caller
// may work on and this project never does.
using StreamHandle = uint64_t;
using EventHandle = uint64_t;
inline constexpr StreamHandle kHostStream = 0;
inline constexpr StreamHandle kLegacyStream = 1;

enum class DeviceError {
  kInvalidValue = 1,  // a handle, pointer or size that this device does not know
  kOutOfMemory,
  kNotReady,      // Query: work is still running
  kNotAttached,   // the calling thread never called Attach
  kLaunchFailed,  // a copy or kernel failed; sticky, every later call returns it
  kShuttingDown,  // the driver is going away; harmless while tearing down
};
const std::error_category& device_category() noexcept;
std::error_code make_error_code(DeviceError) noexcept;

// What a device is; fixed for its life.
struct DeviceInfo {
  std::string name;          // as the loader's options call it: "sim", "cuda:0"
  std::string model;         // as its maker calls it
  std::string uuid;          // "GPU-...", empty where it has none
  std::string pci_address;   // "0000:01:00.0", empty where it sits on no bus
  int32_t cuda_index = -1;   // the driver's ordinal; -1: not CUDA's
  int32_t numa_node = -1;    // of the host memory next to it; -1: not known
  int32_t copy_engines = 1;  // copies that may run beside kernels and each other
  size_t memory_bytes = 0;
};

// One device and its context.
// Threads: every function may be called from any thread that is attached (see DeviceScope); info, can_finish, Attach
// and Detach from any. Calls on one stream must not race. Semantics are CUDA's: a stream runs its work in order;
// RecordEvent captures the work submitted to the stream so far; StreamWaitEvent captures the event's latest record at
// the call and ignores later ones; an event that was never recorded counts as complete. No function but the Synchronize
// ones, Register/Unregister and Allocate/Free blocks.
class Device {
 public:
  virtual ~Device() = default;

  virtual const DeviceInfo& info() const noexcept = 0;
  // Makes this device current for the calling thread; Detach brings back what was current before. They nest.
  virtual std::error_code Attach() noexcept = 0;
  virtual void Detach() noexcept = 0;

  // Device memory that is free now, of all processes' use of it.
  virtual std::error_code FreeMemory(size_t& bytes) noexcept = 0;
  // Device memory. Free waits for nothing: the caller has synchronised.
  virtual std::error_code Allocate(size_t bytes, void*& memory) noexcept = 0;
  virtual std::error_code Free(void* memory) noexcept = 0;
  // Page-locks host memory so that copies from it are asynchronous.
  virtual std::error_code RegisterHost(void* memory, size_t bytes) noexcept = 0;
  virtual std::error_code UnregisterHost(void* memory) noexcept = 0;

  // Streams never order themselves against the legacy default stream.
  virtual std::error_code CreateStream(StreamHandle& stream) noexcept = 0;
  virtual std::error_code DestroyStream(StreamHandle stream) noexcept = 0;
  virtual std::error_code SynchronizeStream(StreamHandle stream) noexcept = 0;
  virtual std::error_code StreamWaitEvent(StreamHandle stream, EventHandle event) noexcept = 0;

  // Events carry the time at which the captured work finished.
  virtual std::error_code CreateEvent(EventHandle& event) noexcept = 0;
  virtual std::error_code DestroyEvent(EventHandle event) noexcept = 0;
  virtual std::error_code RecordEvent(EventHandle event, StreamHandle stream) noexcept = 0;
  virtual std::error_code QueryEvent(EventHandle event) noexcept = 0;  // kNotReady while running
  virtual std::error_code SynchronizeEvent(EventHandle event) noexcept = 0;
  // Nanoseconds between two completed events.
  virtual std::error_code ElapsedNs(EventHandle start, EventHandle end, int64_t& ns) noexcept = 0;

  virtual std::error_code CopyToDeviceAsync(void* to, const void* from, size_t bytes, StreamHandle stream) noexcept = 0;
  virtual std::error_code CopyToHostAsync(void* to, const void* from, size_t bytes, StreamHandle stream) noexcept = 0;
  // Runs the kernel of FinishLaunch. False from `can_finish` where this build has no kernel for the device.
  virtual bool can_finish() const noexcept = 0;
  virtual std::error_code FinishAsync(const FinishLaunch& launch, StreamHandle stream) noexcept = 0;
};

// The calling thread is attached while this lives, and a thread of the caller's is left as it was.
class DeviceScope {
 public:
  explicit DeviceScope(Device& device) noexcept : device_(device), error_(device.Attach()) {}
  ~DeviceScope() {
    if (!error_) device_.Detach();
  }
  DeviceScope(const DeviceScope&) = delete;
  DeviceScope& operator=(const DeviceScope&) = delete;

  std::error_code error() const noexcept { return error_; }

 private:
  Device& device_;
  const std::error_code error_;
};

}  // namespace stoker

template <>
struct std::is_error_code_enum<stoker::DeviceError> : std::true_type {};

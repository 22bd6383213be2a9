// The device seam: the few driver entry points that the transfer stage needs, as one table. The pipeline knows only
// this; `SimDevice` stands behind it on any machine, a CUDA driver where there is a GPU.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <system_error>

namespace stoker {

// Handles belong to the device that made them. kHostStream is no stream at all: the calling thread itself.
using StreamHandle = uint64_t;
using EventHandle = uint64_t;
inline constexpr StreamHandle kHostStream = 0;

enum class DeviceError {
  kInvalidValue = 1,  // a handle, pointer or size that this device does not know
  kOutOfMemory,
  kNotReady,      // Query: work is still running
  kNotAttached,   // the calling thread never called Attach
  kLaunchFailed,  // a copy failed; sticky, every later call returns it
  kShuttingDown,  // the driver is going away; harmless while tearing down
};
const std::error_category& device_category() noexcept;
std::error_code make_error_code(DeviceError) noexcept;

// One device and its context.
// Threads: every function may be called from any thread that called Attach() once; calls on one stream must not race.
// Semantics are CUDA's: a stream runs its work in order; RecordEvent captures the work submitted to the stream so far;
// StreamWaitEvent captures the event's latest record at the call and ignores later ones; an event that was never
// recorded counts as complete. No function but the Synchronize ones, Register/Unregister and Allocate/Free blocks.
class Device {
 public:
  virtual ~Device() = default;

  virtual std::string name() const = 0;
  // Makes this device current for the calling thread.
  virtual std::error_code Attach() noexcept = 0;

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
};

}  // namespace stoker

template <>
struct std::is_error_code_enum<stoker::DeviceError> : std::true_type {};

// The GPU under test, and what is taken from it for a measurement: everything gives itself back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <system_error>
#include <vector>

#include "bench/gpu/direct_driver.h"
#include "bench/steady_seconds.h"
#include "transfer/device.h"

namespace stoker {

// How much is done for each figure. A figure is the list of its rounds: who reads it takes the median and the spread.
struct Effort {
  int rounds = 9;
  int calls = 2'000;                           // a round, where single calls are timed
  size_t largest_bytes = size_t{256} << 20;    // of a copy or a registration
  size_t bytes_per_round = size_t{256} << 20;  // of small copies, together
  int64_t batch = 256;                         // pictures that the kernel finishes at once
  double seconds = 4;                          // of a run of the loader

  // Enough to see that everything runs: for a driver that is not a real one.
  static Effort Quick() { return {3, 100, size_t{1} << 20, size_t{1} << 20, 4, 0.5}; }
};

// What a part measures with. The calling thread is attached to the device.
struct Gpu {
  Device& device;
  const DirectDriver& driver;
  Effort effort;
  std::string photos;  // a folder of class folders, for the parts that load
};

// Throws std::system_error saying what failed.
inline void Check(std::error_code error, const char* what) {
  if (error) throw std::system_error(error, what);
}

class Stream {
 public:
  explicit Stream(Device& device) : device_(device) { Check(device.CreateStream(handle_), "create a stream"); }
  ~Stream() { (void)device_.DestroyStream(handle_); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  operator StreamHandle() const noexcept { return handle_; }  // NOLINT: it stands for its handle
  void Synchronize() const { Check(device_.SynchronizeStream(handle_), "synchronize a stream"); }

 private:
  Device& device_;
  StreamHandle handle_ = 0;
};

class Event {
 public:
  explicit Event(Device& device) : device_(device) { Check(device.CreateEvent(handle_), "create an event"); }
  ~Event() { (void)device_.DestroyEvent(handle_); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  operator EventHandle() const noexcept { return handle_; }  // NOLINT: it stands for its handle
  void Record(StreamHandle stream) const { Check(device_.RecordEvent(handle_, stream), "record an event"); }
  void Synchronize() const { Check(device_.SynchronizeEvent(handle_), "synchronize an event"); }

 private:
  Device& device_;
  EventHandle handle_ = 0;
};

class DeviceMemory {
 public:
  DeviceMemory(Device& device, size_t bytes) : device_(device) {
    Check(device.Allocate(bytes, memory_), "allocate device memory");
  }
  ~DeviceMemory() { (void)device_.Free(memory_); }
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;

  std::byte* get() const noexcept { return static_cast<std::byte*>(memory_); }

 private:
  Device& device_;
  void* memory_ = nullptr;
};

enum class Pages { kSmall, kHuge };

// Anonymous host memory on pages of the size that is asked for, if the system has it; not faulted in.
class HostMemory {
 public:
  HostMemory(size_t bytes, Pages pages);
  ~HostMemory();
  HostMemory(const HostMemory&) = delete;
  HostMemory& operator=(const HostMemory&) = delete;

  // Page-locks it, until the destructor.
  void Register(Device& device);
  void Unregister();
  // Writes to every page.
  void FaultIn() noexcept;
  // The share of it that lies on huge pages now; -1 where the system does not tell.
  double HugeShare() const;

  std::byte* data() const noexcept { return data_; }
  size_t size() const noexcept { return bytes_; }
  std::span<std::byte> bytes() const noexcept { return {data_, bytes_}; }

 private:
  std::byte* data_ = nullptr;
  size_t bytes_ = 0;
  Device* registered_with_ = nullptr;
};

// Seconds on the device's clock that what `submit` puts on the stream takes.
template <typename Submit>
double DeviceSeconds(Device& device, const Stream& stream, const Submit& submit) {
  const Event begin(device), end(device);
  begin.Record(stream);
  submit();
  end.Record(stream);
  end.Synchronize();
  int64_t ns = 0;
  Check(device.ElapsedNs(begin, end, ns), "read the time between two events");
  return static_cast<double>(ns) * 1e-9;
}

// Seconds on the host's clock.
template <typename Work>
double HostSeconds(const Work& work) {
  const double start = SteadySeconds();
  work();
  return SteadySeconds() - start;
}

template <typename Measure>
std::vector<double> Rounds(int rounds, const Measure& measure) {
  std::vector<double> values;
  values.reserve(static_cast<size_t>(rounds));
  for (int i = 0; i < rounds; ++i) values.push_back(measure());
  return values;
}

}  // namespace stoker

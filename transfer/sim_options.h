// What the simulated device models, and how strict it is about its use.
#pragma once

#include <cstddef>
#include <cstdint>

namespace stoker {

// When submitted work runs. All modes keep CUDA's order: first in, first out in a stream, and behind the events that it
// waits for. Each is a schedule that a driver may choose, so a program that is right is right in all of them.
enum class SimMode {
  // On a thread of the device's own, in the time of the modelled link.
  kModelled,
  // As late as order permits: when the host synchronises with something that needs it, and then no more than that. A
  // source that is overwritten too early gives wrong bytes every time. An event that is not complete becomes so at the
  // lazy_queries-th Query (or Elapsed) after its record; a stream that is full runs its oldest work; what nobody asks
  // for runs in the destructor.
  kLazy,
  // Within the call that submits it, whenever what it waits for is complete: a target that is overwritten too early
  // gives wrong bytes every time.
  kEager,
  // At every call, a random choice of what may run. The seed is named in each violation.
  kRandom,
  // In the time of the modelled link, as kModelled, but a time that stands still until SimDevice::AdvanceTo, or a
  // Synchronize, moves it on: for tests of times that depend on none.
  kStepped,
};

// What happens to programs that break a rule of device.h (see SimChecker for the rules).
enum class SimChecks {
  kOff,      // what a driver would do: maybe nothing
  kCollect,  // SimDevice::violations() tells
  kAbort,    // and if there are any, the destructor prints them and ends the program
};

// Page-locked host memory to the device over 16 lanes: NVlabs/cuda-oxide#976 measures 22.5 to 23.9 GB/s,
// stas00/ml-engineering (network/README.md) 55.4.
inline constexpr double kPcie4BytesPerSecond = 24e9;
inline constexpr double kPcie5BytesPerSecond = 55e9;

struct SimOptions {
  double bytes_per_second = kPcie4BytesPerSecond;
  int64_t latency_ns = 8'000;    // per copy or kernel
  double pageable_factor = 0.6;  // unregistered host memory copies at this share, and synchronously
  size_t memory_bytes = size_t{8} << 30;
  int64_t fail_copy_at = -1;                // the n-th copy (from 0) fails; -1: none
  int64_t hang_copy_at = -1;                // the n-th copy never ends (SimDevice::EndHang); -1: none
  double memory_bytes_per_second = 1.5e12;  // of device memory: what a kernel reads and writes
  SimMode mode = SimMode::kModelled;
  uint64_t seed = 0;     // of kRandom
  int lazy_queries = 3;  // of kLazy; at least 1
  SimChecks checks = SimChecks::kOff;
  // Device memory is host memory that the caller may read and write, too. Otherwise that is a fault.
  bool host_may_access = true;
};

// A device that lets nothing pass.
constexpr SimOptions StrictSim(SimMode mode, uint64_t seed = 0) {
  SimOptions options;
  options.mode = mode;
  options.seed = seed;
  options.checks = SimChecks::kAbort;
  options.host_may_access = false;
  return options;
}

}  // namespace stoker

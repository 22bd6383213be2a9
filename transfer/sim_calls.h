// Every call of the simulated device is counted here, and may be told to fail.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <system_error>
#include <vector>

#include "transfer/device.h"

namespace stoker {

// The entry points of Device. kAny stands for all of them together.
enum class SimCall {
  kAttach,
  kFreeMemory,
  kAllocate,
  kFree,
  kRegisterHost,
  kUnregisterHost,
  kCreateStream,
  kDestroyStream,
  kSynchronizeStream,
  kStreamWaitEvent,
  kCreateEvent,
  kDestroyEvent,
  kRecordEvent,
  kQueryEvent,
  kSynchronizeEvent,
  kElapsedNs,
  kCopyToDevice,
  kCopyToHost,
  kFinish,
  kAny,
};

// The function's name.
std::string_view NameOf(SimCall call) noexcept;

// Threads: none of its own; the device guards it.
class SimCalls {
 public:
  // Counts the call; the error that it has been told to fail with, if any.
  std::error_code Count(SimCall call);
  uint64_t count(SimCall call) const noexcept { return counts_[static_cast<size_t>(call)]; }

  // The n-th call from now (from 0) fails.
  void Fail(SimCall call, uint64_t n, DeviceError error);

 private:
  struct Fault {
    SimCall call;
    uint64_t at;  // of counts_
    DeviceError error;
  };

  std::array<uint64_t, static_cast<size_t>(SimCall::kAny) + 1> counts_ = {};
  std::vector<Fault> faults_;
};

}  // namespace stoker

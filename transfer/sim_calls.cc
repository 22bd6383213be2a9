#include "transfer/sim_calls.h"

namespace stoker {

std::string_view NameOf(SimCall call) noexcept {
  switch (call) {
    case SimCall::kAttach:
      return "Attach";
    case SimCall::kFreeMemory:
      return "FreeMemory";
    case SimCall::kAllocate:
      return "Allocate";
    case SimCall::kFree:
      return "Free";
    case SimCall::kRegisterHost:
      return "RegisterHost";
    case SimCall::kUnregisterHost:
      return "UnregisterHost";
    case SimCall::kCreateStream:
      return "CreateStream";
    case SimCall::kDestroyStream:
      return "DestroyStream";
    case SimCall::kSynchronizeStream:
      return "SynchronizeStream";
    case SimCall::kStreamWaitEvent:
      return "StreamWaitEvent";
    case SimCall::kCreateEvent:
      return "CreateEvent";
    case SimCall::kDestroyEvent:
      return "DestroyEvent";
    case SimCall::kRecordEvent:
      return "RecordEvent";
    case SimCall::kQueryEvent:
      return "QueryEvent";
    case SimCall::kSynchronizeEvent:
      return "SynchronizeEvent";
    case SimCall::kElapsedNs:
      return "ElapsedNs";
    case SimCall::kCopyToDevice:
      return "CopyToDeviceAsync";
    case SimCall::kCopyToHost:
      return "CopyToHostAsync";
    case SimCall::kFinish:
      return "FinishAsync";
    case SimCall::kAny:
      return "any";
  }
  return "";
}

std::error_code SimCalls::Count(SimCall call) {
  std::error_code error;
  for (const Fault& fault : faults_) {
    if (fault.call != call && fault.call != SimCall::kAny) continue;
    if (count(fault.call) == fault.at) error = fault.error;
  }
  ++counts_[static_cast<size_t>(call)];
  ++counts_[static_cast<size_t>(SimCall::kAny)];
  return error;
}

void SimCalls::Fail(SimCall call, uint64_t n, DeviceError error) { faults_.push_back({call, count(call) + n, error}); }

}  // namespace stoker

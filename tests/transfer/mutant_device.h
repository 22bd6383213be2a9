// The transfer stage with one deliberate bug: a device that does something else than it is told. So the code under test
// stays free of switches, and what the driver sees is what the bug would have made it see.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "tests/transfer/forwarding_device.h"

namespace stoker {

enum class Mutant : int {
  kNone,
  kNoReleaseWait,        // the copy does not wait until the consumer is done with the device slot
  kNoUploadWait,         // the kernel does not wait for the copy
  kNoReadyWait,          // the consumer's stream does not wait for the batch
  kReleaseOnCopyStream,  // the consumer's release is recorded on our own stream
  kUploadedTooSoon,      // "uploaded" is recorded in front of the copy
  kReadyTooSoon,         // "ready" is recorded in front of the kernel
  kFreedOnIssue,         // the host slot is free when its copy was issued, not when it is complete
  kStreamKept,           // the stream of the first batch is taken for that of all
  kNoAttach,             // threads do not make the device current
  kDefaultStream,        // the copy goes to the default stream
  kTornDownTooSoon,      // teardown does not wait for work under way
  kOneEventForAll,       // events are used again while they are in use
  kShortCopy,            // the last half of the bytes is left out
  kWrongSlot,            // a batch goes to the device slot of the one before
  kMemoryLeft,           // device memory is not freed
  kEventsLeft,           // events are not destroyed
  kRegistrationLeft,     // host memory stays page-locked
  kFreedTwice,           // device memory is freed twice
  kEventForEachBatch,    // steady state creates events
  kWaitsForEachCopy,     // steady state stops the host for each copy
  kCount,
};

inline constexpr std::array<std::string_view, static_cast<size_t>(Mutant::kCount)> kMutantNames = {
    "None",           "NoReleaseWait",     "NoUploadWait",    "NoReadyWait", "ReleaseOnCopyStream", "UploadedTooSoon",
    "ReadyTooSoon",   "FreedOnIssue",      "StreamKept",      "NoAttach",    "DefaultStream",       "TornDownTooSoon",
    "OneEventForAll", "ShortCopy",         "WrongSlot",       "MemoryLeft",  "EventsLeft",          "RegistrationLeft",
    "FreedTwice",     "EventForEachBatch", "WaitsForEachCopy"};

// Stands between the code under test and the device; the test itself talks to the device behind it.
class MutantDevice final : public ForwardingDevice {
 public:
  MutantDevice(std::unique_ptr<Device> device, Mutant mutant) : ForwardingDevice(std::move(device)), mutant_(mutant) {}

  std::error_code Attach() noexcept override {
    return Is(Mutant::kNoAttach) ? std::error_code() : ForwardingDevice::Attach();
  }
  void Detach() noexcept override {
    if (!Is(Mutant::kNoAttach)) ForwardingDevice::Detach();
  }
  std::error_code Free(void* memory) noexcept override {
    if (Is(Mutant::kMemoryLeft)) return {};
    if (Is(Mutant::kFreedTwice)) (void)ForwardingDevice::Free(memory);
    return ForwardingDevice::Free(memory);
  }
  std::error_code UnregisterHost(void* memory) noexcept override {
    return Is(Mutant::kRegistrationLeft) ? std::error_code() : ForwardingDevice::UnregisterHost(memory);
  }
  std::error_code CreateStream(StreamHandle& stream) noexcept override {
    const std::error_code error = ForwardingDevice::CreateStream(stream);
    own_streams_.push_back(stream);
    return error;
  }
  std::error_code StreamWaitEvent(StreamHandle stream, EventHandle event) noexcept override {
    if (Is(Mutant::kNoReleaseWait) && IsCopy(stream)) return {};
    if (Is(Mutant::kNoUploadWait) && IsFinish(stream)) return {};
    if (Is(Mutant::kNoReadyWait) && !IsOwn(stream)) return {};
    return ForwardingDevice::StreamWaitEvent(Kept(stream), event);
  }
  std::error_code CreateEvent(EventHandle& event) noexcept override {
    if (Is(Mutant::kOneEventForAll) && one_event_ != 0) return event = one_event_, std::error_code();
    const std::error_code error = ForwardingDevice::CreateEvent(event);
    one_event_ = event;
    return error;
  }
  std::error_code DestroyEvent(EventHandle event) noexcept override {
    if (Is(Mutant::kEventsLeft)) return {};
    if (Is(Mutant::kOneEventForAll) && std::exchange(one_event_, 0) == 0) return {};
    return ForwardingDevice::DestroyEvent(event);
  }
  std::error_code RecordEvent(EventHandle event, StreamHandle stream) noexcept override;
  std::error_code QueryEvent(EventHandle event) noexcept override {
    const bool tears_down = std::this_thread::get_id() == maker_;
    const std::error_code answer = ForwardingDevice::QueryEvent(event);
    return Is(Mutant::kFreedOnIssue) || (Is(Mutant::kTornDownTooSoon) && tears_down) ? std::error_code() : answer;
  }
  // Where the host believes that a copy is complete which is not, there is nothing to measure either.
  std::error_code ElapsedNs(EventHandle start, EventHandle end, int64_t& ns) noexcept override {
    if (Is(Mutant::kFreedOnIssue)) return ns = 0, std::error_code();
    return ForwardingDevice::ElapsedNs(start, end, ns);
  }
  std::error_code CopyToDeviceAsync(void* to, const void* from, size_t bytes, StreamHandle stream) noexcept override;
  std::error_code FinishAsync(const FinishLaunch& launch, StreamHandle stream) noexcept override {
    if (Is(Mutant::kReadyTooSoon)) return held_finish_ = launch, std::error_code();
    return ForwardingDevice::FinishAsync(launch, stream);
  }

 private:
  struct Copy {
    void* to = nullptr;
    const void* from = nullptr;
    size_t bytes = 0;
  };

  bool Is(Mutant mutant) const { return mutant_ == mutant; }
  // The order in which the code under test makes its streams.
  bool IsCopy(StreamHandle stream) const { return !own_streams_.empty() && stream == own_streams_[0]; }
  bool IsFinish(StreamHandle stream) const { return own_streams_.size() > 1 && stream == own_streams_[1]; }
  bool IsOwn(StreamHandle stream) const { return IsCopy(stream) || IsFinish(stream); }
  StreamHandle Kept(StreamHandle stream) {
    if (!Is(Mutant::kStreamKept) || IsOwn(stream)) return stream;
    StreamHandle first = kHostStream;
    return first_consumer_.compare_exchange_strong(first, stream) ? stream : first;
  }

  const Mutant mutant_;
  const std::thread::id maker_ = std::this_thread::get_id();
  std::vector<StreamHandle> own_streams_;
  std::atomic<StreamHandle> first_consumer_{kHostStream};
  EventHandle one_event_ = 0;
  Copy held_copy_;
  FinishLaunch held_finish_;
  void* last_target_ = nullptr;
};

inline std::error_code MutantDevice::RecordEvent(EventHandle event, StreamHandle stream) noexcept {
  if (Is(Mutant::kReleaseOnCopyStream) && !own_streams_.empty() && !IsOwn(stream)) stream = own_streams_[0];
  if (Is(Mutant::kEventForEachBatch)) {
    EventHandle another = 0;
    if (!ForwardingDevice::CreateEvent(another)) (void)ForwardingDevice::DestroyEvent(another);
  }
  std::error_code error = ForwardingDevice::RecordEvent(event, Kept(stream));
  if (IsCopy(stream) && held_copy_.to != nullptr && !error) {
    const Copy copy = std::exchange(held_copy_, {});
    error = ForwardingDevice::CopyToDeviceAsync(copy.to, copy.from, copy.bytes, stream);
  }
  if (IsFinish(stream) && held_finish_.out != nullptr && !error) {
    error = ForwardingDevice::FinishAsync(std::exchange(held_finish_, {}), stream);
  }
  return error;
}

inline std::error_code MutantDevice::CopyToDeviceAsync(void* to, const void* from, size_t bytes,
                                                       StreamHandle stream) noexcept {
  if (Is(Mutant::kUploadedTooSoon)) return held_copy_ = {to, from, bytes}, std::error_code();
  if (Is(Mutant::kShortCopy)) bytes /= 2;
  if (Is(Mutant::kDefaultStream)) stream = kLegacyStream;
  void* const before = std::exchange(last_target_, to);
  if (Is(Mutant::kWrongSlot) && before != nullptr) to = before;
  const std::error_code error = ForwardingDevice::CopyToDeviceAsync(to, from, bytes, stream);
  if (Is(Mutant::kWaitsForEachCopy)) (void)ForwardingDevice::SynchronizeStream(stream);
  return error;
}

}  // namespace stoker

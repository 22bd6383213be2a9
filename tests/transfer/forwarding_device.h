// A device that passes everything on to another one: the base of doubles that change one thing.
#pragma once

#include <memory>
#include <system_error>
#include <utility>

#include "transfer/device.h"

namespace stoker {

class ForwardingDevice : public Device {
 public:
  explicit ForwardingDevice(std::unique_ptr<Device> device) : device_(std::move(device)) {}

  const DeviceInfo& info() const noexcept override { return device_->info(); }
  std::error_code Attach() noexcept override { return device_->Attach(); }
  void Detach() noexcept override { device_->Detach(); }
  std::error_code FreeMemory(size_t& bytes) noexcept override { return device_->FreeMemory(bytes); }
  std::error_code Allocate(size_t bytes, void*& memory) noexcept override { return device_->Allocate(bytes, memory); }
  std::error_code Free(void* memory) noexcept override { return device_->Free(memory); }
  std::error_code RegisterHost(void* memory, size_t bytes) noexcept override {
    return device_->RegisterHost(memory, bytes);
  }
  std::error_code UnregisterHost(void* memory) noexcept override { return device_->UnregisterHost(memory); }
  std::error_code CreateStream(StreamHandle& stream) noexcept override { return device_->CreateStream(stream); }
  std::error_code DestroyStream(StreamHandle stream) noexcept override { return device_->DestroyStream(stream); }
  std::error_code SynchronizeStream(StreamHandle stream) noexcept override {
    return device_->SynchronizeStream(stream);
  }
  std::error_code StreamWaitEvent(StreamHandle stream, EventHandle event) noexcept override {
    return device_->StreamWaitEvent(stream, event);
  }
  std::error_code CreateEvent(EventHandle& event) noexcept override { return device_->CreateEvent(event); }
  std::error_code DestroyEvent(EventHandle event) noexcept override { return device_->DestroyEvent(event); }
  std::error_code RecordEvent(EventHandle event, StreamHandle stream) noexcept override {
    return device_->RecordEvent(event, stream);
  }
  std::error_code QueryEvent(EventHandle event) noexcept override { return device_->QueryEvent(event); }
  std::error_code SynchronizeEvent(EventHandle event) noexcept override { return device_->SynchronizeEvent(event); }
  std::error_code ElapsedNs(EventHandle start, EventHandle end, int64_t& ns) noexcept override {
    return device_->ElapsedNs(start, end, ns);
  }
  std::error_code CopyToDeviceAsync(void* to, const void* from, size_t bytes, StreamHandle stream) noexcept override {
    return device_->CopyToDeviceAsync(to, from, bytes, stream);
  }
  std::error_code CopyToHostAsync(void* to, const void* from, size_t bytes, StreamHandle stream) noexcept override {
    return device_->CopyToHostAsync(to, from, bytes, stream);
  }
  bool can_finish() const noexcept override { return device_->can_finish(); }
  std::error_code FinishAsync(const FinishLaunch& launch, StreamHandle stream) noexcept override {
    return device_->FinishAsync(launch, stream);
  }

 private:
  std::unique_ptr<Device> device_;
};

// Pageable memory only: the driver stages every copy.
class UnpinnedDevice final : public ForwardingDevice {
 public:
  using ForwardingDevice::ForwardingDevice;
  std::error_code RegisterHost(void*, size_t) noexcept override { return DeviceError::kOutOfMemory; }
  std::error_code UnregisterHost(void*) noexcept override { return DeviceError::kInvalidValue; }
};

}  // namespace stoker

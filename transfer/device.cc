#include "transfer/device.h"

namespace stoker {
namespace {

class DeviceCategory : public std::error_category {
 public:
  const char* name() const noexcept override { return "device"; }

  std::string message(int value) const override {
    switch (static_cast<DeviceError>(value)) {
      case DeviceError::kInvalidValue:
        return "a handle, pointer or size that the device does not know";
      case DeviceError::kOutOfMemory:
        return "out of device memory";
      case DeviceError::kNotReady:
        return "work is still running";
      case DeviceError::kNotAttached:
        return "the device is not current for the calling thread";
      case DeviceError::kLaunchFailed:
        return "a copy failed; the device accepts no more work";
      case DeviceError::kShuttingDown:
        return "the driver is shutting down";
    }
    return "unknown device error " + std::to_string(value);
  }
};

}  // namespace

const std::error_category& device_category() noexcept {
  // Never destroyed: an error may outlive the static objects of this library.
  static const auto* const category = new DeviceCategory;
  return *category;
}

std::error_code make_error_code(DeviceError error) noexcept { return {static_cast<int>(error), device_category()}; }

}  // namespace stoker

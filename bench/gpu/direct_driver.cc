#include "bench/gpu/direct_driver.h"

#include <dlfcn.h>

#include <stdexcept>
#include <string>

namespace stoker {
namespace {

// Of CUdevice_attribute.
constexpr int kMemoryClockKhz = 36;
constexpr int kMemoryBusBits = 37;

template <typename Function>
void LookUp(void* library, const char* name, Function*& function) {
  function = reinterpret_cast<Function*>(dlsym(library, name));
  if (function == nullptr) throw std::runtime_error(std::string("the driver has no ") + name);
}

}  // namespace

DirectDriver::DirectDriver() {
  void* const library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) throw std::runtime_error(dlerror());
  LookUp(library, "cuEventQuery", event_query);
  LookUp(library, "cuDriverGetVersion", get_version_);
  LookUp(library, "cuDeviceGetAttribute", get_attribute_);
}

int DirectDriver::version() const noexcept {
  int version = 0;
  return get_version_(&version) == CuResult::kSuccess ? version : 0;
}

int DirectDriver::Attribute(int attribute, int device) const noexcept {
  int value = 0;
  return get_attribute_(&value, attribute, device) == CuResult::kSuccess ? value : 0;
}

double DirectDriver::MemoryBytesPerSecond(int device) const noexcept {
  // Two transfers a clock.
  return 2e3 * Attribute(kMemoryClockKhz, device) * Attribute(kMemoryBusBits, device) / 8;
}

}  // namespace stoker

// The fake driver itself, its devices and contexts.
#include <algorithm>
#include <cstdio>
#include <cstring>

#include "tests/fake_cuda/entry_point.h"

using namespace stoker;  // NOLINT: what follows has C's names

namespace {

// Two devices' UUIDs differ in their fourth byte only.
CuUuid UuidOf(CuDevice device) {
  CuUuid uuid = {};
  for (int i = 0; i < 16; ++i) uuid.bytes[i] = static_cast<char>(0x10 * i + 0xf);
  uuid.bytes[3] = static_cast<char>(device);
  return uuid;
}

// A call about a device that is there.
template <typename Body>
CuResult CallFor(const char* entry, CuDevice device, Body body) {
  return Call(entry, [&](FakeDriver& driver) {
    const FakeOptions options = driver.options();
    return device >= 0 && device < options.devices ? body(options) : CuResult::kInvalidDevice;
  });
}

struct ErrorName {
  CuResult result;
  const char* name;
  const char* words;
};
constexpr ErrorName kErrors[] = {
    {CuResult::kSuccess, "CUDA_SUCCESS", "no error"},
    {CuResult::kInvalidValue, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {CuResult::kOutOfMemory, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {CuResult::kNotInitialized, "CUDA_ERROR_NOT_INITIALIZED", "initialization error"},
    {CuResult::kDeinitialized, "CUDA_ERROR_DEINITIALIZED", "driver shutting down"},
    {CuResult::kNoDevice, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
    {CuResult::kInvalidDevice, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
    {CuResult::kInvalidContext, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
    {CuResult{700}, "CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered"},
    {CuResult::kLaunchFailed, "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure"},
    {CuResult{999}, "CUDA_ERROR_UNKNOWN", "unknown error"},
};

CuResult TellError(const char* entry, CuResult result, const char* ErrorName::*part, const char** text) {
  *text = nullptr;
  if (const CuResult planned = FakeDriver::Get().Enter(entry); planned != CuResult::kSuccess) return planned;
  const auto* const error = std::ranges::find(kErrors, result, &ErrorName::result);
  if (error == std::end(kErrors)) return CuResult::kInvalidValue;
  *text = error->*part;
  return CuResult::kSuccess;
}

}  // namespace

FAKE_CUDA CuResult cuInit(unsigned flags) {
  FakeDriver& driver = FakeDriver::Get();
  if (const CuResult planned = driver.Enter(__func__); planned != CuResult::kSuccess) return planned;
  if (flags != 0) return CuResult::kInvalidValue;
  if (driver.options().devices == 0) return CuResult::kNoDevice;
  driver.Initialise();
  return CuResult::kSuccess;
}

FAKE_CUDA CuResult cuDriverGetVersion(int* version) {
  if (const CuResult planned = FakeDriver::Get().Enter(__func__); planned != CuResult::kSuccess) return planned;
  *version = FakeDriver::Get().options().version;
  return CuResult::kSuccess;
}

FAKE_CUDA CuResult cuGetErrorName(CuResult result, const char** name) {
  return TellError(__func__, result, &ErrorName::name, name);
}

FAKE_CUDA CuResult cuGetErrorString(CuResult result, const char** words) {
  return TellError(__func__, result, &ErrorName::words, words);
}

FAKE_CUDA CuResult cuDeviceGetCount(int* count) {
  return Call(__func__, [&](FakeDriver& driver) {
    *count = driver.options().devices;
    return CuResult::kSuccess;
  });
}

FAKE_CUDA CuResult cuDeviceGet(CuDevice* device, int index) {
  return CallFor(__func__, index, [&](const FakeOptions&) {
    *device = index;
    return CuResult::kSuccess;
  });
}

FAKE_CUDA CuResult cuDeviceGetName(char* name, int size, CuDevice device) {
  return CallFor(__func__, device, [&](const FakeOptions&) {
    (void)std::snprintf(name, static_cast<size_t>(size), "Fake GPU %d", device);
    return CuResult::kSuccess;
  });
}

FAKE_CUDA CuResult cuDeviceGetUuid_v2(CuUuid* uuid, CuDevice device) {
  return CallFor(__func__, device, [&](const FakeOptions&) {
    *uuid = UuidOf(device);
    return CuResult::kSuccess;
  });
}

FAKE_CUDA CuResult cuDeviceGetPCIBusId(char* address, int size, CuDevice device) {
  return CallFor(__func__, device, [&](const FakeOptions&) {
    // A domain that no machine has, so that nothing is found out about it from the system.
    (void)std::snprintf(address, static_cast<size_t>(size), "FA4E:%02X:00.0", device + 0xA0);
    return CuResult::kSuccess;
  });
}

FAKE_CUDA CuResult cuDeviceGetAttribute(int* value, CuDeviceAttribute attribute, CuDevice device) {
  return CallFor(__func__, device, [&](const FakeOptions&) {
    if (attribute == CuDeviceAttribute::kAsyncEngineCount) {
      *value = 2;
    } else if (attribute == CuDeviceAttribute::kHostNumaId) {
      *value = device;
    } else {
      return CuResult::kInvalidValue;
    }
    return CuResult::kSuccess;
  });
}

FAKE_CUDA CuResult cuDeviceTotalMem_v2(size_t* bytes, CuDevice device) {
  return CallFor(__func__, device, [&](const FakeOptions& options) {
    *bytes = options.sim.memory_bytes;
    return CuResult::kSuccess;
  });
}

FAKE_CUDA CuResult cuDevicePrimaryCtxRetain(CuContext* context, CuDevice device) {
  return Call(__func__, [&](FakeDriver& driver) { return driver.Retain(device, *context); });
}

FAKE_CUDA CuResult cuDevicePrimaryCtxRelease_v2(CuDevice device) {
  FakeDriver::Get().GivesBack(device);
  return Call(__func__, [&](FakeDriver& driver) { return driver.Release(device); });
}

FAKE_CUDA CuResult cuCtxPushCurrent_v2(CuContext context) {
  return Call(__func__, [&](FakeDriver& driver) {
    FakeDevice* const device = driver.Find(context);
    if (device == nullptr) return CuResult::kInvalidContext;
    if (driver.SimOf(*device) == nullptr) return CuResult::kContextIsDestroyed;
    PushedDevices().push_back(device);
    return CuResult::kSuccess;
  });
}

FAKE_CUDA CuResult cuCtxPopCurrent_v2(CuContext* context) {
  return Call(__func__, [&](FakeDriver&) {
    if (PushedDevices().empty()) return CuResult::kInvalidContext;
    *context = reinterpret_cast<CuContext>(PushedDevices().back());
    PushedDevices().pop_back();
    return CuResult::kSuccess;
  });
}

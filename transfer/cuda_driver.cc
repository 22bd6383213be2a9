#include "transfer/cuda_driver.h"

#include <dlfcn.h>

namespace stoker {
namespace {

class CudaCategory : public std::error_category {
 public:
  const char* name() const noexcept override { return "cuda"; }
  std::string message(int value) const override {
    return CudaErrorWords(CudaDriver::Get().api(), static_cast<CuResult>(value));
  }
};

std::string VersionWords(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

std::string TooOld(int version) {
  return "its CUDA " + VersionWords(version) + " is too old, " + VersionWords(kCuApiLevel) +
         " is needed: install an NVIDIA driver of version 525 or later";
}

// Empty where `api` is complete.
std::string LookUp(CuGetProcAddress* get, CudaApi& api) {
  const auto look_up = [get](const char* name, void** function) {
    auto status = CuSymbolStatus::kNotFound;
    const CuResult result = get(name, function, kCuApiLevel, kCuLegacyStreamFunctions, &status);
    return result == CuResult::kSuccess && status == CuSymbolStatus::kFound && *function != nullptr;
  };
  // A look-up by plain name would find the oldest variant of a function: cuMemcpyHtoDAsync with 32-bit sizes.
#define STOKER_CUDA_LOOK_UP(name, member, parameters)         \
  if (!look_up(#name, reinterpret_cast<void**>(&api.member))) \
    return "it lacks " #name ": install a later NVIDIA driver";
  STOKER_CUDA_API(STOKER_CUDA_LOOK_UP)
#undef STOKER_CUDA_LOOK_UP
  return "";
}

}  // namespace

CudaDriver::CudaDriver(const char* library) : refusal_(Load(library)) {}

const CudaDriver& CudaDriver::Get() {
  // Never destroyed: a device may outlive the static objects of this library.
  static const auto* const driver = new CudaDriver("libcuda.so.1");
  return *driver;
}

std::string CudaDriver::Load(const char* library) {
  void* const handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    return "there is no CUDA driver here (" + std::string(dlerror()) + "): install the NVIDIA driver";
  }
  const std::string found = "the CUDA driver cannot be used: ";
  if (auto* const get = reinterpret_cast<CuGetProcAddress*>(dlsym(handle, "cuGetProcAddress_v2"))) {
    if (const std::string missing = LookUp(get, api_); !missing.empty()) return found + missing;
  } else {  // older than 12.0, or no driver at all
    api_.driver_get_version = reinterpret_cast<decltype(api_.driver_get_version)>(dlsym(handle, "cuDriverGetVersion"));
  }
  int version = 0;
  if (api_.driver_get_version == nullptr || api_.driver_get_version(&version) != CuResult::kSuccess) {
    return found + "it does not tell its version: reinstall the NVIDIA driver";
  }
  if (version < kCuApiLevel) return found + TooOld(version);
  if (api_.init == nullptr) return found + "it lacks cuGetProcAddress_v2: reinstall the NVIDIA driver";
  if (const CuResult result = api_.init(0); result != CuResult::kSuccess) {
    return found + CudaErrorWords(api_, result) +
           " (cuInit): see that nvidia-smi works and what CUDA_VISIBLE_DEVICES leaves";
  }
  return "";
}

std::string CudaErrorWords(const CudaApi& api, CuResult result) {
  const char* name = nullptr;
  const char* words = nullptr;
  // Both leave null for a result that they do not know.
  if (api.get_error_name != nullptr) (void)api.get_error_name(result, &name);
  if (api.get_error_string != nullptr) (void)api.get_error_string(result, &words);
  std::string text = name != nullptr ? name : "CUDA error " + std::to_string(static_cast<int>(result));
  if (words != nullptr) text += std::string(": ") + words;
  return text;
}

const std::error_category& cuda_category() noexcept {
  // Never destroyed: an error may outlive the static objects of this library.
  static const auto* const category = new CudaCategory;
  return *category;
}

std::error_code make_error_code(CuResult result) noexcept {
  switch (result) {
    case CuResult::kSuccess:
      return {};
    case CuResult::kInvalidValue:
    case CuResult::kInvalidHandle:
    case CuResult::kHostMemoryAlreadyRegistered:
    case CuResult::kHostMemoryNotRegistered:
      return DeviceError::kInvalidValue;
    case CuResult::kOutOfMemory:
      return DeviceError::kOutOfMemory;
    case CuResult::kNotReady:
      return DeviceError::kNotReady;
    case CuResult::kInvalidContext:
      return DeviceError::kNotAttached;
    case CuResult::kLaunchFailed:
      return DeviceError::kLaunchFailed;
    case CuResult::kDeinitialized:
      return DeviceError::kShuttingDown;
    default:
      return {static_cast<int>(result), cuda_category()};
  }
}

}  // namespace stoker

#include "transfer/open_device.h"

#include <algorithm>
#include <stdexcept>
#include <string>

#include "transfer/cuda_device.h"
#include "transfer/sim_device.h"

namespace stoker {
namespace {

constexpr std::string_view kCudaPrefix = "cuda:";

bool IsGpuName(std::string_view name) noexcept {
  if (name == "cuda" || name.starts_with("GPU-")) return true;
  if (!name.starts_with(kCudaPrefix)) return false;
  const std::string_view number = name.substr(kCudaPrefix.size());
  return !number.empty() && number.size() <= 4 &&
         std::ranges::all_of(number, [](char digit) { return digit >= '0' && digit <= '9'; });
}

}  // namespace

bool IsDeviceName(std::string_view name) noexcept {
  return name == "auto" || name == "cpu" || name == "sim" || IsGpuName(name);
}

std::unique_ptr<Device> OpenDevice(std::string_view name) {
  if (name == "cpu") return nullptr;
  if (name == "sim") return MakeSimDevice();
  if (name == "auto") return CudaDeviceCount() > 0 ? MakeCudaDevice("cuda") : nullptr;
  if (IsGpuName(name)) return MakeCudaDevice(name);
  throw std::invalid_argument("device \"" + std::string(name) +
                              "\" (allowed: \"auto\", \"cpu\", \"sim\", \"cuda\", \"cuda:N\", a GPU's UUID)");
}

}  // namespace stoker

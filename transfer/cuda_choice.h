// Which CUDA device a caller means, and what it is.
#pragma once

#include <string>
#include <string_view>

#include "transfer/cuda_driver.h"
#include "transfer/device.h"

namespace stoker {

// The device called `which`: "cuda" is the first one, "cuda:N" the one of that index, "GPU-..." the one whose UUID
// begins so. Indices and devices are those that CUDA_VISIBLE_DEVICES leaves.
// Throws std::invalid_argument where `which` is none of these or means several devices, std::runtime_error where there
// is no such device or no usable driver, std::system_error (a runtime_error) where the driver fails.
DeviceInfo ChooseCudaDevice(const CudaDriver& driver, std::string_view which);

}  // namespace stoker

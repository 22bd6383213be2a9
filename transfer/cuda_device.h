// NVIDIA GPUs behind the device seam. Needs no toolkit to build and no driver to load: see CudaDriver.
#pragma once

#include <memory>
#include <string_view>

#include "transfer/device.h"

namespace stoker {

class CudaDriver;

// Devices that CUDA_VISIBLE_DEVICES leaves; 0 also where there is no usable driver. Thread-safe.
int CudaDeviceCount() noexcept;

// A device by its name: "cuda" (the first), "cuda:N", or a UUID "GPU-..." or its beginning.
// It works in the device's primary context, which it shares with everybody else in the process, PyTorch for one; the
// calling thread's current context stays as it is until Attach. Not for a process that was forked off after the first
// use of CUDA.
// Throws std::invalid_argument where `which` is no such name or means several devices, std::runtime_error, with what
// there is and the remedy, where it cannot be had. Thread-safe.
std::unique_ptr<Device> MakeCudaDevice(std::string_view which);
// The same through a driver of one's own, which outlives the device.
std::unique_ptr<Device> MakeCudaDevice(const CudaDriver& driver, std::string_view which);

}  // namespace stoker

// The devices by the names that options give them.
#pragma once

#include <memory>
#include <string_view>

#include "transfer/device.h"

namespace stoker {

// "cpu": null, for nothing is copied. "sim": a simulated device. "cuda": the first GPU that the driver names; "cuda:N":
// number N; "GPU-...": the one with that UUID, or with the only UUID that begins so. "auto": the first GPU, or null
// where there is none.
// Throws std::invalid_argument for another name, and std::runtime_error saying what is missing and what there is
// instead.
std::unique_ptr<Device> OpenDevice(std::string_view name);

// Whether OpenDevice knows such names. Calls no driver.
bool IsDeviceName(std::string_view name) noexcept;

}  // namespace stoker

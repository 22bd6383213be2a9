// The compiled kernel of FinishLaunch, as this library carries it.
#pragma once

#include <cstddef>
#include <span>

#include "transfer/finish_kernel.h"

namespace stoker {

// A fat binary for cuModuleLoadData, of all architectures it was built for; empty where it was built without nvcc.
// It holds one function, kFinishKernel, which takes a FinishLaunch by value and runs on the grid of GridOf.
std::span<const std::byte> FinishImage() noexcept;

inline constexpr const char* kFinishKernel = "stoker_finish";

}  // namespace stoker

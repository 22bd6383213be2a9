// For builds without nvcc, in place of cuda_finish_image.cc.
#include "transfer/cuda_finish_image.h"

namespace stoker {

std::span<const std::byte> FinishImage() noexcept { return {}; }

}  // namespace stoker

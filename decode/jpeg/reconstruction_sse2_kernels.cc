#ifdef __x86_64__

// In this order: the bodies are made of the vectors and the group before them.
// clang-format off
#include "decode/jpeg/scattered_group_kernels.h"
#include "decode/jpeg/idct_body_kernels.h"
#include "decode/jpeg/color_body_kernels.h"
// clang-format on

namespace stoker {

extern const ReconstructionKernels kSse2Reconstruction = {
    .transform = sse2::Transform<sse2::FullSize>,
    .half_transform = sse2::Transform<sse2::HalfSize>,
    .sum_rows = sse2::SumRows,
    .mix_rows = sse2::MixRows,
    .color = sse2::Color,
    .color_doubled = sse2::ColorDoubled,
    .gray = sse2::Gray,
};

}  // namespace stoker

#endif

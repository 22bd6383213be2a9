#ifdef __x86_64__

// In this order: the bodies are made of the vectors and the group before them.
// clang-format off
#include "decode/jpeg/expanded_group_kernels.h"
#include "decode/jpeg/idct_body_kernels.h"
#include "decode/jpeg/color_body_kernels.h"
// clang-format on

namespace stoker {

extern const ReconstructionKernels kAvx512Reconstruction = {
    .transform = avx512::Transform<avx512::FullSize>,
    .half_transform = avx512::Transform<avx512::HalfSize>,
    .sum_rows = avx512::SumRows,
    .mix_rows = avx512::MixRows,
    .color = avx512::Color,
    .color_doubled = avx512::ColorDoubled,
    .gray = avx512::Gray,
};

}  // namespace stoker

#endif

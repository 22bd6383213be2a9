#ifdef __x86_64__

// In this order: the bodies are made of the vectors and the group before them.
// clang-format off
#include "decode/jpeg/shuffled_group_kernels.h"
#include "decode/jpeg/idct_body_kernels.h"
#include "decode/jpeg/color_body_kernels.h"
// clang-format on

namespace stoker {

extern const ReconstructionKernels kAvx2Reconstruction = {
    .transform = avx2::Transform<avx2::FullSize>,
    .half_transform = avx2::Transform<avx2::HalfSize>,
    .sum_rows = avx2::SumRows,
    .mix_rows = avx2::MixRows,
    .color = avx2::Color,
    .color_doubled = avx2::ColorDoubled,
    .gray = avx2::Gray,
};

}  // namespace stoker

#endif

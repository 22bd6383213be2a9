// The arithmetic of the reconstruction, one row of blocks or pixels a call, in a body for each kind of CPU.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "decode/cpu_path.h"
#include "decode/image.h"
#include "decode/jpeg/frame.h"
#include "decode/jpeg/quantizers.h"

namespace stoker {

// The transforms write whole groups of this many blocks. What the others read and write may go on behind the end of a
// row, from there to the next multiple of 64 bytes and kKernelSlack further.
inline constexpr size_t kBlocksAtOnce = 4;
inline constexpr size_t kKernelSlack = 128;
static_assert(kKernelSlack <= kImagePadding);

// The sums from which two neighbouring pixels are mixed, each (3 * near + far + bias) >> 4 of them.
struct Taps {
  struct Pixel {
    ptrdiff_t near_offset = 0;
    ptrdiff_t far_offset = 0;
    int16_t bias = 0;
  };
  std::array<Pixel, 2> pixel;  // offsets grow by one every two pixels
};

struct ReconstructionKernels {
  // The inverse transform of `count` blocks side by side into samples: 8 rows of 8 a block, or 4 rows of 4 at half
  // size. False: sums so large that libjpeg-turbo's 16-bit arithmetic could give other samples (see
  // kMaxColumnSum); those written mean nothing then.
  using Transform = bool (*)(const CoefficientBlock* blocks, size_t count, const Quantizers& quantizers,
                             uint8_t* samples, size_t stride_bytes);
  Transform transform;
  Transform half_transform;

  // 3 * near + far, four times the mix of two rows.
  void (*sum_rows)(const uint8_t* near_row, const uint8_t* far_row, size_t count, uint16_t* sums);
  // (3 * near + far + bias) >> 2.
  void (*mix_rows)(const uint8_t* near_row, const uint8_t* far_row, int bias, size_t count, uint8_t* mixed);
  // `width` pixels from one sample of each component a pixel.
  void (*color)(const uint8_t* y, const uint8_t* cb, const uint8_t* cr, size_t width, uint8_t* rgb);
  // The same from column sums of chroma at half the width.
  void (*color_doubled)(const uint8_t* y, const uint16_t* cb, const uint16_t* cr, const Taps& taps, size_t width,
                        uint8_t* rgb);
  void (*gray)(const uint8_t* y, size_t width, uint8_t* rgb);
};

// libjpeg-turbo's vector code keeps in 16 bits what comes out of the first pass, four times the transform of a column,
// and adds two of these in 16 bits; the first pass in turn adds two coefficients. While no result of the first pass is
// beyond this, nothing of that can overflow: the sum of two fits, and (the transform being orthogonal) no coefficient
// exceeds 0.35 times the largest result. Photographs reach half of it.
inline constexpr int kMaxColumnSum = 16383;  // and -16384

// One body a CPU path; those that this architecture lacks are the scalar one.
const ReconstructionKernels& KernelsOf(CpuPath path) noexcept;

#ifdef __x86_64__
extern const ReconstructionKernels kSse2Reconstruction;
extern const ReconstructionKernels kAvx2Reconstruction;
extern const ReconstructionKernels kAvx512Reconstruction;
#endif

}  // namespace stoker

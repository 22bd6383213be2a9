// The bodies that say what the kernels compute: the only ones on other machines, and the oracle of all others.
#pragma once

#include "decode/jpeg/reconstruction_kernels.h"

namespace stoker {

bool TransformScalar(const CoefficientBlock* blocks, size_t count, const Quantizers& quantizers, uint8_t* samples,
                     size_t stride_bytes);
bool HalfTransformScalar(const CoefficientBlock* blocks, size_t count, const Quantizers& quantizers, uint8_t* samples,
                         size_t stride_bytes);
void SumRowsScalar(const uint8_t* near_row, const uint8_t* far_row, size_t count, uint16_t* sums);
void MixRowsScalar(const uint8_t* near_row, const uint8_t* far_row, int bias, size_t count, uint8_t* mixed);
void ColorScalar(const uint8_t* y, const uint8_t* cb, const uint8_t* cr, size_t width, uint8_t* rgb);
void ColorDoubledScalar(const uint8_t* y, const uint16_t* cb, const uint16_t* cr, const Taps& taps, size_t width,
                        uint8_t* rgb);
void GrayScalar(const uint8_t* y, size_t width, uint8_t* rgb);

inline constexpr ReconstructionKernels kScalarReconstruction = {
    TransformScalar, HalfTransformScalar, SumRowsScalar, MixRowsScalar, ColorScalar, ColorDoubledScalar, GrayScalar};

}  // namespace stoker

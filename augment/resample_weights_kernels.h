// The weights of one output pixel: Pillow's arithmetic in double precision, operation for operation, so that every
// target and the scalar twin give the same numbers. Only bilinear and bicubic, which training uses, have vectors.
// Compiled without contraction to fused multiply-add.
#pragma once

#include <cstdint>
#include <span>

#include "augment/recipe.h"
#include "augment/resample_weights.h"

namespace stoker {

// A filter laid over the pixels.
struct PlacedFilter {
  Interpolation interpolation = Interpolation::kBilinear;
  double center = 0;   // where its middle lies, in pixels
  double squeeze = 1;  // how much narrower it is than at scale 1
};

// Writes the weights of `taps` in fixed point and zeros behind them. Uses values[weights.size() + kWeightPadding).
inline constexpr size_t kWeightPadding = 8;
void FixedWeights(const PlacedFilter& filter, TapRange taps, std::span<int32_t> weights, double* values);
void FixedWeightsScalar(const PlacedFilter& filter, TapRange taps, std::span<int32_t> weights, double* values);

}  // namespace stoker

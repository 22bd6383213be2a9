// Where each output pixel's taps lie and what they weigh: Pillow's arithmetic, for one axis.
#pragma once

#include <cstdint>
#include <span>

#include "augment/recipe.h"
#include "augment/scratch.h"

namespace stoker {

// Neighbouring source pixels [first, first + count); count is at least 1.
struct TapRange {
  int32_t first = 0;
  int32_t count = 0;
};

// One axis of a resampling. The crop reaches from `begin` to `end` and becomes `out_size` pixels. Coordinates count
// from a whole pixel at or before the crop's edge, so `begin` is 0 unless the picture was decoded at a smaller scale.
// Taps stay within [low, high): the crop's pixels, and of those the ones that were decoded.
class ResampleAxis {
 public:
  ResampleAxis() = default;
  ResampleAxis(Interpolation interpolation, double begin, double end, int32_t out_size, int32_t low, int32_t high);
  // The whole crop is there, at its own scale.
  ResampleAxis(Interpolation interpolation, int32_t in_size, int32_t out_size)
      : ResampleAxis(interpolation, 0, in_size, out_size, 0, in_size) {}

  // Every output pixel is the source pixel of the same number.
  bool identity() const { return identity_; }
  // Pillow filters this (vertical) axis before `other` where that leaves the second pass much less to do.
  bool PrefersFirst(const ResampleAxis& other) const;

  // The pixels that output pixel `index` is made of.
  TapRange Taps(int32_t index) const;
  // No range has more taps.
  int32_t MaxTaps() const;
  // Writes the weights of `taps` (what Taps gave for `index`) in fixed point with kWeightBits, whose sum is 1, and
  // zeros into what remains of `weights`: as many as for the output before make it faster.
  void Weights(int32_t index, TapRange taps, std::span<int32_t> weights, Scratch<double>& scratch) const;

  // kNearest: the source pixels of outputs [first, first + indices.size()).
  void Nearest(int32_t first, std::span<int32_t> indices) const;

 private:
  Interpolation interpolation_ = Interpolation::kBilinear;
  bool identity_ = true;
  double begin_ = 0;
  double end_ = 1;
  double scale_ = 1;    // source pixels per output pixel
  double stretch_ = 1;  // of the filter: max(scale, 1)
  double support_ = 1;  // the stretched filter's radius
  int32_t out_size_ = 1;
  int32_t low_ = 0;
  int32_t high_ = 1;
};

// Pillow's PRECISION_BITS: what 32 bits leave after 8 bits of pixel and 2 of headroom (the filter's negative lobes).
inline constexpr int kWeightBits = 32 - 8 - 2;

// Two neighbouring taps' weights, each split into halves of 11 bits (the upper one signed), so that both fit 16-bit
// multiplications without loss: weight = high * 2048 + low. In each word the first tap has the low 16 bits.
struct SplitPair {
  uint32_t high = 0;
  uint32_t low = 0;
};
inline constexpr int kSplitBits = kWeightBits / 2;

// Splits `weights`, preceded by `leading` zeros, into `pairs`; what remains of `pairs` is zero.
void Split(std::span<const int32_t> weights, int32_t leading, std::span<SplitPair> pairs);
// The weight of tap `tap` again.
int32_t Join(const SplitPair* pairs, int32_t tap);

}  // namespace stoker

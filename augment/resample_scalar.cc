// The scalar twins of the resampling kernels: what they must equal, byte for byte.
#include <algorithm>

#include "augment/resample_kernels.h"

namespace stoker {

namespace {

// The sum has kWeightBits fractional bits; bicubic weights may carry it outside of what a byte holds.
uint8_t RoundToByte(int64_t sum) {
  constexpr int64_t kHalf = int64_t{1} << (kWeightBits - 1);
  return static_cast<uint8_t>(std::clamp<int64_t>((sum + kHalf) >> kWeightBits, 0, 255));
}

}  // namespace

void FilterColumnsScalar(const ColumnWeights& weights, const SourceRows& rows, const FilteredRows& out) {
  const auto taps = static_cast<int32_t>(2 * weights.pairs);
  const auto channels = static_cast<size_t>(weights.channels);
  for (size_t r = 0; r < kRowsAtOnce; ++r) {
    uint8_t* to = out[r];
    for (size_t x = 0; x < static_cast<size_t>(weights.width); ++x) {
      for (size_t c = 0; c < channels; ++c) {
        int64_t sum = 0;
        const uint8_t* from = rows[r] + static_cast<size_t>(weights.first[x]) * channels + c;
        for (int32_t tap = 0; tap < taps; ++tap, from += channels) {
          // Padding may lie behind the last pixel that may be read.
          const int32_t weight = Join(&weights.weights[x * weights.pairs], tap);
          if (weight != 0) sum += int64_t{weight} * *from;
        }
        *to++ = RoundToByte(sum);
      }
    }
  }
}

void FilterRowsScalar(std::span<const uint8_t* const> rows, const SplitPair* weights, size_t bytes, uint8_t* out) {
  for (size_t i = 0; i < bytes; ++i) {
    int64_t sum = 0;
    for (size_t tap = 0; tap < rows.size(); ++tap) {
      sum += int64_t{Join(weights, static_cast<int32_t>(tap))} * rows[tap][i];
    }
    out[i] = RoundToByte(sum);
  }
}

}  // namespace stoker

#include <algorithm>
#include <array>
#include <bit>

#include "decode/jpeg/reconstruction_scalar.h"

namespace stoker {
namespace {

// The accurate integer transform of Loeffler, Ligtenberg and Moschytz with 13-bit constants, as libjpeg has it: a pass
// over the columns that keeps two bits of fraction, then one over the rows that also takes away the factor 8.
constexpr int kConstantBits = 13;
constexpr int kFractionBits = 2;
constexpr int kCenter = 128;

constexpr int64_t Fixed(double value) { return static_cast<int64_t>(value * (1 << kConstantBits) + 0.5); }
int64_t Rounded(int64_t value, int bits) { return (value + (int64_t{1} << (bits - 1))) >> bits; }
uint8_t Sample(int64_t value) { return static_cast<uint8_t>(std::clamp<int64_t>(value + kCenter, 0, 255)); }

using Eight = std::array<int64_t, kBlockSize>;

// One pass over eight values, its results with kConstantBits more bits.
Eight Transformed(const Eight& in) {
  const int64_t z1 = (in[2] + in[6]) * Fixed(0.541196100);
  const int64_t even2 = z1 - in[6] * Fixed(1.847759065);
  const int64_t even3 = z1 + in[2] * Fixed(0.765366865);
  const int64_t even0 = (in[0] + in[4]) << kConstantBits;
  const int64_t even1 = (in[0] - in[4]) << kConstantBits;
  const std::array<int64_t, 4> even = {even0 + even3, even1 + even2, even1 - even2, even0 - even3};

  const int64_t z5 = (in[7] + in[3] + in[5] + in[1]) * Fixed(1.175875602);
  const int64_t z3 = z5 - (in[7] + in[3]) * Fixed(1.961570560);
  const int64_t z4 = z5 - (in[5] + in[1]) * Fixed(0.390180644);
  const int64_t z71 = -(in[7] + in[1]) * Fixed(0.899976223);
  const int64_t z53 = -(in[5] + in[3]) * Fixed(2.562915447);
  const std::array<int64_t, 4> odd = {in[1] * Fixed(1.501321110) + z71 + z4, in[3] * Fixed(3.072711026) + z53 + z3,
                                      in[5] * Fixed(2.053119869) + z53 + z4, in[7] * Fixed(0.298631336) + z71 + z3};
  Eight out;
  for (size_t i = 0; i < 4; ++i) {
    out[i] = even[i] + odd[i];
    out[7 - i] = even[i] - odd[i];
  }
  return out;
}

// The same for half size: four results, with one bit more still.
std::array<int64_t, 4> HalfTransformed(const Eight& in) {
  const int64_t even0 = in[0] << (kConstantBits + 1);
  const int64_t even2 = in[2] * Fixed(1.847759065) - in[6] * Fixed(0.765366865);
  const int64_t odd0 = -in[7] * Fixed(0.211164243) + in[5] * Fixed(1.451774981) - in[3] * Fixed(2.172734803) +
                       in[1] * Fixed(1.061594337);
  const int64_t odd2 = -in[7] * Fixed(0.509795579) - in[5] * Fixed(0.601344887) + in[3] * Fixed(0.899976223) +
                       in[1] * Fixed(2.562915447);
  return {even0 + even2 + odd2, even0 - even2 + odd0, even0 - even2 - odd0, even0 + even2 - odd2};
}

using Block = std::array<int16_t, kBlockCoefficients>;

Block Dequantized(const CoefficientBlock& block, const Quantizers& quantizers) {
  Block values{};
  values[0] = static_cast<int16_t>(block.dc * quantizers.natural[0]);
  const int16_t* value = block.values;
  for (uint64_t mask = block.mask; mask != 0; mask &= mask - 1) {
    const size_t place = kZigzagPlaces[static_cast<size_t>(std::countr_zero(mask))];
    values[place] = static_cast<int16_t>(*value++ * quantizers.natural[place]);
  }
  return values;
}

// Both passes. `kSize` results of eight values each; false where the first pass leaves what 16 bits may not hold.
template <size_t kSize, auto kPass>
bool TransformBlock(const Block& block, uint8_t* samples, size_t stride_bytes) {
  constexpr int kMoreBits = kSize == kBlockSize ? 0 : 1;
  std::array<Eight, kSize> columns;
  for (size_t x = 0; x < kBlockSize; ++x) {
    Eight column;
    for (size_t y = 0; y < kBlockSize; ++y) column[y] = block[y * kBlockSize + x];
    const auto sums = kPass(column);
    for (size_t y = 0; y < kSize; ++y) {
      const int64_t sum = Rounded(sums[y], kConstantBits - kFractionBits + kMoreBits);
      if (sum > kMaxColumnSum || sum < -kMaxColumnSum - 1) return false;
      columns[y][x] = sum;
    }
  }
  for (size_t y = 0; y < kSize; ++y, samples += stride_bytes) {
    const auto sums = kPass(columns[y]);
    for (size_t x = 0; x < kSize; ++x) {
      samples[x] = Sample(Rounded(sums[x], kConstantBits + kFractionBits + 3 + kMoreBits));
    }
  }
  return true;
}

}  // namespace

bool TransformScalar(const CoefficientBlock* blocks, size_t count, const Quantizers& quantizers, uint8_t* samples,
                     size_t stride_bytes) {
  for (size_t i = 0; i < count; ++i, samples += kBlockSize) {
    const Block block = Dequantized(blocks[i], quantizers);
    if (!TransformBlock<kBlockSize, Transformed>(block, samples, stride_bytes)) return false;
  }
  return true;
}

bool HalfTransformScalar(const CoefficientBlock* blocks, size_t count, const Quantizers& quantizers, uint8_t* samples,
                         size_t stride_bytes) {
  for (size_t i = 0; i < count; ++i, samples += kBlockSize / 2) {
    const Block block = Dequantized(blocks[i], quantizers);
    if (!TransformBlock<kBlockSize / 2, HalfTransformed>(block, samples, stride_bytes)) return false;
  }
  return true;
}

}  // namespace stoker

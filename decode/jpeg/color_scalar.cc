#include <algorithm>

#include "decode/jpeg/reconstruction_scalar.h"

namespace stoker {
namespace {

constexpr int kCenter = 128;
constexpr int kFractionBits = 16;
constexpr int kHalf = 1 << (kFractionBits - 1);

constexpr int Fixed(double value) { return static_cast<int>(value * (1 << kFractionBits) + 0.5); }
uint8_t Clamped(int value) { return static_cast<uint8_t>(std::clamp(value, 0, 255)); }

// Of JFIF, rounded as libjpeg does: red and blue one by one, the two terms of green together.
void ToRgb(int y, int cb, int cr, uint8_t* rgb) {
  cb -= kCenter;
  cr -= kCenter;
  rgb[0] = Clamped(y + ((Fixed(1.40200) * cr + kHalf) >> kFractionBits));
  rgb[1] = Clamped(y + ((-Fixed(0.34414) * cb - Fixed(0.71414) * cr + kHalf) >> kFractionBits));
  rgb[2] = Clamped(y + ((Fixed(1.77200) * cb + kHalf) >> kFractionBits));
}

}  // namespace

void SumRowsScalar(const uint8_t* near_row, const uint8_t* far_row, size_t count, uint16_t* sums) {
  for (size_t i = 0; i < count; ++i) sums[i] = static_cast<uint16_t>(3 * near_row[i] + far_row[i]);
}

void MixRowsScalar(const uint8_t* near_row, const uint8_t* far_row, int bias, size_t count, uint8_t* mixed) {
  for (size_t i = 0; i < count; ++i) mixed[i] = static_cast<uint8_t>((3 * near_row[i] + far_row[i] + bias) >> 2);
}

void ColorScalar(const uint8_t* y, const uint8_t* cb, const uint8_t* cr, size_t width, uint8_t* rgb) {
  for (size_t x = 0; x < width; ++x) ToRgb(y[x], cb[x], cr[x], rgb + 3 * x);
}

void ColorDoubledScalar(const uint8_t* y, const uint16_t* cb, const uint16_t* cr, const Taps& taps, size_t width,
                        uint8_t* rgb) {
  for (size_t x = 0; x < width; ++x) {
    const Taps::Pixel& tap = taps.pixel[x % 2];
    const ptrdiff_t at = static_cast<ptrdiff_t>(x / 2);
    const auto mixed = [&tap, at](const uint16_t* sums) {
      return (3 * sums[at + tap.near_offset] + sums[at + tap.far_offset] + tap.bias) >> 4;
    };
    ToRgb(y[x], mixed(cb), mixed(cr), rgb + 3 * x);
  }
}

void GrayScalar(const uint8_t* y, size_t width, uint8_t* rgb) {
  for (size_t x = 0; x < width; ++x) std::fill_n(rgb + 3 * x, 3, y[x]);
}

}  // namespace stoker

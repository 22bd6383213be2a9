// The scalar twins of the finishing kernels: what they must equal, byte for byte.
#include <cstring>

#include "augment/finish_kernels.h"

namespace stoker {

void ConvertRowScalar(const RowFormula& formula, const uint8_t* values, size_t count, std::byte* out) {
  size_t channel = 0;
  for (size_t i = 0; i < count; ++i) {
    const uint32_t bits = formula.tables[channel]->bits[values[i]];
    if (formula.element == ElementType::kFloat32) {
      std::memcpy(out + 4 * i, &bits, 4);
    } else {
      const auto half = static_cast<uint16_t>(bits);
      std::memcpy(out + 2 * i, &half, 2);
    }
    if (++channel == formula.period) channel = 0;
  }
}

void SplitRowScalar(const uint8_t* row, size_t width, bool reverse, const std::array<uint8_t*, 3>& planes) {
  for (size_t x = 0; x < width; ++x) {
    const uint8_t* pixel = row + 3 * (reverse ? width - 1 - x : x);
    for (size_t c = 0; c < 3; ++c) planes[c][x] = pixel[c];
  }
}

void ReverseRowScalar(const uint8_t* row, size_t width, size_t channels, uint8_t* out) {
  for (size_t x = 0; x < width; ++x) {
    const uint8_t* pixel = row + channels * (width - 1 - x);
    for (size_t c = 0; c < channels; ++c) *out++ = pixel[c];
  }
}

}  // namespace stoker

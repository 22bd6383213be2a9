// The scalar twins of the finishing kernels: what they must equal, byte for byte.
#include <array>
#include <cstring>

#include "augment/finish_kernels.h"

namespace stoker {

namespace {

template <class Element, size_t kPeriod>
void ConvertRowT(const RowFormula& formula, const uint8_t* values, size_t count, std::byte* out) {
  // Copies, because for all the compiler knows the elements that are written may lie in `formula`.
  std::array<const uint32_t*, kPeriod> tables;
  for (size_t c = 0; c < kPeriod; ++c) tables[c] = formula.tables[c]->bits.data();
  for (size_t i = 0; i < count; i += kPeriod) {
    for (size_t c = 0; c < kPeriod; ++c) {
      const auto element = static_cast<Element>(tables[c][values[i + c]]);
      std::memcpy(out + (i + c) * sizeof(Element), &element, sizeof(Element));
    }
  }
}

template <class Element>
void ConvertPeriods(const RowFormula& formula, const uint8_t* values, size_t count, std::byte* out) {
  if (formula.period == 1) return ConvertRowT<Element, 1>(formula, values, count, out);
  ConvertRowT<Element, 3>(formula, values, count, out);
}

template <size_t kChannels>
void ReverseRowT(const uint8_t* row, size_t width, uint8_t* out) {
  for (size_t x = 0; x < width; ++x) {
    std::memcpy(out + kChannels * x, row + kChannels * (width - 1 - x), kChannels);
  }
}

}  // namespace

void ConvertRowScalar(const RowFormula& formula, const uint8_t* values, size_t count, std::byte* out) {
  if (formula.element == ElementType::kFloat32) return ConvertPeriods<uint32_t>(formula, values, count, out);
  ConvertPeriods<uint16_t>(formula, values, count, out);
}

void SplitRowScalar(const uint8_t* row, size_t width, bool reverse, const std::array<uint8_t*, 3>& planes) {
  for (size_t x = 0; x < width; ++x) {
    const uint8_t* pixel = row + 3 * (reverse ? width - 1 - x : x);
    for (size_t c = 0; c < 3; ++c) planes[c][x] = pixel[c];
  }
}

void ReverseRowScalar(const uint8_t* row, size_t width, size_t channels, uint8_t* out) {
  if (channels == 1) return ReverseRowT<1>(row, width, out);
  ReverseRowT<3>(row, width, out);
}

}  // namespace stoker

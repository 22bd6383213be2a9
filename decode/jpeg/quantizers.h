// The order of coefficients in a block, and quantization tables as the kernels of the reconstruction read them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "decode/jpeg/frame.h"

namespace stoker {

// The place (8 * row + column) of the coefficient that comes k-th in a file.
inline constexpr std::array<uint8_t, kBlockCoefficients> kZigzagPlaces = {
    0,  1,  8,  16, 9,  2,  3,  10, 17, 24, 32, 25, 18, 11, 4,  5,   //
    12, 19, 26, 33, 40, 48, 41, 34, 27, 20, 13, 6,  7,  14, 21, 28,  //
    35, 42, 49, 56, 57, 50, 43, 36, 29, 22, 15, 23, 30, 37, 44, 51,  //
    58, 59, 52, 45, 38, 31, 39, 46, 53, 60, 61, 54, 47, 55, 62, 63};

// The inverse transform multiplies pairs of coefficients of a column, so the vector kernels keep pairs of rows beside
// each other: eight times eight words, the words of each eight being of one pair of rows in four columns. The columns
// come in such an order that the first pass leaves the pairs of the second.
inline constexpr std::array<std::array<uint8_t, 2>, 4> kRowPairs = {{{0, 4}, {2, 6}, {7, 1}, {3, 5}}};
inline constexpr std::array<uint8_t, kBlockSize> kColumnOrder = {0, 4, 2, 6, 7, 1, 3, 5};

// Where only the first four rows and columns hold anything: twice eight words, of rows 0 and 2 and of rows 1 and 3.
inline constexpr size_t kCornerCoefficients = 16;
inline constexpr std::array<uint8_t, 4> kCornerColumnOrder = {0, 2, 1, 3};

// The place of each word in the two orders.
constexpr std::array<uint8_t, kBlockCoefficients> MakePairedPlaces() {
  std::array<uint8_t, kBlockCoefficients> places{};
  for (size_t i = 0; i < places.size(); ++i) {
    const size_t row = kRowPairs[i / 16][i % 2];
    places[i] = static_cast<uint8_t>(row * kBlockSize + kColumnOrder[i % 16 / 2]);
  }
  return places;
}
constexpr std::array<uint8_t, kCornerCoefficients> MakeCornerPlaces() {
  std::array<uint8_t, kCornerCoefficients> places{};
  for (size_t i = 0; i < places.size(); ++i) {
    const size_t row = i / 8 + 2 * (i % 2);
    places[i] = static_cast<uint8_t>(row * kBlockSize + kCornerColumnOrder[i % 8 / 2]);
  }
  return places;
}
inline constexpr std::array<uint8_t, kBlockCoefficients> kPairedPlaces = MakePairedPlaces();
inline constexpr std::array<uint8_t, kCornerCoefficients> kCornerPlaces = MakeCornerPlaces();

// The zigzag places of the first four rows and columns, as CoefficientBlock's mask counts them.
constexpr uint64_t MakeCornerMask() {
  uint64_t mask = 0;
  for (size_t k = 0; k < kZigzagPlaces.size(); ++k) {
    if (kZigzagPlaces[k] / kBlockSize < 4 && kZigzagPlaces[k] % kBlockSize < 4) mask |= uint64_t{1} << k;
  }
  return mask;
}
inline constexpr uint64_t kCornerMask = MakeCornerMask();

// One component's quantization table. Products wrap at 16 bits, as those of libjpeg-turbo's vector code do.
struct Quantizers {
  alignas(64) std::array<int16_t, kBlockCoefficients> natural{};
  alignas(64) std::array<int16_t, kBlockCoefficients> paired{};
  alignas(64) std::array<int16_t, kCornerCoefficients> corner{};

  void Assign(const std::array<uint16_t, kBlockCoefficients>& table) noexcept {
    for (size_t i = 0; i < natural.size(); ++i) natural[i] = static_cast<int16_t>(table[i]);
    for (size_t i = 0; i < paired.size(); ++i) paired[i] = natural[kPairedPlaces[i]];
    for (size_t i = 0; i < corner.size(); ++i) corner[i] = natural[kCornerPlaces[i]];
  }
};

}  // namespace stoker

// The inner loops of finishing: a row of bytes -> normalised elements in the batch's type and layout.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "augment/spec.h"

namespace stoker {

// (v / 255 - mean) / std for every value v of a byte, in float32 with each of the three operations rounded, as
// torchvision's ToTensor and Normalize compute it; then rounded to nearest even where the element is smaller.
struct ChannelTable {
  std::array<uint32_t, 256> bits;  // of the element, in the low bits
};

// How a run of samples is converted. The samples belong to `period` channels in turn.
struct RowFormula {
  static constexpr size_t kMaxLanes = 16;
  using Pattern = std::array<float, kMaxLanes + 3>;  // one value a sample, so a vector may begin at any channel

  ElementType element = ElementType::kFloat32;
  size_t period = 1;
  std::array<const ChannelTable*, 3> tables = {};
  // The same formula for vectors. `multiply`: 1 / std is split into two floats whose product with the difference,
  // summed with one fused rounding, equals the division for all 256 values (checked when it was made).
  bool multiply = false;
  // Vectors go to memory past the caches, where they are whole and aligned: EndStream comes before another thread
  // reads.
  bool stream = false;
  alignas(64) Pattern mean = {};
  alignas(64) Pattern std = {};
  alignas(64) Pattern inverse = {};
  alignas(64) Pattern inverse_rest = {};
};

// Converts `count` bytes, whole pixels of the formula's channels. Every target and the scalar twin write the same
// bytes. For the float elements; uint8 needs no conversion.
void ConvertRow(const RowFormula& formula, const uint8_t* values, size_t count, std::byte* out);
void ConvertRowScalar(const RowFormula& formula, const uint8_t* values, size_t count, std::byte* out);
// What was streamed is seen by whoever sees what this thread writes next.
void EndStream();

// Three interleaved channels -> a plane each, from right to left where `reverse`.
void SplitRow(const uint8_t* row, size_t width, bool reverse, const std::array<uint8_t*, 3>& planes);
void SplitRowScalar(const uint8_t* row, size_t width, bool reverse, const std::array<uint8_t*, 3>& planes);

// The same pixels from right to left.
void ReverseRow(const uint8_t* row, size_t width, size_t channels, uint8_t* out);
void ReverseRowScalar(const uint8_t* row, size_t width, size_t channels, uint8_t* out);

// 1 / 255 as the sum of two floats: v * kInverse255 + v * kInverse255Rest with one fused rounding is v / 255 rounded,
// for every byte v.
inline constexpr float kInverse255 = static_cast<float>(1.0 / 255);
inline constexpr float kInverse255Rest = static_cast<float>(1.0 / 255 - kInverse255);

}  // namespace stoker

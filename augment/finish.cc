#include "augment/finish.h"

#include <bit>
#include <cmath>
#include <cstring>

namespace stoker {

namespace {

float Normalized(int value, float mean, float std) { return (static_cast<float>(value) / 255.0f - mean) / std; }

// What the vector kernels compute with `multiply`.
float Multiplied(int value, float mean, const Reciprocal& by) {
  const auto v = static_cast<float>(value);
  const float centered = std::fma(v, kInverse255, v * kInverse255Rest) - mean;
  return std::fma(centered, by.inverse, centered * by.inverse_rest);
}

uint32_t ElementBits(float value, ElementType element) {
  switch (element) {
    case ElementType::kFloat16:
      return HalfBits(value);
    case ElementType::kBfloat16:
      return Bfloat16Bits(value);
    case ElementType::kUint8:
    case ElementType::kFloat32:
      break;
  }
  return std::bit_cast<uint32_t>(value);
}

ChannelTable MakeTable(float mean, float std, ElementType element) {
  ChannelTable table;
  for (int v = 0; v < 256; ++v) table.bits[static_cast<size_t>(v)] = ElementBits(Normalized(v, mean, std), element);
  return table;
}

// A batch is larger than the caches and read later, by somebody else: its lines need not be read to be written. Under
// this size of a sample nothing was gained.
bool Streams(const SampleSpec& spec) {
  constexpr size_t kMinBytes = size_t{128} << 10;
  return spec.element != ElementType::kUint8 && spec.bytes() >= kMinBytes;
}

// The formula of channels [first, first + period) in turn.
RowFormula MakeFormula(const SampleSpec& spec, const std::array<ChannelTable, 3>& tables, size_t first, size_t period) {
  RowFormula formula;
  formula.element = spec.element;
  formula.period = period;
  formula.stream = Streams(spec);
  formula.multiply = true;
  for (size_t c = 0; c < period; ++c) {
    formula.tables[c] = &tables[first + c];
    const float mean = spec.mean[first + c];
    const float std = spec.std[first + c];
    const Reciprocal reciprocal = ReciprocalOf(mean, std);
    formula.multiply = formula.multiply && reciprocal.exact;
    for (size_t i = c; i < formula.mean.size(); i += period) {
      formula.mean[i] = mean;
      formula.std[i] = std;
      formula.inverse[i] = reciprocal.inverse;
      formula.inverse_rest[i] = reciprocal.inverse_rest;
    }
  }
  return formula;
}

}  // namespace

Reciprocal ReciprocalOf(float mean, float std) noexcept {
  Reciprocal reciprocal;
  reciprocal.inverse = static_cast<float>(1.0 / std);
  reciprocal.inverse_rest = static_cast<float>(1.0 / std - reciprocal.inverse);
  reciprocal.exact = true;
  for (int v = 0; v < 256 && reciprocal.exact; ++v) {
    reciprocal.exact =
        std::bit_cast<uint32_t>(Multiplied(v, mean, reciprocal)) == std::bit_cast<uint32_t>(Normalized(v, mean, std));
  }
  return reciprocal;
}

uint16_t HalfBits(float value) noexcept {
  const auto bits = std::bit_cast<uint32_t>(value);
  const uint32_t sign = bits >> 16 & 0x8000u;
  const float magnitude = std::fabs(value);
  if (std::isnan(value)) return static_cast<uint16_t>(sign | 0x7e00u);
  if (magnitude >= 65520.0f) return static_cast<uint16_t>(sign | 0x7c00u);  // halfway between the largest and 65536
  if (magnitude < 0x1p-14f) {
    // Subnormal: whole multiples of 2^-24, rounded as the float adder rounds (a carry gives the smallest normal).
    return static_cast<uint16_t>(sign | static_cast<uint32_t>(std::nearbyint(magnitude * 0x1p24f)));
  }
  const uint32_t rest = std::bit_cast<uint32_t>(magnitude) - (112u << 23);  // exponent bias 127 -> 15
  const uint32_t last = rest >> 13 & 1u;
  return static_cast<uint16_t>(sign | (rest + 0xfffu + last) >> 13);
}

uint16_t Bfloat16Bits(float value) noexcept {
  const auto bits = std::bit_cast<uint32_t>(value);
  return static_cast<uint16_t>((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}

Finisher::Finisher(const SampleSpec& spec) : spec_(spec) {
  for (size_t c = 0; c < 3; ++c) tables_[c] = MakeTable(spec.mean[c], spec.std[c], spec.element);
  if (spec.channels == 3 && spec.layout == Layout::kNhwc) {
    formulas_[0] = MakeFormula(spec, tables_, 0, 3);
  } else {
    for (size_t c = 0; c < 3; ++c) formulas_[c] = MakeFormula(spec, tables_, c, 1);
  }
  planes_.Reserve(static_cast<size_t>(spec.size.width) * static_cast<size_t>(spec.channels));
}

void Finisher::WriteRun(size_t channel, const uint8_t* values, size_t count, std::byte* out) const {
  if (spec_.element == ElementType::kUint8) {
    std::memcpy(out, values, count);
  } else {
    ConvertRow(formulas_[channel], values, count, out);
  }
}

void Finisher::End() const {
  if (formulas_[0].stream) EndStream();
}

void Finisher::WriteRow(const uint8_t* row, bool reverse, int32_t y, std::byte* out) {
  const auto width = static_cast<size_t>(spec_.size.width);
  const auto channels = static_cast<size_t>(spec_.channels);
  const size_t element_bytes = ElementBytes(spec_.element);
  if (channels == 3 && spec_.layout == Layout::kNchw) {
    uint8_t* planes = planes_.data();
    SplitRow(row, width, reverse, {planes, planes + width, planes + 2 * width});
    const size_t plane_bytes = width * static_cast<size_t>(spec_.size.height) * element_bytes;
    std::byte* to = out + static_cast<size_t>(y) * width * element_bytes;
    for (size_t c = 0; c < 3; ++c) WriteRun(c, planes + c * width, width, to + c * plane_bytes);
    return;
  }
  if (reverse) {
    ReverseRow(row, width, channels, planes_.data());
    row = planes_.data();
  }
  const size_t samples = width * channels;
  WriteRun(0, row, samples, out + static_cast<size_t>(y) * samples * element_bytes);
}

}  // namespace stoker

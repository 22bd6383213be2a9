#include "augment/pixel_ops.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace stoker {

namespace {

using ValueTable = std::array<uint8_t, 256>;

// Image.blend: single precision, cut off. Its clipping, outside of [0, 1] only, changes nothing inside.
uint8_t Blend(int from, int to, float alpha) {
  const float value = static_cast<float>(from) + alpha * static_cast<float>(to - from);
  return static_cast<uint8_t>(static_cast<int>(std::min(std::max(value, 0.0f), 255.0f)));
}

void BlendWithConstant(int constant, float alpha, size_t count, uint8_t* samples) {
  ValueTable table;
  for (int v = 0; v < 256; ++v) table[static_cast<size_t>(v)] = Blend(constant, v, alpha);
  for (size_t i = 0; i < count; ++i) samples[i] = table[samples[i]];
}

uint8_t LumaAt(const uint8_t* pixel) { return Luma(pixel[0], pixel[1], pixel[2]); }

int MeanLuma(const uint8_t* samples, int32_t channels, size_t pixels) {
  uint64_t sum = 0;
  for (size_t i = 0; i < pixels; ++i) sum += channels == 3 ? LumaAt(samples + 3 * i) : samples[i];
  return static_cast<int>(static_cast<double>(sum) / static_cast<double>(pixels) + 0.5);
}

// Pillow's RGB -> HSV, which mixes single and double precision.
uint8_t HueOf(int r, int g, int b, int max, int min) {
  const auto range = static_cast<float>(max - min);
  const float rc = static_cast<float>(max - r) / range;
  const float gc = static_cast<float>(max - g) / range;
  const float bc = static_cast<float>(max - b) / range;
  float hue = 0;
  if (r == max) {
    hue = bc - gc;
  } else if (g == max) {
    hue = static_cast<float>(2.0 + rc - bc);
  } else {
    hue = static_cast<float>(4.0 + gc - rc);
  }
  const double turns = hue / 6.0 + 1.0;
  hue = static_cast<float>(turns >= 1.0 ? turns - 1.0 : turns);
  return static_cast<uint8_t>(hue * 255.0);
}

// What Pillow's HSV -> RGB needs of a hue.
struct Sector {
  int number = 0;      // 0 to 5
  float fraction = 0;  // how far into it
};

std::array<Sector, 256> MakeSectors(uint8_t shift) {
  std::array<Sector, 256> sectors;
  for (int v = 0; v < 256; ++v) {
    const double position = static_cast<float>(static_cast<uint8_t>(v + shift)) * 6.0 / 255.0;
    const double number = std::floor(position);
    sectors[static_cast<size_t>(v)] = {static_cast<int>(number) % 6, static_cast<float>(position - number)};
  }
  return sectors;
}

// C's round, for what is not negative.
uint8_t Round(double value) { return static_cast<uint8_t>(value + 0.5); }

void ShiftHue(double turns, size_t pixels, uint8_t* samples) {
  const std::array<Sector, 256> sectors = MakeSectors(static_cast<uint8_t>(static_cast<int32_t>(turns * 255)));
  for (uint8_t* end = samples + 3 * pixels; samples < end; samples += 3) {
    const int r = samples[0];
    const int g = samples[1];
    const int b = samples[2];
    const int max = std::max({r, g, b});
    const int min = std::min({r, g, b});
    if (max == min) continue;
    const float relative = static_cast<float>(max - min) / static_cast<float>(max);
    const auto s = static_cast<uint8_t>(relative * 255.0);
    const auto v = static_cast<uint8_t>(max);
    if (s == 0) {
      samples[0] = samples[1] = samples[2] = v;
      continue;
    }
    const Sector& sector = sectors[HueOf(r, g, b, max, min)];
    const auto saturation = static_cast<float>(static_cast<float>(s) / 255.0);
    const float f = sector.fraction;
    const uint8_t p = Round(v * (1.0 - saturation));
    const uint8_t q = Round(v * (1.0 - saturation * f));
    const uint8_t t = Round(v * (1.0 - saturation * (1.0 - f)));
    const std::array<uint8_t, 4> values = {v, p, q, t};
    static constexpr std::array<std::array<uint8_t, 3>, 6> kOrders = {
        {{0, 3, 1}, {2, 0, 1}, {1, 0, 3}, {1, 2, 0}, {3, 1, 0}, {0, 1, 2}}};
    const auto& order = kOrders[static_cast<size_t>(sector.number)];
    for (size_t c = 0; c < 3; ++c) samples[c] = values[order[c]];
  }
}

template <int kFrom, int kTo>
void ToGrayOf(const uint8_t* row, size_t pixels, uint8_t* out) {
  for (size_t i = 0; i < pixels; ++i) {
    const uint8_t gray = kFrom == 3 ? LumaAt(row + kFrom * i) : row[i];
    for (size_t c = 0; c < kTo; ++c) out[kTo * i + c] = gray;
  }
}

void Saturate(float alpha, size_t pixels, uint8_t* samples) {
  for (uint8_t* end = samples + 3 * pixels; samples < end; samples += 3) {
    const int gray = LumaAt(samples);
    for (size_t c = 0; c < 3; ++c) samples[c] = Blend(gray, samples[c], alpha);
  }
}

}  // namespace

void ToGray(const uint8_t* row, size_t pixels, int32_t from, int32_t to, uint8_t* out) {
  if (from == 3) {
    to == 3 ? ToGrayOf<3, 3>(row, pixels, out) : ToGrayOf<3, 1>(row, pixels, out);
  } else {
    to == 3 ? ToGrayOf<1, 3>(row, pixels, out) : ToGrayOf<1, 1>(row, pixels, out);
  }
}

void Adjust(const ColorStep& step, int32_t channels, size_t pixels, uint8_t* samples) {
  const size_t count = pixels * static_cast<size_t>(channels);
  const auto alpha = static_cast<float>(step.factor);
  switch (step.op) {
    case ColorOp::kBrightness:
      return BlendWithConstant(0, alpha, count, samples);
    case ColorOp::kContrast:
      return BlendWithConstant(MeanLuma(samples, channels, pixels), alpha, count, samples);
    case ColorOp::kSaturation:
      if (channels == 3) Saturate(alpha, pixels, samples);
      return;
    case ColorOp::kHue:
      if (channels == 3) ShiftHue(step.factor, pixels, samples);
      return;
  }
}

}  // namespace stoker

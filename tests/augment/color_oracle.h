// Pillow's colour arithmetic as its C code has it, one pixel at a time.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "augment/plan.h"
#include "tests/augment/oracle.h"

namespace stoker::oracle {

struct Pixel {
  int a = 0, b = 0, c = 0;  // R, G, B or H, S, V
  friend bool operator==(const Pixel&, const Pixel&) = default;
};

inline Pixel PixelAt(const Picture& picture, int32_t x, int32_t y) {
  const uint8_t* p = &picture.pixels[picture.At(x, y, 0)];
  return picture.channels == 3 ? Pixel{p[0], p[1], p[2]} : Pixel{p[0], p[0], p[0]};
}

inline int Gray(Pixel p) { return (p.a * 19595 + p.b * 38470 + p.c * 7471 + 0x8000) / 65536; }

inline Picture Grayed(const Picture& from, int32_t channels) {
  Picture to(from.width, from.height, channels);
  for (int32_t y = 0; y < from.height; ++y) {
    for (int32_t x = 0; x < from.width; ++x) {
      for (int32_t c = 0; c < channels; ++c) {
        to.pixels[to.At(x, y, c)] = static_cast<uint8_t>(Gray(PixelAt(from, x, y)));
      }
    }
  }
  return to;
}

inline int Clip8(int value) { return std::clamp(value, 0, 255); }

// rgb2hsv and hsv2rgb of Pillow's Convert.c, with its fmod, floor, round and mixed precision.
inline Pixel ToHsv(Pixel p) {
  const int max = std::max({p.a, p.b, p.c}), min = std::min({p.a, p.b, p.c});
  if (max == min) return {0, 0, max};
  const auto cr = static_cast<float>(max - min);
  const float s = cr / static_cast<float>(max);
  const float rc = static_cast<float>(max - p.a) / cr;
  const float gc = static_cast<float>(max - p.b) / cr;
  const float bc = static_cast<float>(max - p.c) / cr;
  auto h = static_cast<float>(p.a == max ? bc - gc : p.b == max ? 2.0 + rc - bc : 4.0 + gc - rc);
  h = static_cast<float>(std::fmod(h / 6.0 + 1.0, 1.0));
  return {Clip8(static_cast<int>(h * 255.0)), Clip8(static_cast<int>(s * 255.0)), max};
}

inline Pixel ToRgb(Pixel p) {
  if (p.b == 0) return {p.c, p.c, p.c};
  const auto i = static_cast<int>(std::floor(static_cast<float>(p.a) * 6.0 / 255.0));
  const auto f = static_cast<float>(static_cast<float>(p.a) * 6.0 / 255.0 - static_cast<float>(i));
  const auto fs = static_cast<float>(static_cast<float>(p.b) / 255.0);
  const auto v = static_cast<float>(p.c);
  const int low = Clip8(static_cast<int>(std::round(v * (1.0 - fs))));
  const int falling = Clip8(static_cast<int>(std::round(v * (1.0 - fs * f))));
  const int rising = Clip8(static_cast<int>(std::round(v * (1.0 - fs * (1.0 - f)))));
  switch (i % 6) {
    case 0:
      return {p.c, rising, low};
    case 1:
      return {falling, p.c, low};
    case 2:
      return {low, p.c, rising};
    case 3:
      return {low, falling, p.c};
    case 4:
      return {rising, low, p.c};
    default:
      return {p.c, low, falling};
  }
}

// Image.blend of one value.
inline uint8_t Blended(int from, int to, float alpha) {
  if (alpha == 0.0f) return static_cast<uint8_t>(from);
  if (alpha == 1.0f) return static_cast<uint8_t>(to);
  const float value = static_cast<float>(from) + alpha * static_cast<float>(to - from);
  return static_cast<uint8_t>(value <= 0.0f ? 0 : value >= 255.0f ? 255 : static_cast<int>(value));
}

// torchvision's adjust_brightness, adjust_contrast, adjust_saturation and adjust_hue of a Pillow image.
inline Picture Adjusted(const Picture& from, const ColorStep& step) {
  Picture to = from;
  double sum = 0;
  for (int32_t y = 0; y < from.height; ++y) {
    for (int32_t x = 0; x < from.width; ++x) sum += Gray(PixelAt(from, x, y));
  }
  const auto mean = static_cast<int>(sum / (static_cast<double>(from.width) * from.height) + 0.5);
  for (int32_t y = 0; y < from.height; ++y) {
    for (int32_t x = 0; x < from.width; ++x) {
      const Pixel pixel = PixelAt(from, x, y);
      Pixel hsv = ToHsv(pixel);
      if (step.op == ColorOp::kHue) hsv.a = (hsv.a + 256 + static_cast<int>(step.factor * 255)) % 256;
      const Pixel turned = ToRgb(hsv);
      for (int32_t c = 0; c < from.channels; ++c) {
        uint8_t& value = to.pixels[to.At(x, y, c)];
        const int constant = step.op == ColorOp::kBrightness ? 0 : step.op == ColorOp::kContrast ? mean : Gray(pixel);
        if (step.op != ColorOp::kHue) {
          value = Blended(constant, value, static_cast<float>(step.factor));
        } else if (from.channels == 3) {
          value = static_cast<uint8_t>(c == 0 ? turned.a : c == 1 ? turned.b : turned.c);
        }
      }
    }
  }
  return to;
}

}  // namespace stoker::oracle

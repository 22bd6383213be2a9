// Slow, plain versions of what augment/ does to a whole picture: what the fast paths must equal. The resampling repeats
// Pillow's algorithm in double precision with nothing shared or rearranged.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "augment/recipe.h"
#include "decode/image.h"

namespace stoker::oracle {

struct Picture {
  int32_t width = 0;
  int32_t height = 0;
  int32_t channels = 3;
  std::vector<uint8_t> pixels;

  Picture(int32_t w, int32_t h, int32_t c)
      : width(w), height(h), channels(c), pixels(static_cast<size_t>(w) * static_cast<size_t>(h * c)) {}
  size_t At(int32_t x, int32_t y, int32_t c) const {
    return (static_cast<size_t>(y) * static_cast<size_t>(width) + static_cast<size_t>(x)) *
               static_cast<size_t>(channels) +
           static_cast<size_t>(c);
  }
};

// Noise with runs of the extreme values, which make bicubic overshoot.
inline Picture RandomPicture(int32_t width, int32_t height, int32_t channels, uint32_t seed) {
  std::mt19937 generator(seed);
  Picture picture(width, height, channels);
  for (uint8_t& value : picture.pixels) {
    const uint32_t bits = generator();
    value = bits % 4 == 0 ? 0 : bits % 4 == 1 ? 255 : static_cast<uint8_t>(bits >> 8);
  }
  return picture;
}

// An Image with room behind it for the kernels' reads.
inline void CopyTo(const Picture& picture, Image& image) {
  ASSERT_TRUE(image.Reset({picture.width, picture.height}, picture.channels));
  for (int32_t y = 0; y < picture.height; ++y) {
    std::copy_n(&picture.pixels[picture.At(0, y, 0)], picture.width * picture.channels, image.row(y));
  }
}

inline Picture Crop(const Picture& from, const Rect& rect) {
  Picture to(rect.width, rect.height, from.channels);
  for (int32_t y = 0; y < rect.height; ++y) {
    for (int32_t x = 0; x < rect.width; ++x) {
      const int32_t sx = rect.x + x;
      const int32_t sy = rect.y + y;
      if (sx < 0 || sy < 0 || sx >= from.width || sy >= from.height) continue;
      for (int32_t c = 0; c < from.channels; ++c) to.pixels[to.At(x, y, c)] = from.pixels[from.At(sx, sy, c)];
    }
  }
  return to;
}

inline Picture Flip(const Picture& from, bool horizontal) {
  Picture to = from;
  for (int32_t y = 0; y < from.height; ++y) {
    for (int32_t x = 0; x < from.width; ++x) {
      for (int32_t c = 0; c < from.channels; ++c) {
        to.pixels[to.At(x, y, c)] = horizontal ? from.pixels[from.At(from.width - 1 - x, y, c)]
                                               : from.pixels[from.At(x, from.height - 1 - y, c)];
      }
    }
  }
  return to;
}

inline Picture Transpose(const Picture& from) {
  Picture to(from.height, from.width, from.channels);
  for (int32_t y = 0; y < from.height; ++y) {
    for (int32_t x = 0; x < from.width; ++x) {
      for (int32_t c = 0; c < from.channels; ++c) to.pixels[to.At(y, x, c)] = from.pixels[from.At(x, y, c)];
    }
  }
  return to;
}

struct Filter {
  double radius;
  double (*weight)(double);
};

inline Filter FilterOf(Interpolation interpolation) {
  static const auto sinc = [](double x) { return x == 0 ? 1.0 : std::sin(x * M_PI) / (x * M_PI); };
  switch (interpolation) {
    case Interpolation::kBicubic:
      return {2, [](double x) {
                x = std::fabs(x);
                if (x < 1) return (1.5 * x - 2.5) * x * x + 1;
                return x < 2 ? (((x - 5) * x + 8) * x - 4) * -0.5 : 0;
              }};
    case Interpolation::kBox:
      return {0.5, [](double x) { return -0.5 < x && x <= 0.5 ? 1.0 : 0.0; }};
    case Interpolation::kHamming:
      return {1, [](double x) {
                const double cosine = std::cos(std::fabs(x) * M_PI);
                return std::fabs(x) < 1 ? sinc(x) * (double{0.54f} + double{0.46f} * cosine) : 0.0;
              }};
    case Interpolation::kLanczos:
      return {3, [](double x) { return -3 <= x && x < 3 ? sinc(x) * sinc(x / 3) : 0.0; }};
    case Interpolation::kNearest:
    case Interpolation::kBilinear:
      break;
  }
  return {1, [](double x) { return std::max(1 - std::fabs(x), 0.0); }};
}

inline Picture ResizeWidth(const Picture& from, int32_t width, Interpolation interpolation) {
  Picture to(width, from.height, from.channels);
  const double scale = static_cast<double>(from.width) / width;
  if (interpolation == Interpolation::kNearest) {
    double position = scale * 0.5;
    for (int32_t x = 0; x < width; ++x, position += scale) {
      for (int32_t y = 0; y < from.height; ++y) {
        for (int32_t c = 0; c < from.channels; ++c) {
          to.pixels[to.At(x, y, c)] = from.pixels[from.At(static_cast<int32_t>(position), y, c)];
        }
      }
    }
    return to;
  }
  const Filter filter = FilterOf(interpolation);
  const double stretch = std::max(scale, 1.0);
  const double support = filter.radius * stretch;
  for (int32_t x = 0; x < width; ++x) {
    const double center = (x + 0.5) * scale;
    const int32_t first = std::max(static_cast<int32_t>(center - support + 0.5), 0);
    const int32_t end = std::min(static_cast<int32_t>(center + support + 0.5), from.width);
    std::vector<double> weights;
    double sum = 0;
    for (int32_t i = first; i < end; ++i) {
      weights.push_back(filter.weight((i - center + 0.5) * (1.0 / stretch)));
      sum += weights.back();
    }
    for (double& weight : weights) weight = std::trunc(weight / sum * 4194304.0 + (weight / sum < 0 ? -0.5 : 0.5));
    for (int32_t y = 0; y < from.height; ++y) {
      for (int32_t c = 0; c < from.channels; ++c) {
        double total = 2097152.0;  // whole numbers below 2^53: exact
        for (int32_t i = first; i < end; ++i) {
          total += weights[static_cast<size_t>(i - first)] * from.pixels[from.At(i, y, c)];
        }
        to.pixels[to.At(x, y, c)] = static_cast<uint8_t>(std::clamp(std::floor(total / 4194304.0), 0.0, 255.0));
      }
    }
  }
  return to;
}

inline Picture ResizeHeight(const Picture& from, int32_t height, Interpolation interpolation) {
  return Transpose(ResizeWidth(Transpose(from), height, interpolation));
}

inline Picture Resize(const Picture& from, ImageSize size, Interpolation interpolation) {
  Picture to = from;
  const int32_t saved = from.height - size.height;
  const bool height_first = saved > 0 && saved > 2 * (from.width - size.width);
  if (height_first && size.height != from.height) to = ResizeHeight(to, size.height, interpolation);
  if (size.width != from.width) to = ResizeWidth(to, size.width, interpolation);
  if (size.height != to.height) to = ResizeHeight(to, size.height, interpolation);
  return to;
}

}  // namespace stoker::oracle

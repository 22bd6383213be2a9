// Slow, plain versions of everything in augment/, one op after the other on a whole picture: what the fast paths must
// equal. The resampling repeats Pillow's algorithm in double precision with nothing shared or rearranged.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <random>
#include <variant>
#include <vector>

#include "augment/random.h"
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

inline double Filter(double x, bool cubic) {
  x = std::fabs(x);
  if (!cubic) return x < 1 ? 1 - x : 0;
  if (x < 1) return (1.5 * x - 2.5) * x * x + 1;
  return x < 2 ? (((x - 5) * x + 8) * x - 4) * -0.5 : 0;
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
  const bool cubic = interpolation == Interpolation::kBicubic;
  const double stretch = std::max(scale, 1.0);
  const double support = (cubic ? 2.0 : 1.0) * stretch;
  for (int32_t x = 0; x < width; ++x) {
    const double center = (x + 0.5) * scale;
    const int32_t first = std::max(static_cast<int32_t>(center - support + 0.5), 0);
    const int32_t end = std::min(static_cast<int32_t>(center + support + 0.5), from.width);
    std::vector<double> weights;
    double sum = 0;
    for (int32_t i = first; i < end; ++i) {
      weights.push_back(Filter((i - center + 0.5) * (1.0 / stretch), cubic));
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

// torchvision's RandomResizedCrop.get_params, line by line, with the numbers of `random`.
inline Rect GetParams(const RandomResizedCrop& op, int32_t width, int32_t height, Random& random) {
  const double area = static_cast<double>(height) * width;
  for (int i = 0; i < 10; ++i) {
    const double target_area = area * random.Uniform(op.scale_low, op.scale_high);
    const double aspect_ratio = std::exp(random.Uniform(std::log(op.ratio_low), std::log(op.ratio_high)));
    const auto w = static_cast<int64_t>(std::nearbyint(std::sqrt(target_area * aspect_ratio)));
    const auto h = static_cast<int64_t>(std::nearbyint(std::sqrt(target_area / aspect_ratio)));
    if (0 < w && w <= width && 0 < h && h <= height) {
      const auto y = static_cast<int32_t>(random.Below(static_cast<uint32_t>(height - h + 1)));
      const auto x = static_cast<int32_t>(random.Below(static_cast<uint32_t>(width - w + 1)));
      return {x, y, static_cast<int32_t>(w), static_cast<int32_t>(h)};
    }
  }
  int32_t w = width;
  int32_t h = height;
  const double in_ratio = static_cast<double>(width) / height;
  if (in_ratio < op.ratio_low) h = std::max(1, static_cast<int32_t>(std::nearbyint(w / op.ratio_low)));
  if (in_ratio > op.ratio_high) w = std::max(1, static_cast<int32_t>(std::nearbyint(h * op.ratio_high)));
  return {(width - w) / 2, (height - h) / 2, w, h};
}

// torchvision's center_crop: pads first where the crop is larger.
inline Picture CenterCropped(const Picture& from, ImageSize size) {
  const auto pad = [](int32_t crop, int32_t side) { return crop > side ? (crop - side) / 2 : 0; };
  const auto pad_end = [](int32_t crop, int32_t side) { return crop > side ? (crop - side + 1) / 2 : 0; };
  const Rect padded{-pad(size.width, from.width), -pad(size.height, from.height),
                    pad(size.width, from.width) + from.width + pad_end(size.width, from.width),
                    pad(size.height, from.height) + from.height + pad_end(size.height, from.height)};
  const Picture picture = Crop(from, padded);
  const auto offset = [](int32_t side, int32_t crop) {
    return static_cast<int32_t>(std::nearbyint((side - crop) / 2.0));
  };
  return Crop(picture,
              {offset(picture.width, size.width), offset(picture.height, size.height), size.width, size.height});
}

// Runs the geometric ops of `recipe`; nothing where one of them has no result (a RandomCrop that does not fit).
inline std::optional<Picture> Run(const Recipe& recipe, Picture picture, const SampleKey& key) {
  uint32_t index = 0;
  for (const Op& op : recipe.ops) {
    Random random(key, index++);
    if (const auto* resized_crop = std::get_if<RandomResizedCrop>(&op)) {
      picture = Resize(Crop(picture, GetParams(*resized_crop, picture.width, picture.height, random)),
                       resized_crop->size, resized_crop->interpolation);
    } else if (const auto* resize = std::get_if<stoker::Resize>(&op)) {
      ImageSize size = resize->size;
      if (size.height == 0) {
        const auto longer = [&](int32_t a, int32_t b) {
          return static_cast<int32_t>(static_cast<double>(int64_t{size.width} * a) / b);
        };
        size = picture.width <= picture.height ? ImageSize{size.width, longer(picture.height, picture.width)}
                                               : ImageSize{longer(picture.width, picture.height), size.width};
      }
      picture = Resize(picture, size, resize->interpolation);
    } else if (const auto* center = std::get_if<CenterCrop>(&op)) {
      picture = CenterCropped(picture, center->size);
    } else if (const auto* crop = std::get_if<RandomCrop>(&op)) {
      const int32_t p = crop->padding;
      picture = Crop(picture, {-p, -p, picture.width + 2 * p, picture.height + 2 * p});
      if (crop->size.width > picture.width || crop->size.height > picture.height) return std::nullopt;
      const auto y = static_cast<int32_t>(random.Below(static_cast<uint32_t>(picture.height - crop->size.height) + 1));
      const auto x = static_cast<int32_t>(random.Below(static_cast<uint32_t>(picture.width - crop->size.width) + 1));
      picture = Crop(picture, {x, y, crop->size.width, crop->size.height});
    } else if (const auto* horizontal = std::get_if<RandomHorizontalFlip>(&op)) {
      if (random.Uniform() < horizontal->probability) picture = Flip(picture, true);
    } else if (const auto* vertical = std::get_if<RandomVerticalFlip>(&op)) {
      if (random.Uniform() < vertical->probability) picture = Flip(picture, false);
    }
  }
  return picture;
}

}  // namespace stoker::oracle

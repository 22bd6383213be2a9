// One op after the other on the whole picture, with the numbers that the plan draws.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "augment/plan.h"
#include "augment/random.h"
#include "augment/recipe.h"
#include "tests/augment/color_oracle.h"
#include "tests/augment/oracle.h"

namespace stoker::oracle {

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

// One axis of numpy.pad: which pixel is at each place, found by walking outwards from the edge and turning at the ends.
inline std::vector<int32_t> PadIndices(PaddingMode mode, int32_t side, int32_t before, int32_t after) {
  std::vector<int32_t> indices(static_cast<size_t>(before) + static_cast<size_t>(side) + static_cast<size_t>(after),
                               -1);
  std::iota(indices.begin() + before, indices.begin() + before + side, 0);
  if (mode == PaddingMode::kConstant) return indices;
  for (const int32_t outwards : {-1, 1}) {
    int32_t pixel = outwards < 0 ? 0 : side - 1;
    int32_t direction = outwards;
    for (int32_t at = before + pixel + outwards; at >= 0 && at < before + side + after; at += outwards) {
      const bool inside = pixel + direction >= 0 && pixel + direction < side;
      if (!inside) direction = -direction;
      const bool moves = mode == PaddingMode::kReflect ? side > 1 : mode == PaddingMode::kSymmetric && inside;
      if (moves) pixel += direction;
      indices[static_cast<size_t>(at)] = pixel;
    }
  }
  return indices;
}

inline Picture Padded(const Picture& from, const Padding& padding, PaddingMode mode,
                      const std::array<uint8_t, 3>& fill) {
  const std::vector<int32_t> columns = PadIndices(mode, from.width, padding.left, padding.right);
  const std::vector<int32_t> rows = PadIndices(mode, from.height, padding.top, padding.bottom);
  Picture to(static_cast<int32_t>(columns.size()), static_cast<int32_t>(rows.size()), from.channels);
  for (int32_t y = 0; y < to.height; ++y) {
    for (int32_t x = 0; x < to.width; ++x) {
      const int32_t sx = columns[static_cast<size_t>(x)], sy = rows[static_cast<size_t>(y)];
      for (int32_t c = 0; c < to.channels; ++c) {
        to.pixels[to.At(x, y, c)] = sx < 0 || sy < 0 ? fill[static_cast<size_t>(c)] : from.pixels[from.At(sx, sy, c)];
      }
    }
  }
  return to;
}

// Each op as torchvision has it; false where it has no result (a RandomCrop that does not fit).
class Runner {
 public:
  explicit Runner(Picture picture) : picture_(std::move(picture)) {}

  bool Step(const RandomResizedCrop& op, Random& random) {
    const Picture crop = Crop(picture_, GetParams(op, picture_.width, picture_.height, random));
    Interpolation interpolation = op.interpolation;
    if (op.random_interpolation) {
      interpolation = random.Below(2) == 0 ? Interpolation::kBilinear : Interpolation::kBicubic;
    }
    picture_ = oracle::Resize(crop, op.size, interpolation);
    return true;
  }
  // torchvision's _compute_resized_output_size, in its names.
  bool Step(const stoker::Resize& op, Random&) {
    ImageSize size = op.size;
    if (size.height == 0) {
      const bool upright = picture_.width <= picture_.height;
      const double shorter = std::min(picture_.width, picture_.height);
      const double longer = std::max(picture_.width, picture_.height);
      double new_short = size.width, new_long = std::trunc(size.width * longer / shorter);
      if (op.max_size != 0 && new_long > op.max_size) {
        new_short = std::trunc(op.max_size * new_short / new_long);
        new_long = op.max_size;
      }
      if (new_short < 1) return false;
      size = {static_cast<int32_t>(upright ? new_short : new_long),
              static_cast<int32_t>(upright ? new_long : new_short)};
    }
    picture_ = oracle::Resize(picture_, size, op.interpolation);
    return true;
  }
  bool Step(const CenterCrop& op, Random&) {
    picture_ = CenterCropped(picture_, op.size);
    return true;
  }
  bool Step(const Pad& op, Random&) {
    picture_ = Padded(picture_, op.padding, op.mode, op.fill);
    return true;
  }
  bool Step(const RandomCrop& op, Random& random) {
    picture_ = Padded(picture_, op.padding, op.mode, op.fill);
    const int32_t x_missing = std::max(op.size.width - picture_.width, 0);
    const int32_t y_missing = std::max(op.size.height - picture_.height, 0);
    if (!op.pad_if_needed && x_missing + y_missing > 0) return false;
    picture_ = Padded(picture_, {x_missing, 0, x_missing, 0}, op.mode, op.fill);
    picture_ = Padded(picture_, {0, y_missing, 0, y_missing}, op.mode, op.fill);
    const auto y = static_cast<int32_t>(random.Below(static_cast<uint32_t>(picture_.height - op.size.height) + 1));
    const auto x = static_cast<int32_t>(random.Below(static_cast<uint32_t>(picture_.width - op.size.width) + 1));
    picture_ = Crop(picture_, {x, y, op.size.width, op.size.height});
    return true;
  }
  bool Step(const RandomHorizontalFlip& op, Random& random) {
    if (random.Uniform() < op.probability) picture_ = Flip(picture_, true);
    return true;
  }
  bool Step(const RandomVerticalFlip& op, Random& random) {
    if (random.Uniform() < op.probability) picture_ = Flip(picture_, false);
    return true;
  }
  bool Step(const Grayscale& op, Random&) {
    picture_ = Grayed(picture_, op.channels);
    return true;
  }
  bool Step(const RandomGrayscale& op, Random& random) {
    if (random.Uniform() < op.probability) picture_ = Grayed(picture_, picture_.channels);
    return true;
  }
  bool Step(const ColorJitter& op, Random& random) {
    std::vector<ColorOp> order = {ColorOp::kBrightness, ColorOp::kContrast, ColorOp::kSaturation, ColorOp::kHue};
    for (uint32_t i = 3; i > 0; --i) std::swap(order[i], order[random.Below(i + 1)]);
    std::vector<std::optional<ColorStep>> steps(4);
    const std::array ranges = {op.brightness, op.contrast, op.saturation, op.hue};
    for (size_t i = 0; i < 4; ++i) {
      if (ranges[i]) steps[i] = {static_cast<ColorOp>(i), random.Uniform((*ranges[i])[0], (*ranges[i])[1])};
    }
    for (const ColorOp color : order) {
      if (const auto& step = steps[static_cast<size_t>(color)]) picture_ = Adjusted(picture_, *step);
    }
    return true;
  }
  bool Step(const Normalize&, Random&) { return true; }

  Picture& picture() { return picture_; }

 private:
  Picture picture_;
};

// Everything but Normalize; nothing where an op has no result.
inline std::optional<Picture> Run(const Recipe& recipe, Picture picture, const SampleKey& key) {
  Runner runner(std::move(picture));
  uint32_t index = 0;
  for (const Op& op : recipe.ops) {
    Random random(key, index++);
    if (!std::visit([&](const auto& o) { return runner.Step(o, random); }, op)) return std::nullopt;
  }
  return std::move(runner.picture());
}

}  // namespace stoker::oracle

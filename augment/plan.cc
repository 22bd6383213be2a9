#include "augment/plan.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <utility>

#include "augment/composer.h"

namespace stoker {

namespace {

// Longer sides, given or resized, are refused: every sum of offsets must stay inside 32 bits. The thinnest JPEG,
// 65535 x 1, may still be resized to a shorter side of 4096.
constexpr int64_t kMaxSide = int64_t{1} << 28;

// Python's round: halves go to the even number (the default rounding mode).
int32_t RoundHalfToEven(double value) { return static_cast<int32_t>(std::nearbyint(value)); }

// torchvision's RandomResizedCrop.get_params.
Rect DrawResizedCrop(const RandomResizedCrop& op, ImageSize size, Random& random) {
  const double area = static_cast<double>(size.width) * size.height;
  const double log_low = std::log(op.ratio_low);
  const double log_high = std::log(op.ratio_high);
  for (int attempt = 0; attempt < 10; ++attempt) {
    const double target = area * random.Uniform(op.scale_low, op.scale_high);
    const double ratio = std::exp(random.Uniform(log_low, log_high));
    const double width = std::nearbyint(std::sqrt(target * ratio));
    const double height = std::nearbyint(std::sqrt(target / ratio));
    if (width >= 1 && width <= size.width && height >= 1 && height <= size.height) {
      const auto w = static_cast<int32_t>(width);
      const auto h = static_cast<int32_t>(height);
      const auto y = static_cast<int32_t>(random.Below(static_cast<uint32_t>(size.height - h) + 1));
      const auto x = static_cast<int32_t>(random.Below(static_cast<uint32_t>(size.width - w) + 1));
      return {x, y, w, h};
    }
  }
  // The largest central crop whose ratio is allowed.
  const double ratio = static_cast<double>(size.width) / size.height;
  int32_t width = size.width;
  int32_t height = size.height;
  if (ratio < op.ratio_low) {
    height = std::clamp(RoundHalfToEven(width / op.ratio_low), 1, size.height);
  } else if (ratio > op.ratio_high) {
    width = std::clamp(RoundHalfToEven(height * op.ratio_high), 1, size.width);
  }
  return {(size.width - width) / 2, (size.height - height) / 2, width, height};
}

PlanError Apply(const RandomResizedCrop& op, Random random, Composer& composer) {
  composer.Crop(DrawResizedCrop(op, composer.size(), random));
  if (!op.random_interpolation) return composer.Resample(op.size, op.interpolation);
  return composer.Resample(op.size, random.Below(2) == 0 ? Interpolation::kBilinear : Interpolation::kBicubic);
}

PlanError Apply(const Resize& op, Random, Composer& composer) {
  if (op.size.height != 0) return composer.Resample(op.size, op.interpolation);
  const ImageSize size = composer.size();
  const int64_t shorter = std::min(size.width, size.height);
  const int64_t longer = std::max(size.width, size.height);
  // Python divides whole numbers exactly and cuts off.
  int64_t new_shorter = op.size.width;
  int64_t new_longer = new_shorter * longer / shorter;
  if (op.max_size != 0 && new_longer > op.max_size) {
    new_shorter = op.max_size * new_shorter / new_longer;
    new_longer = op.max_size;
  }
  if (new_shorter < 1 || new_longer > kMaxSide) return PlanError::kWrongSize;
  ImageSize resized{static_cast<int32_t>(new_shorter), static_cast<int32_t>(new_longer)};
  if (size.width > size.height) std::swap(resized.width, resized.height);
  return composer.Resample(resized, op.interpolation);
}

// Where a central crop of `crop` pixels begins in `size`. Larger than the picture: half of what is missing comes
// before it, the smaller half where it is odd.
int32_t CenterOffset(int32_t size, int32_t crop) {
  if (crop > size) return -((crop - size) / 2);
  return RoundHalfToEven((size - crop) / 2.0);
}

PlanError Apply(const CenterCrop& op, Random, Composer& composer) {
  const ImageSize size = composer.size();
  composer.Crop({CenterOffset(size.width, op.size.width), CenterOffset(size.height, op.size.height), op.size.width,
                 op.size.height});
  return PlanError::kNone;
}

PlanError Apply(const Pad& op, Random, Composer& composer) { return composer.Pad(op.padding, op.mode, op.fill); }

PlanError Apply(const RandomCrop& op, Random random, Composer& composer) {
  if (const PlanError error = composer.Pad(op.padding, op.mode, op.fill); error != PlanError::kNone) return error;
  if (op.pad_if_needed) {
    const int32_t x = std::max(op.size.width - composer.size().width, 0);
    const int32_t y = std::max(op.size.height - composer.size().height, 0);
    if (const PlanError error = composer.Pad({x, y, x, y}, op.mode, op.fill); error != PlanError::kNone) return error;
  }
  const int32_t free_x = composer.size().width - op.size.width;
  const int32_t free_y = composer.size().height - op.size.height;
  if (free_x < 0 || free_y < 0) return PlanError::kTooSmall;
  const auto y = static_cast<int32_t>(random.Below(static_cast<uint32_t>(free_y) + 1));
  const auto x = static_cast<int32_t>(random.Below(static_cast<uint32_t>(free_x) + 1));
  composer.Crop({x, y, op.size.width, op.size.height});
  return PlanError::kNone;
}

PlanError Apply(const RandomHorizontalFlip& op, Random random, Composer& composer) {
  if (random.Uniform() < op.probability) composer.FlipHorizontal();
  return PlanError::kNone;
}

PlanError Apply(const RandomVerticalFlip& op, Random random, Composer& composer) {
  if (random.Uniform() < op.probability) composer.FlipVertical();
  return PlanError::kNone;
}

PlanError Apply(const Grayscale& op, Random, Composer& composer) {
  composer.MakeGray(op.channels);
  return PlanError::kNone;
}

PlanError Apply(const RandomGrayscale& op, Random random, Composer& composer) {
  if (random.Uniform() < op.probability) composer.MakeGray(composer.channels());
  return PlanError::kNone;
}

PlanError Apply(const ColorJitter& op, Random random, Composer& composer) {
  const std::array<std::optional<std::array<double, 2>>, 4> ranges = {op.brightness, op.contrast, op.saturation,
                                                                      op.hue};
  std::array<ColorOp, 4> order = {ColorOp::kBrightness, ColorOp::kContrast, ColorOp::kSaturation, ColorOp::kHue};
  for (uint32_t i = 3; i > 0; --i) std::swap(order[i], order[random.Below(i + 1)]);
  std::array<double, 4> factors{};
  for (size_t i = 0; i < 4; ++i) {
    if (ranges[i]) factors[i] = random.Uniform((*ranges[i])[0], (*ranges[i])[1]);
  }
  for (const ColorOp color : order) {
    const auto i = static_cast<size_t>(color);
    if (ranges[i]) composer.Adjust({color, factors[i]});
  }
  return PlanError::kNone;
}

PlanError Apply(const Normalize&, Random, Composer&) { return PlanError::kNone; }

}  // namespace

PlanError MakePlan(const CompiledRecipe& recipe, ImageSize size, const SampleKey& key, Plan& plan) noexcept {
  assert(size.width >= 1 && size.height >= 1);
  if (std::max(size.width, size.height) > kMaxSide) return PlanError::kWrongSize;
  Composer composer(size, recipe.recipe().channels, plan);
  uint32_t index = 0;
  for (const Op& op : recipe.recipe().ops) {
    const Random random(key, index++);
    const PlanError error = std::visit([&](const auto& o) { return Apply(o, random, composer); }, op);
    if (error != PlanError::kNone) return error;
  }
  if (composer.size() != recipe.spec().size) return PlanError::kWrongSize;
  composer.Finish();
  return PlanError::kNone;
}

}  // namespace stoker

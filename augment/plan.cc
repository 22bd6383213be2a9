#include "augment/plan.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <utility>

#include "augment/resample_weights.h"

namespace stoker {

namespace {

// Longer sides, given or resized, are refused: every sum of offsets must stay inside 32 bits. The thinnest JPEG,
// 65535 x 1, may still be resized to a shorter side of 4096.
constexpr int64_t kMaxSide = int64_t{1} << 28;

// Python's round: halves go to the even number (the default rounding mode).
int32_t RoundHalfToEven(double value) { return static_cast<int32_t>(std::nearbyint(value)); }

Rect Intersect(const Rect& a, const Rect& b) {
  const int32_t x = std::max(a.x, b.x);
  const int32_t y = std::max(a.y, b.y);
  const int32_t width = std::min(a.x + a.width, b.x + b.width) - x;
  const int32_t height = std::min(a.y + a.height, b.y + b.height) - y;
  if (width <= 0 || height <= 0) return {};
  return {x, y, width, height};
}

// Lays one op after the other over the picture. The ops see it as it is after all ops before them, flips included; the
// plan flips last, so a crop behind a flip is mirrored. Resampling is symmetric, so flips may wait for it as well.
class Composer {
 public:
  Composer(ImageSize picture, Plan& plan) : plan_(plan) {
    plan = {};
    plan.crop = plan.window = plan.content = {0, 0, picture.width, picture.height};
    plan.resized = picture;
  }

  // Of the picture as the next op sees it.
  ImageSize size() const { return {plan_.window.width, plan_.window.height}; }

  // Keeps `rect` of what the op sees; zeros where it reaches outside.
  void Crop(Rect rect) {
    Rect& window = plan_.window;
    if (plan_.flip_horizontal) rect.x = window.width - rect.x - rect.width;
    if (plan_.flip_vertical) rect.y = window.height - rect.y - rect.height;
    window = {window.x + rect.x, window.y + rect.y, rect.width, rect.height};
    plan_.content = Intersect(plan_.content, window);
  }

  PlanError Resample(ImageSize size, Interpolation interpolation) {
    if (plan_.content != plan_.window) return PlanError::kTooSmall;  // padded before
    plan_.crop = plan_.window;
    plan_.resized = size;
    plan_.window = plan_.content = {0, 0, size.width, size.height};
    plan_.interpolation = interpolation;
    return PlanError::kNone;
  }

  void FlipHorizontal() { plan_.flip_horizontal = !plan_.flip_horizontal; }
  void FlipVertical() { plan_.flip_vertical = !plan_.flip_vertical; }

 private:
  Plan& plan_;
};

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
  return composer.Resample(op.size, op.interpolation);
}

PlanError Apply(const Resize& op, Random, Composer& composer) {
  if (op.size.height != 0) return composer.Resample(op.size, op.interpolation);
  const ImageSize size = composer.size();
  const int64_t shorter = std::min(size.width, size.height);
  const int64_t longer = std::max(size.width, size.height);
  // Python divides whole numbers exactly and cuts off.
  const int64_t resized = op.size.width * longer / shorter;
  if (resized > kMaxSide) return PlanError::kWrongSize;
  const auto side = static_cast<int32_t>(resized);
  return composer.Resample(size.width <= size.height ? ImageSize{op.size.width, side} : ImageSize{side, op.size.width},
                           op.interpolation);
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

PlanError Apply(const RandomCrop& op, Random random, Composer& composer) {
  const ImageSize size = composer.size();
  const int64_t free_x = size.width + int64_t{2} * op.padding - op.size.width;
  const int64_t free_y = size.height + int64_t{2} * op.padding - op.size.height;
  if (free_x < 0 || free_y < 0) return PlanError::kTooSmall;
  const auto y = static_cast<int32_t>(random.Below(static_cast<uint32_t>(free_y) + 1));
  const auto x = static_cast<int32_t>(random.Below(static_cast<uint32_t>(free_x) + 1));
  composer.Crop({x - op.padding, y - op.padding, op.size.width, op.size.height});
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

PlanError Apply(const Normalize&, Random, Composer&) { return PlanError::kNone; }

// One axis of the region: the crop's pixels that outputs [begin, begin + count) are made of.
TapRange Needed(const ResampleAxis& axis, Interpolation interpolation, int32_t begin, int32_t count) {
  int32_t first = 0;
  int32_t last = 0;
  if (interpolation == Interpolation::kNearest) {
    axis.Nearest(begin, {&first, 1});
    axis.Nearest(begin + count - 1, {&last, 1});
  } else {
    first = axis.Taps(begin).first;
    const TapRange taps = axis.Taps(begin + count - 1);
    last = taps.first + taps.count - 1;
  }
  return {first, last - first + 1};
}

// Nothing is enlarged where the region keeps the share of the resized size that it has of the crop. Nearest picks
// single pixels, which no smaller scale has.
int32_t AtLeast(Interpolation interpolation, int32_t region, int32_t crop, int32_t resized) {
  if (interpolation == Interpolation::kNearest || resized >= crop) return region;
  return static_cast<int32_t>((int64_t{resized} * region + crop - 1) / crop);
}

void SetRegion(Plan& plan) {
  const Rect& content = plan.content;
  if (content.width == 0) {  // all zeros
    plan.region = {plan.crop.x, plan.crop.y, 1, 1};
    plan.region_at_least = {1, 1};
    return;
  }
  const ResampleAxis x_axis(plan.interpolation, plan.crop.width, plan.resized.width);
  const ResampleAxis y_axis(plan.interpolation, plan.crop.height, plan.resized.height);
  const TapRange x = Needed(x_axis, plan.interpolation, content.x, content.width);
  const TapRange y = Needed(y_axis, plan.interpolation, content.y, content.height);
  plan.region = {plan.crop.x + x.first, plan.crop.y + y.first, x.count, y.count};
  plan.region_at_least = {AtLeast(plan.interpolation, x.count, plan.crop.width, plan.resized.width),
                          AtLeast(plan.interpolation, y.count, plan.crop.height, plan.resized.height)};
}

}  // namespace

PlanError MakePlan(const CompiledRecipe& recipe, ImageSize size, const SampleKey& key, Plan& plan) noexcept {
  assert(size.width >= 1 && size.height >= 1);
  if (std::max(size.width, size.height) > kMaxSide) return PlanError::kWrongSize;
  Composer composer(size, plan);
  uint32_t index = 0;
  for (const Op& op : recipe.recipe().ops) {
    const Random random(key, index++);
    const PlanError error = std::visit([&](const auto& o) { return Apply(o, random, composer); }, op);
    if (error != PlanError::kNone) return error;
  }
  if (composer.size() != recipe.spec().size) return PlanError::kWrongSize;
  SetRegion(plan);
  return PlanError::kNone;
}

}  // namespace stoker

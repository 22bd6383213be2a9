#include "augment/composer.h"

#include <algorithm>

#include "augment/padding.h"
#include "augment/pixel_ops.h"
#include "augment/resample_weights.h"

namespace stoker {

namespace {

Rect Intersect(const Rect& a, const Rect& b) {
  const int32_t x = std::max(a.x, b.x);
  const int32_t y = std::max(a.y, b.y);
  const int32_t width = std::min(a.x + a.width, b.x + b.width) - x;
  const int32_t height = std::min(a.y + a.height, b.y + b.height) - y;
  if (width <= 0 || height <= 0) return {};
  return {x, y, width, height};
}

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

// The pixels that a window shows of a picture padded with a mode that repeats them.
void SetRepeatedContent(Plan& plan) {
  const Rect& shown = plan.padded;
  plan.content = {};
  if (shown == Rect{}) return;
  int32_t left = SourceColumn(plan, shown.x), right = left;
  for (int32_t x = shown.x + 1; x < shown.x + shown.width; ++x) {
    left = std::min(left, SourceColumn(plan, x));
    right = std::max(right, SourceColumn(plan, x));
  }
  int32_t top = SourceRow(plan, shown.y), bottom = top;
  for (int32_t y = shown.y + 1; y < shown.y + shown.height; ++y) {
    top = std::min(top, SourceRow(plan, y));
    bottom = std::max(bottom, SourceRow(plan, y));
  }
  plan.content = {left, top, right - left + 1, bottom - top + 1};
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

Composer::Composer(ImageSize picture, Channels channels, Plan& plan)
    : plan_(plan), channels_(static_cast<int32_t>(channels)) {
  plan = {};
  plan.crop = plan.window = plan.content = {0, 0, picture.width, picture.height};
  plan.resized = picture;
}

void Composer::Crop(Rect rect) {
  Rect& window = plan_.window;
  if (plan_.flip_horizontal) rect.x = window.width - rect.x - rect.width;
  if (plan_.flip_vertical) rect.y = window.height - rect.y - rect.height;
  window = {window.x + rect.x, window.y + rect.y, rect.width, rect.height};
  plan_.content = Intersect(plan_.content, window);
  plan_.padded = Intersect(plan_.padded, window);
}

PlanError Composer::Pad(const Padding& padding, PaddingMode mode, const std::array<uint8_t, 3>& fill) {
  if (padding == Padding{}) return PlanError::kNone;
  const Rect grown{-padding.left, -padding.top, size().width + padding.left + padding.right,
                   size().height + padding.top + padding.bottom};
  if (mode == PaddingMode::kConstant && fill == std::array<uint8_t, 3>{}) {
    Crop(grown);
    return PlanError::kNone;
  }
  const bool first = plan_.padded == Rect{};
  if (first) {
    if (plan_.content != plan_.window) return PlanError::kTooSmall;  // padded before
    plan_.unpadded = plan_.window;
    plan_.padding_mode = mode;
    plan_.fill = channels_ == 3 ? fill : std::array<uint8_t, 3>{fill[0], fill[0], fill[0]};
  }
  Crop(grown);
  plan_.padded = plan_.window;
  if (first) plan_.padded_once = plan_.window;
  return PlanError::kNone;
}

PlanError Composer::Resample(ImageSize size, Interpolation interpolation) {
  if (plan_.content != plan_.window) return PlanError::kTooSmall;  // padded before
  plan_.crop = plan_.window;
  plan_.resized = size;
  plan_.window = plan_.content = {0, 0, size.width, size.height};
  plan_.interpolation = interpolation;
  // Filters round and clip each channel, so it matters which comes first; a nearest pixel is the same gray after it.
  if (plan_.gray == GrayStage::kAfterResampling && interpolation != Interpolation::kNearest) {
    plan_.gray = GrayStage::kBeforeResampling;
  }
  return PlanError::kNone;
}

void Composer::MakeGray(int32_t channels) {
  if (channels_ == 3) {
    if (plan_.color_count > 0) {
      plan_.gray_after_colors = true;
    } else {
      if (plan_.gray == GrayStage::kNever) plan_.gray = GrayStage::kAfterResampling;
      plan_.fill.fill(Luma(plan_.fill[0], plan_.fill[1], plan_.fill[2]));
    }
  }
  channels_ = channels;
}

void Composer::Finish() {
  if (Repeats(plan_)) SetRepeatedContent(plan_);
  SetRegion(plan_);
}

}  // namespace stoker

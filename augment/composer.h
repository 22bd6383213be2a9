// Many ops become one plan.
#pragma once

#include <array>
#include <cstdint>

#include "augment/plan.h"

namespace stoker {

// Lays one op after the other over the picture. The ops see it as it is after all ops before them, flips included; the
// plan flips last, so a crop behind a flip is mirrored. Resampling is symmetric, so flips may wait for it as well.
// Threads: none of its own; one thread at a time. Never allocates.
class Composer {
 public:
  Composer(ImageSize picture, Channels channels, Plan& plan);

  // Of the picture as the next op sees it.
  ImageSize size() const { return {plan_.window.width, plan_.window.height}; }
  int32_t channels() const { return channels_; }

  // Keeps `rect` of what the op sees; zeros where it reaches outside.
  void Crop(Rect rect);
  // Surrounds what the op sees. With anything but zeros: one op alone may, but twice.
  [[nodiscard]] PlanError Pad(const Padding& padding, PaddingMode mode, const std::array<uint8_t, 3>& fill);
  [[nodiscard]] PlanError Resample(ImageSize size, Interpolation interpolation);
  void FlipHorizontal() { plan_.flip_horizontal = !plan_.flip_horizontal; }
  void FlipVertical() { plan_.flip_vertical = !plan_.flip_vertical; }
  // Leaves `channels` equal ones.
  void MakeGray(int32_t channels);
  // Requires: at most four steps in all, nothing but flips and gray behind them.
  void Adjust(const ColorStep& step) { plan_.colors[static_cast<size_t>(plan_.color_count++)] = step; }

  // Ends the plan: what must be decoded for its window.
  void Finish();

 private:
  Plan& plan_;
  int32_t channels_;
};

}  // namespace stoker

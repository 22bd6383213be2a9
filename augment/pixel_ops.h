// Colour, pixel by pixel, with the arithmetic of Pillow 13 on uint8: the same bytes.
#pragma once

#include <cstddef>
#include <cstdint>

#include "augment/plan.h"

namespace stoker {

// Pillow's convert("L").
constexpr uint8_t Luma(uint32_t red, uint32_t green, uint32_t blue) {
  return static_cast<uint8_t>((red * 19595 + green * 38470 + blue * 7471 + 0x8000) >> 16);
}

// Turns `pixels` of `from` channels into gray of `to` equal ones; each is 1 or 3. `out` must not overlap `row` unless
// it is the same and `to` is not more than `from`.
void ToGray(const uint8_t* row, size_t pixels, int32_t from, int32_t to, uint8_t* out);

// Takes one step on a whole sample, in place: Pillow's ImageEnhance, for hue torchvision's adjust_hue. With one channel
// saturation and hue change nothing, as there.
void Adjust(const ColorStep& step, int32_t channels, size_t pixels, uint8_t* samples);

}  // namespace stoker

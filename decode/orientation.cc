#include "decode/orientation.h"

#include <cassert>
#include <cstddef>
#include <utility>

namespace stoker {
namespace {

uint8_t Luma(const uint8_t* rgb) {
  return static_cast<uint8_t>((19595u * rgb[0] + 38470u * rgb[1] + 7471u * rgb[2] + 0x8000u) >> 16);
}

// Copies a row whose pixels lie `step` bytes apart in the source.
template <int source_channels, int channels>
void CopyRow(const uint8_t* source, ptrdiff_t step, int32_t width, uint8_t* out) {
  for (int32_t x = 0; x < width; ++x, source += step, out += channels) {
    if constexpr (source_channels == channels) {
      for (int c = 0; c < channels; ++c) out[c] = source[c];
    } else {
      *out = Luma(source);
    }
  }
}

}  // namespace

Orientation Orientation::FromExif(uint32_t value) noexcept {
  switch (value) {
    case 2:
      return {.flip_x = true};
    case 3:
      return {.flip_x = true, .flip_y = true};
    case 4:
      return {.flip_y = true};
    case 5:
      return {.transpose = true};
    case 6:
      return {.flip_y = true, .transpose = true};
    case 7:
      return {.flip_x = true, .flip_y = true, .transpose = true};
    case 8:
      return {.flip_x = true, .transpose = true};
    default:
      return {};
  }
}

ImageSize TurnSize(ImageSize stored, Orientation orientation) noexcept {
  if (orientation.transpose) std::swap(stored.width, stored.height);
  return stored;
}

Rect StoredRegion(const Rect& upright, ImageSize stored, Orientation orientation) noexcept {
  Rect region = upright;
  if (orientation.transpose) region = {upright.y, upright.x, upright.height, upright.width};
  if (orientation.flip_x) region.x = stored.width - region.x - region.width;
  if (orientation.flip_y) region.y = stored.height - region.y - region.height;
  return region;
}

RegionBox TurnBox(const RegionBox& box, ImageSize stored, Orientation orientation) noexcept {
  RegionBox turned = box;
  if (orientation.flip_x) {
    turned.x0 = stored.width - box.x1;
    turned.x1 = stored.width - box.x0;
  }
  if (orientation.flip_y) {
    turned.y0 = stored.height - box.y1;
    turned.y1 = stored.height - box.y0;
  }
  if (orientation.transpose) turned = {turned.y0, turned.x0, turned.y1, turned.x1};
  return turned;
}

bool TurnPixels(ImageView stored, Orientation orientation, Channels channels, Image& upright) noexcept {
  assert(stored.channels == 1 || stored.channels == 3);
  assert(channels == Channels::kGray || stored.channels == 3);
  const ImageSize size = TurnSize(stored.size, orientation);
  if (!upright.Reset(size, static_cast<int32_t>(channels))) return false;

  // One pixel to the right and one row down in the upright picture, as steps through the stored one.
  const auto pixel = static_cast<ptrdiff_t>(stored.channels);
  const auto row = static_cast<ptrdiff_t>(stored.stride_bytes);
  ptrdiff_t right = orientation.flip_x ? -pixel : pixel;
  ptrdiff_t down = orientation.flip_y ? -row : row;
  if (orientation.transpose) std::swap(right, down);

  const uint8_t* first = stored.row(orientation.flip_y ? stored.size.height - 1 : 0);
  if (orientation.flip_x) first += (stored.size.width - 1) * pixel;
  const auto copy_row = channels == Channels::kRgb ? CopyRow<3, 3>
                        : stored.channels == 3     ? CopyRow<3, 1>
                                                   : CopyRow<1, 1>;
  for (int32_t y = 0; y < size.height; ++y) copy_row(first + y * down, right, size.width, upright.row(y));
  return true;
}

}  // namespace stoker

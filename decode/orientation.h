// EXIF orientation: finding it in a file, and turning sizes, regions and pixels by it.
#pragma once

#include <cstdint>
#include <span>

#include "decode/decode_error.h"
#include "decode/decoder.h"
#include "decode/image.h"

namespace stoker {

// How stored pixels are brought upright: mirrored along x, then along y, then with x and y exchanged.
struct Orientation {
  bool flip_x = false;
  bool flip_y = false;
  bool transpose = false;

  // By the EXIF value 1..8; anything else leaves the picture as it is stored.
  static Orientation FromExif(uint32_t value) noexcept;
  bool is_upright() const noexcept { return !flip_x && !flip_y && !transpose; }
  friend bool operator==(const Orientation&, const Orientation&) = default;
};

// The orientation that the file asks for: the first EXIF block of a JPEG, PNG or WebP, tag 274 of a TIFF.
// Damaged metadata means upright. Reads nothing outside `bytes`, in time linear in the number of segments.
Orientation ReadOrientation(Format format, std::span<const uint8_t> bytes) noexcept;

// The upright size of a picture of `stored` size, and the other way round (it is the same exchange).
ImageSize TurnSize(ImageSize stored, Orientation orientation) noexcept;

// The stored pixels that an upright region is made of. `stored` is the stored picture's size.
Rect StoredRegion(const Rect& upright, ImageSize stored, Orientation orientation) noexcept;

// Where `box` lies after a stored picture of `stored` size was turned upright.
RegionBox TurnBox(const RegionBox& box, ImageSize stored, Orientation orientation) noexcept;

// Turns `stored` upright into `upright`; three channels become one luma channel where `channels` is kGray:
// (19595 R + 38470 G + 7471 B + 0x8000) >> 16, ITU-R 601 as Pillow has it.
// Returns false where there is no memory. Requires: one or three channels; never one to three.
[[nodiscard]] bool TurnPixels(ImageView stored, Orientation orientation, Channels channels, Image& upright) noexcept;

}  // namespace stoker

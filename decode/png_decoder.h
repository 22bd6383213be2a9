// PNG by libpng.
#pragma once

#include <cstdint>
#include <span>
#include <system_error>

#include "decode/decoder.h"

namespace stoker {

// The size in the header. Only the header is looked at: damage behind it is found by DecodePng.
std::error_code ReadPngSize(std::span<const uint8_t> bytes, ImageSize& size, Diagnosis& diagnosis) noexcept;

// Decodes the rows of `region`, whole, as RGB; `box` is moved to where the region lies in `image`. Of interlaced
// pictures all rows. Alpha is dropped, 16 bits keep their high byte; gamma, colour profiles and texts are never read.
// Where `strict`, the file is read to its end.
std::error_code DecodePng(std::span<const uint8_t> bytes, const Rect& region, bool strict, Image& image, RegionBox& box,
                          Diagnosis& diagnosis) noexcept;

}  // namespace stoker

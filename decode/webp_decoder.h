// WebP by libwebp.
#pragma once

#include <cstdint>
#include <span>
#include <system_error>

#include "decode/decoder.h"

namespace stoker {

// The size of the picture; of an animation that of its canvas.
std::error_code ReadWebpSize(std::span<const uint8_t> bytes, ImageSize& size, Diagnosis& diagnosis) noexcept;

// Decodes the whole picture as RGB, alpha dropped; of an animation the first frame, on a black canvas where it does not
// cover it.
std::error_code DecodeWebp(std::span<const uint8_t> bytes, Image& image, Diagnosis& diagnosis) noexcept;

}  // namespace stoker

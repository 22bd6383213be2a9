// Encodes pictures for the synthetic data set, in every form a decoder has to know.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace stoker {

enum class JpegKind { k444, k420, k422, kGray, kCmyk, kProgressive };

// `rgb` is width * height * 3 bytes in rows. The same library gives the same bytes every time.
std::vector<uint8_t> EncodeJpeg(std::span<const uint8_t> rgb, int width, int height, JpegKind kind, int quality);
std::vector<uint8_t> EncodePng(std::span<const uint8_t> rgb, int width, int height);
std::vector<uint8_t> EncodeWebp(std::span<const uint8_t> rgb, int width, int height, int quality);

}  // namespace stoker

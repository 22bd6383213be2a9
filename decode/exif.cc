// Finds the EXIF block of each container format.
#include <algorithm>
#include <cstring>
#include <string_view>

#include "decode/orientation.h"
#include "decode/tiff_directory.h"

namespace stoker {
namespace {

using Bytes = std::span<const uint8_t>;

bool StartsWith(Bytes bytes, std::string_view text) {
  return bytes.size() >= text.size() && std::memcmp(bytes.data(), text.data(), text.size()) == 0;
}

constexpr std::string_view kExifPrefix("Exif\0\0", 6);

// The TIFF structure inside the first EXIF APP1 segment; empty where there is none.
Bytes FindInJpeg(Bytes bytes) {
  size_t at = 2;
  while (at + 4 <= bytes.size()) {
    // Stray bytes before a marker and repeated 0xFF are skipped, as the decoder does.
    if (bytes[at] != 0xFF || bytes[at + 1] == 0xFF || bytes[at + 1] == 0) {
      ++at;
      continue;
    }
    const uint8_t marker = bytes[at + 1];
    if (marker == 0xDA || marker == 0xD9) break;  // the scan, or the end
    if (marker == 0x01 || (marker >= 0xD0 && marker <= 0xD8)) {
      at += 2;  // markers without a length
      continue;
    }
    const size_t length = static_cast<size_t>(bytes[at + 2] << 8 | bytes[at + 3]);
    if (length < 2) {
      at += 4;
      continue;
    }
    if (marker == 0xE1) {
      const Bytes segment = bytes.subspan(at + 4, std::min(length - 2, bytes.size() - at - 4));
      if (StartsWith(segment, kExifPrefix)) return segment.subspan(kExifPrefix.size());
    }
    at += 2 + length;
  }
  return {};
}

Bytes FindInPng(Bytes bytes) {
  size_t at = 8;
  while (at + 12 <= bytes.size()) {
    const size_t length = static_cast<size_t>(bytes[at]) << 24 | static_cast<size_t>(bytes[at + 1]) << 16 |
                          static_cast<size_t>(bytes[at + 2]) << 8 | bytes[at + 3];
    if (length > bytes.size() - at - 12) break;
    if (StartsWith(bytes.subspan(at + 4), "eXIf")) return bytes.subspan(at + 8, length);
    at += 12 + length;
  }
  return {};
}

Bytes FindInWebp(Bytes bytes) {
  size_t at = 12;
  while (at + 8 <= bytes.size()) {
    const size_t length = static_cast<size_t>(bytes[at + 4]) | static_cast<size_t>(bytes[at + 5]) << 8 |
                          static_cast<size_t>(bytes[at + 6]) << 16 | static_cast<size_t>(bytes[at + 7]) << 24;
    if (length > bytes.size() - at - 8) break;
    if (StartsWith(bytes.subspan(at), "EXIF")) {
      const Bytes chunk = bytes.subspan(at + 8, length);
      // Some writers keep JPEG's prefix.
      return StartsWith(chunk, kExifPrefix) ? chunk.subspan(kExifPrefix.size()) : chunk;
    }
    at += 8 + length + length % 2;
  }
  return {};
}

}  // namespace

Orientation ReadOrientation(Format format, std::span<const uint8_t> bytes) noexcept {
  Bytes tiff;
  switch (format) {
    case Format::kJpeg:
      tiff = FindInJpeg(bytes);
      break;
    case Format::kPng:
      tiff = FindInPng(bytes);
      break;
    case Format::kWebp:
      tiff = FindInWebp(bytes);
      break;
    case Format::kTiff:
      tiff = bytes;
      break;
    default:
      break;
  }
  const TiffDirectory directory(tiff);
  return Orientation::FromExif(directory.Find(TiffDirectory::kOrientation).value_or(1));
}

}  // namespace stoker

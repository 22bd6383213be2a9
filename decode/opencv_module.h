// BMP and TIFF by OpenCV, which is loaded only when the first such picture comes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <system_error>

#include "decode/decoder.h"

namespace stoker {

// What libstoker_opencv.so offers: plain C, so that neither side needs the other's headers or exceptions.
struct OpencvModule {
  enum Status : int { kDone = 0, kFailed = 1, kOtherSize = 2, kNoMemory = 3 };
  static constexpr uint32_t kVersion = 1;
  static constexpr char kSymbol[] = "stoker_opencv_module";

  uint32_t version;
  // Decodes a picture whose header says width x height into rows of 8-bit RGB, `stride_bytes` apart; 16-bit samples
  // keep their high byte. Thread-safe, never throws. On failure `words` gets the reason, NUL-terminated.
  Status (*decode)(const uint8_t* bytes, size_t size, int width, int height, uint8_t* rgb, size_t stride_bytes,
                   char* words, size_t words_bytes) noexcept;
};

// The sizes in the headers, by parsers of our own: OpenCV is not asked before the size is known to be sane.
std::error_code ReadBmpSize(std::span<const uint8_t> bytes, ImageSize& size, Diagnosis& diagnosis) noexcept;
std::error_code ReadTiffSize(std::span<const uint8_t> bytes, ImageSize& size, Diagnosis& diagnosis) noexcept;

// Whether it is a variant that OpenCV reads as it should be read: kUnsupported where not, with its name; kTruncated
// where a BMP has too few pixels.
std::error_code CheckBmp(std::span<const uint8_t> bytes, Diagnosis& diagnosis) noexcept;
std::error_code CheckTiff(std::span<const uint8_t> bytes, Diagnosis& diagnosis) noexcept;

// Decodes the whole picture of `size` as RGB as it is stored, alpha dropped. kUnsupported where a check above says so
// or the module cannot be loaded.
std::error_code DecodeWithOpencv(std::span<const uint8_t> bytes, ImageSize size, Image& image,
                                 Diagnosis& diagnosis) noexcept;

}  // namespace stoker

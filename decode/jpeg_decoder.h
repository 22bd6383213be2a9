// JPEG: the size, then exactly the pixels of one region, at full or at a DCT scale, by our own decoder where it can and
// by libjpeg-turbo otherwise.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <system_error>

#include "decode/decoder.h"

namespace stoker {

// Reads one picture after the other with the same state. libjpeg reads all headers, so that what is refused is refused
// in its words.
// Threads: one thread at a time. Life cycle of a picture: ReadHeader, then ReadPixels or nothing.
// The bytes must stay in place between the two; no copy of them is made.
class JpegDecoder {
 public:
  // Throws std::bad_alloc.
  explicit JpegDecoder(JpegEntropy entropy);
  ~JpegDecoder();
  JpegDecoder(const JpegDecoder&) = delete;
  JpegDecoder& operator=(const JpegDecoder&) = delete;

  // The stored size. Where `strict`, the first warning from here on is the error kWarnings.
  std::error_code ReadHeader(std::span<const uint8_t> bytes, bool strict, ImageSize& size,
                             Diagnosis& diagnosis) noexcept;

  // Decodes `request.region` (stored coordinates) of the picture whose header was read last. Gray pictures give one or
  // three channels as asked, all others three; `image` may hold more than the region, `box` says where it lies.
  // Decodes only what the region needs; everything where strict, so that every warning is seen.
  std::error_code ReadPixels(const DecodeRequest& request, Image& image, RegionBox& box, Diagnosis& diagnosis) noexcept;

  // Bytes of scratch that our own decoder holds now.
  size_t scratch_bytes() const noexcept;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace stoker

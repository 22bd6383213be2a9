// Encoded bytes -> pixels of one region. The format is chosen by content, never by name.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <system_error>

#include "decode/decode_error.h"
#include "decode/image.h"

namespace stoker {

class JpegMarks;

// Whose decoder reads JPEGs. The pixels are the same, whichever it is.
enum class JpegEntropy : uint8_t {
  kAuto,     // our own where it can, libjpeg-turbo otherwise, and whenever something in the data is odd
  kOwn,      // ours only: what it leaves to libjpeg-turbo is the error kUnsupported; to see what that is
  kLibrary,  // libjpeg-turbo only
};

// What holds for every picture of a loader.
struct DecodeLimits {
  int64_t max_pixels = 178'956'970;  // width x height of the whole picture; Pillow's bomb threshold
  bool apply_exif = false;           // turn pictures as their EXIF orientation says (JPEG, PNG, WebP, TIFF)
  bool strict = false;  // decoder warnings are errors; every picture is then read to its end, whatever the region
  JpegEntropy jpeg_entropy = JpegEntropy::kAuto;  // strict ones are always read by libjpeg-turbo
};

// What is wanted of one picture. `region` is in the coordinates that `Decoder::Peek` reported.
struct DecodeRequest {
  Rect region;
  Channels channels = Channels::kRgb;
  // {0, 0}: exact, every pixel equals the full decode's. Otherwise the decoder may deliver the region at a smaller
  // scale (JPEG's DCT scale), as long as the scaled region keeps at least this size.
  ImageSize at_least;
  // What is known of this JPEG, and what this decode learns of it; null: nothing is learned.
  JpegMarks* marks = nullptr;
};

// Where the requested region lies in the decoded image, which may hold more than the region (the blocks that it
// touches; all of a picture whose format has no regions): so no pixel is copied a second time. Exact decodes: whole
// numbers, {x, y, x + region.width, y + region.height}. Scaled decodes: not always whole.
struct RegionBox {
  double x0 = 0, y0 = 0, x1 = 0, y1 = 0;
};

// Decodes pictures one after the other, reusing its memory.
// Threads: one per worker thread; not thread-safe, holds no state between pictures but scratch memory. May exchange its
// scratch memory for the caller's image, so that `image` is another memory block after Decode.
// Never throws, never writes to stderr, never allocates in proportion to a header's claims before the limits are
// checked.
class Decoder {
 public:
  explicit Decoder(const DecodeLimits& limits);
  ~Decoder();
  Decoder(const Decoder&) = delete;
  Decoder& operator=(const Decoder&) = delete;

  // Reads the header only: the picture's size, with EXIF orientation applied where the limits say so.
  // Errors: kEmpty, kNotAnImage, kUnsupported, kTooLarge, kTruncated, kCorrupt, kOutOfMemory; `diagnosis` says more.
  std::error_code Peek(std::span<const uint8_t> bytes, ImageSize& size, Diagnosis& diagnosis) noexcept;

  // Decodes `request.region` into `image` and sets `box`. Peek need not have been called on these bytes.
  // Tolerant of data that ends early where the library gives pixels (counted as warnings; an error when strict),
  // as Pillow with LOAD_TRUNCATED_IMAGES is for JPEG; lossless formats that are cut are errors. What lies below the
  // region is not decoded where the format allows it (JPEG, PNG), so damage there is not seen, unless strict.
  // Requires: the region lies inside the picture and is not empty (an assertion).
  std::error_code Decode(std::span<const uint8_t> bytes, const DecodeRequest& request, Image& image, RegionBox& box,
                         Diagnosis& diagnosis) noexcept;

  // Bytes of scratch held by this decoder now: an image for pictures that are turned or made gray, and what our own
  // JPEG decoder needs. What the libraries hold while they decode is not counted.
  size_t scratch_bytes() const noexcept;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace stoker

// The first directory of a TIFF structure: the header of a TIFF file and of every EXIF block.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace stoker {

// A bounded reader of one directory. It follows no further offsets, so that no loop in the data can hold it.
// Threads: immutable; views the bytes and owns nothing.
class TiffDirectory {
 public:
  enum Tag : uint16_t {
    kImageWidth = 256,
    kImageLength = 257,
    kBitsPerSample = 258,
    kPhotometric = 262,
    kOrientation = 274,
    kSamplesPerPixel = 277,
    kPlanar = 284,
    kExtraSamples = 338,
    kSampleFormat = 339,
  };

  // Finds the directory; `valid` is false where the header is broken or the directory lies outside the bytes.
  explicit TiffDirectory(std::span<const uint8_t> tiff) noexcept;

  bool valid() const noexcept { return valid_; }
  // The first value of a tag of type SHORT or LONG; nothing where the tag is missing, of another type or out of bounds.
  std::optional<uint32_t> Find(Tag tag) const noexcept;
  // Where that first value lies in the bytes, and the number of its bytes (2 or 4).
  struct Place {
    size_t offset_bytes = 0;
    int width_bytes = 0;
  };
  std::optional<Place> Locate(Tag tag) const noexcept;

 private:
  uint16_t Read16(size_t offset) const noexcept;
  uint32_t Read32(size_t offset) const noexcept;

  std::span<const uint8_t> tiff_;
  size_t entries_offset_ = 0;
  size_t entries_ = 0;
  bool big_endian_ = false;
  bool valid_ = false;
};

}  // namespace stoker

// Pixels in memory: sizes, rectangles, views, and the one growing buffer that owns them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace stoker {

// Width and height in pixels.
struct ImageSize {
  int32_t width = 0;
  int32_t height = 0;
  friend bool operator==(const ImageSize&, const ImageSize&) = default;
};

// A rectangle of whole pixels; (x, y) is its top left corner.
struct Rect {
  int32_t x = 0;
  int32_t y = 0;
  int32_t width = 0;
  int32_t height = 0;
  friend bool operator==(const Rect&, const Rect&) = default;
};

// What is kept of a picture's colours: one gray channel or interleaved R, G, B.
enum class Channels : uint8_t { kGray = 1, kRgb = 3 };

// A view of interleaved uint8 pixels; owns nothing. Rows lie `stride_bytes` apart. Kernels may read, never use,
// up to kImagePadding bytes behind the last pixel (`Image` guarantees them).
struct ImageView {
  const uint8_t* pixels = nullptr;
  size_t stride_bytes = 0;
  ImageSize size;
  int32_t channels = 0;

  const uint8_t* row(int32_t y) const { return pixels + static_cast<size_t>(y) * stride_bytes; }
};

inline constexpr size_t kImagePadding = 128;

// A picture in memory that is used again and again: it grows to the largest picture seen and never shrinks.
// Threads: none of its own; one thread at a time.
class Image {
 public:
  // Makes room for `size` x `channels`; the old pixels are lost. Returns false where there is no memory for it.
  // Requires: size and channels positive.
  [[nodiscard]] bool Reset(ImageSize size, int32_t channels) noexcept;
  // Grows to `bytes` and touches them, so that later pictures up to that take no new memory; the old pixels are lost.
  // Without memory nothing changes.
  void Reserve(size_t bytes) noexcept;
  // What a whole picture of this size takes.
  static size_t BytesFor(ImageSize size, int32_t channels) noexcept;

  uint8_t* row(int32_t y) noexcept { return pixels_.get() + static_cast<size_t>(y) * stride_bytes_; }
  size_t stride_bytes() const noexcept { return stride_bytes_; }
  ImageSize size() const noexcept { return size_; }
  int32_t channels() const noexcept { return channels_; }
  // Bytes held now, padding included: the scratch term of the memory report.
  size_t capacity_bytes() const noexcept { return capacity_bytes_; }
  ImageView view() const noexcept { return {pixels_.get(), stride_bytes_, size_, channels_}; }

 private:
  // Replaces the memory by `bytes`; false where there are none.
  bool Allocate(size_t bytes) noexcept;

  struct Free {
    void operator()(uint8_t* memory) const noexcept;
  };
  std::unique_ptr<uint8_t[], Free> pixels_;
  size_t capacity_bytes_ = 0;
  size_t stride_bytes_ = 0;
  ImageSize size_;
  int32_t channels_ = 0;
};

}  // namespace stoker

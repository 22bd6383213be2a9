#include "decode/image.h"

#include <cassert>
#include <cstdint>
#include <cstring>
#include <new>

namespace stoker {
namespace {

// Rows begin on cache lines, which are also the widest vectors' width.
constexpr size_t kAlignment = 64;

size_t StrideOf(int32_t width, int32_t channels) {
  return (static_cast<size_t>(width) * static_cast<size_t>(channels) + kAlignment - 1) / kAlignment * kAlignment;
}

}  // namespace

size_t Image::BytesFor(ImageSize size, int32_t channels) noexcept {
  return StrideOf(size.width, channels) * static_cast<size_t>(size.height) + kImagePadding;
}

bool Image::Allocate(size_t bytes) noexcept {
  pixels_.reset();  // first, so that the old and the new never exist together
  capacity_bytes_ = 0;
  size_ = {};
  if (bytes > PTRDIFF_MAX) return false;  // no object may be as large
  pixels_.reset(static_cast<uint8_t*>(::operator new (bytes, std::align_val_t{kAlignment}, std::nothrow)));
  if (!pixels_) return false;
  capacity_bytes_ = bytes;
  return true;
}

bool Image::Reset(ImageSize size, int32_t channels) noexcept {
  assert(size.width > 0 && size.height > 0 && channels > 0);
  const size_t needed_bytes = BytesFor(size, channels);
  if (needed_bytes > capacity_bytes_ && !Allocate(needed_bytes)) return false;
  stride_bytes_ = StrideOf(size.width, channels);
  size_ = size;
  channels_ = channels;
  return true;
}

void Image::Reserve(size_t bytes) noexcept {
  if (bytes > capacity_bytes_ && Allocate(bytes)) std::memset(pixels_.get(), 0, bytes);
}

void Image::Free::operator()(uint8_t* memory) const noexcept {
  ::operator delete (memory, std::align_val_t{kAlignment});
}

}  // namespace stoker

#include "decode/image.h"

#include <cassert>
#include <cstdint>
#include <new>

namespace stoker {
namespace {

// Rows begin on cache lines, which are also the widest vectors' width.
constexpr size_t kAlignment = 64;

}  // namespace

bool Image::Reset(ImageSize size, int32_t channels) noexcept {
  assert(size.width > 0 && size.height > 0 && channels > 0);
  const size_t row_bytes = static_cast<size_t>(size.width) * static_cast<size_t>(channels);
  const size_t stride_bytes = (row_bytes + kAlignment - 1) / kAlignment * kAlignment;
  const size_t needed_bytes = stride_bytes * static_cast<size_t>(size.height) + kImagePadding;
  if (needed_bytes > capacity_bytes_) {
    pixels_.reset();  // first, so that the old and the new never exist together
    capacity_bytes_ = 0;
    size_ = {};
    if (needed_bytes > PTRDIFF_MAX) return false;  // no object may be as large
    pixels_.reset(static_cast<uint8_t*>(::operator new (needed_bytes, std::align_val_t{kAlignment}, std::nothrow)));
    if (!pixels_) return false;
    capacity_bytes_ = needed_bytes;
  }
  stride_bytes_ = stride_bytes;
  size_ = size;
  channels_ = channels;
  return true;
}

void Image::Free::operator()(uint8_t* memory) const noexcept {
  ::operator delete (memory, std::align_val_t{kAlignment});
}

}  // namespace stoker

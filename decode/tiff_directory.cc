#include "decode/tiff_directory.h"

#include <algorithm>

namespace stoker {
namespace {

constexpr size_t kEntryBytes = 12;
constexpr uint16_t kShort = 3;
constexpr uint16_t kLong = 4;

}  // namespace

TiffDirectory::TiffDirectory(std::span<const uint8_t> tiff) noexcept : tiff_(tiff) {
  if (tiff.size() < 10 || tiff[0] != tiff[1] || (tiff[0] != 'I' && tiff[0] != 'M')) return;
  big_endian_ = tiff[0] == 'M';
  if (Read16(2) != 42) return;
  const size_t directory = Read32(4);
  if (directory < 8 || directory > tiff.size() - 2) return;
  entries_offset_ = directory + 2;
  // A count beyond the data is cut to what is there: the entries that exist are still good.
  entries_ = std::min<size_t>(Read16(directory), (tiff.size() - entries_offset_) / kEntryBytes);
  valid_ = true;
}

std::optional<TiffDirectory::Place> TiffDirectory::Locate(Tag tag) const noexcept {
  for (size_t i = 0; i < entries_; ++i) {
    const size_t entry = entries_offset_ + i * kEntryBytes;
    if (Read16(entry) != tag) continue;
    const uint16_t type = Read16(entry + 2);
    const size_t count = Read32(entry + 4);
    if ((type != kShort && type != kLong) || count == 0) return std::nullopt;
    const size_t width = type == kShort ? 2 : 4;
    // Values of up to four bytes lie in the entry itself, longer ones where it points to.
    const size_t offset = count <= 4 / width ? entry + 8 : Read32(entry + 8);
    if (offset > tiff_.size() - width) return std::nullopt;
    return Place{offset, static_cast<int>(width)};
  }
  return std::nullopt;
}

std::optional<uint32_t> TiffDirectory::Find(Tag tag) const noexcept {
  const std::optional<Place> place = Locate(tag);
  if (!place) return std::nullopt;
  return place->width_bytes == 2 ? Read16(place->offset_bytes) : Read32(place->offset_bytes);
}

uint16_t TiffDirectory::Read16(size_t offset) const noexcept {
  const uint8_t* p = tiff_.data() + offset;
  return static_cast<uint16_t>(big_endian_ ? p[0] << 8 | p[1] : p[1] << 8 | p[0]);
}

uint32_t TiffDirectory::Read32(size_t offset) const noexcept {
  const uint32_t first = Read16(offset);
  const uint32_t second = Read16(offset + 2);
  return big_endian_ ? first << 16 | second : second << 16 | first;
}

}  // namespace stoker

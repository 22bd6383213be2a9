// What a first decode learns of a JPEG, so that later ones begin at any row: where each row of MCUs starts.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "decode/jpeg/frame.h"

namespace stoker {

// Where the entropy-coded data of a row of MCUs begins, and what its DC coefficients are differences to.
struct RowMark {
  uint64_t bit = 0;  // 8 * (offset of its first byte in the file) + bits of that byte that belong to the row before
  std::array<int16_t, kMaxComponents> dc{};
  friend bool operator==(const RowMark&, const RowMark&) = default;
};

// The marks of one picture's rows from the first to as many as were seen. Packed, about six bytes a row, and tied to
// the very bytes that they were taken from by a checksum of themselves and of all bytes before the last mark.
// Threads: none of its own; one thread at a time. Holds its memory from picture to picture.
class JpegMarks {
 public:
  // Forgets everything.
  void Clear() noexcept;
  // Takes over packed marks, which may be anything: what is wrong with them shows in Unpack. No more than kMaxBytes;
  // nothing where there is no memory.
  void Assign(std::span<const uint8_t> packed) noexcept;
  std::span<const uint8_t> packed() const noexcept { return packed_; }
  // Packs replaced what was assigned: there is something to keep.
  bool grew() const noexcept { return grew_; }
  // Bytes held now.
  size_t capacity_bytes() const noexcept { return packed_.capacity() + marks_.capacity() * sizeof(RowMark); }

  // The marks, where they belong to this picture: not more than it has rows, rising, within the file, and of the same
  // bytes. Empty otherwise. Valid until the next Assign, Clear, or Pack.
  std::span<const RowMark> Unpack(std::span<const uint8_t> file, const JpegFrame& frame);
  // Keeps `marks`, where they are more than Unpack gave. Requires: a decode of this file has learned them.
  void Pack(std::span<const uint8_t> file, const JpegFrame& frame, std::span<const RowMark> marks);

  // How many rows packed marks cover, without looking further; 0 where there are none. For choosing between two.
  static uint32_t RowsIn(std::span<const uint8_t> packed) noexcept;
  // No packed marks are longer: of a picture with the most rows that JPEG allows.
  static constexpr size_t kMaxBytes = 16 + 8192 * 16;

 private:
  std::vector<uint8_t> packed_;
  std::vector<RowMark> marks_;
  bool grew_ = false;
};

}  // namespace stoker

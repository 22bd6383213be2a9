// Entropy-coded bytes without what JPEG stuffs between them, so that the decoder's loop need not look for it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace stoker {

struct Unstuffed {
  size_t taken = 0;  // of the stuffed bytes; at a marker, up to its 0xFF
  size_t given = 0;
  bool at_marker = false;  // false: all was taken, but for a 0xFF at the end, of which nobody knows what it is
};

// Room that Unstuff wants behind the bytes it gives: it writes whole vectors.
inline constexpr size_t kUnstuffRoom = 64;

// Copies `from` up to a marker, leaving out the 0 behind each 0xFF. Any 0xFF with something else behind it counts as a
// marker. Requires: from.size() + kUnstuffRoom bytes at `to`.
Unstuffed Unstuff(std::span<const uint8_t> from, uint8_t* to) noexcept;
// The same, a byte at a time: the oracle.
Unstuffed UnstuffByBytes(std::span<const uint8_t> from, uint8_t* to) noexcept;

// How many of the bytes are 0xFF, so how many zeros were left out of them.
size_t CountStuffed(std::span<const uint8_t> unstuffed) noexcept;

}  // namespace stoker

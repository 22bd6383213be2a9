// Bytes put together piece by piece: what the encoders of test pictures share.
#pragma once

#include <algorithm>
#include <iterator>
#include <string_view>

#include "tests/decode/encode.h"

namespace stoker {

inline void Append(Bytes& out, std::string_view text) { std::copy(text.begin(), text.end(), std::back_inserter(out)); }
inline void Append(Bytes& out, const Bytes& bytes) { std::copy(bytes.begin(), bytes.end(), std::back_inserter(out)); }

inline void AppendNumber(Bytes& out, uint32_t value, int bytes, bool big_endian) {
  for (int i = 0; i < bytes; ++i) out.push_back(static_cast<uint8_t>(value >> 8 * (big_endian ? bytes - 1 - i : i)));
}

// The low byte that a sample of 16 bits gets.
inline uint8_t LowByte(uint8_t high) { return static_cast<uint8_t>(high * 7 + 200); }

}  // namespace stoker

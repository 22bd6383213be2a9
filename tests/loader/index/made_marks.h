// Marks of pictures that there are not, for tests of what keeps them.
#pragma once

#include <cstdint>
#include <vector>

#include "decode/jpeg/marks.h"

namespace stoker {

// Of a picture's first `rows`, at least 1; about six bytes each. Other pictures have other bytes.
inline JpegMarks MadeMarks(uint32_t rows, uint64_t picture) {
  static const std::vector<uint8_t> file(8192 * 32);
  JpegFrame frame;
  frame.components = kMaxComponents;
  frame.mcus_down = static_cast<int32_t>(rows);
  std::vector<RowMark> marks(1);
  while (marks.size() < rows) {
    const auto row = static_cast<uint32_t>(marks.size());
    const auto dc = static_cast<int16_t>((row * 37 + picture * 101) % 1000);
    marks.push_back({marks.back().bit + 130 + picture % 100, {dc, static_cast<int16_t>(dc / 20), 0}});
  }
  JpegMarks made;
  made.Pack(file, frame, marks);
  return made;
}

inline std::vector<uint8_t> BytesOf(const JpegMarks& marks) { return {marks.packed().begin(), marks.packed().end()}; }

}  // namespace stoker

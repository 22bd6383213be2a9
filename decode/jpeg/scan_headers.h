// What stands between the scans of a JPEG whose components come in several: small segments that set Huffman tables and
// restarts, and each scan's header.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "decode/jpeg/frame.h"

namespace stoker {

// A scan with some, not all, of the components.
struct ScanHeader {
  struct Component {
    size_t index = 0;  // in the frame; rising
    const HuffmanSpec* dc = nullptr;
    const HuffmanSpec* ac = nullptr;
  };
  std::array<Component, kMaxComponents - 1> component;
  size_t components = 0;
  int32_t restart_interval = 0;  // MCUs; 0: none
  size_t begin = 0;              // of the first entropy-coded byte
};

// Reads markers as libjpeg does, or gives up: on all of which it would warn, and on much of what is seldom seen.
// Threads: one thread at a time.
class ScanHeaders {
 public:
  enum class Found : uint8_t { kScan, kEnd, kOdd };

  // Begins at the front of a file whose header, up to its first scan, libjpeg has taken without an error. Both outlive
  // the use.
  void Open(std::span<const uint8_t> file, const JpegFrame& frame) noexcept;
  // Reads on to the next scan's header, valid until the next call, or to the end of the picture.
  // Requires: the last scan's `begin` <= at <= file.size(), where the marker behind that scan's data is; the first call
  // has no scan before it and reads from the front, whatever `at`.
  Found Next(size_t at, ScanHeader& header) noexcept;

 private:
  bool ReadSegment(uint8_t marker, std::span<const uint8_t> content) noexcept;
  bool ReadTables(std::span<const uint8_t> content) noexcept;
  bool ReadScan(std::span<const uint8_t> content, ScanHeader& header) noexcept;

  std::span<const uint8_t> file_;
  const JpegFrame* frame_ = nullptr;
  bool before_scans_ = true;
  int32_t restart_interval_ = 0;
  // Of DC and AC. One that no segment has set holds no codes, so that a scan of it is odd.
  std::array<std::array<HuffmanSpec, 4>, 2> tables_;
};

}  // namespace stoker

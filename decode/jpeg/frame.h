// What a JPEG's headers say, and the coefficients between its two halves: the entropy decoder gives rows of blocks, the
// reconstruction makes pixels of them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "decode/image.h"

namespace stoker {

inline constexpr int kBlockSize = 8;  // samples along an edge
inline constexpr int kBlockCoefficients = 64;
inline constexpr int kMaxComponents = 3;
inline constexpr int kMaxSampling = 2;  // of one component, either way; more goes to libjpeg

// A Huffman table as DHT holds it: how many codes there are of each length, and their symbols in order.
struct HuffmanSpec {
  std::array<uint8_t, 17> counts{};  // [1] to [16]
  std::array<uint8_t, 256> symbols{};
  friend bool operator==(const HuffmanSpec&, const HuffmanSpec&) = default;
};

struct JpegComponent {
  uint8_t id = 0;  // what scans call it
  int h = 1;       // sampling factors; 1 and 1 where there is only one component, whatever the file says
  int v = 1;
  std::array<uint16_t, kBlockCoefficients> quantization{};  // in natural (row by row) order
  HuffmanSpec dc, ac;                                       // of the scan with all components
};

// A picture that the own decoder may read: 8 bits, Huffman-coded, sequential, with one (gray) or three (YCbCr)
// components, all in one scan, in their order, or in several, each in one of them; sampled 1x1, 2x1, 1x2 or 2x2 with
// chroma 1x1.
struct JpegFrame {
  ImageSize size;
  int components = 1;
  int max_h = 1;
  int max_v = 1;
  int32_t mcus_across = 0;
  int32_t mcus_down = 0;
  int32_t restart_interval = 0;  // MCUs; 0: none
  size_t scan_offset = 0;        // of the first entropy-coded byte
  bool separate_scans = false;   // what scans say is then read with them: Huffman tables, the restart interval
  std::array<JpegComponent, kMaxComponents> component;

  int mcu_width() const { return kBlockSize * max_h; }  // pixels
  int mcu_height() const { return kBlockSize * max_v; }
};

// MCU columns [x0, x1) of MCU rows [y0, y1).
struct McuWindow {
  int32_t x0 = 0, y0 = 0, x1 = 0, y1 = 0;
  friend bool operator==(const McuWindow&, const McuWindow&) = default;
};

// One 8x8 block, quantized: the DC coefficient, and those AC coefficients that are not zero.
struct CoefficientBlock {
  uint64_t mask = 0;  // bit k: the AC coefficient at zigzag place k is among `values`; bit 0 is always clear
  const int16_t* values = nullptr;  // popcount(mask) of them, in zigzag order; 64 may be read whatever the mask
  int16_t dc = 0;
};

// The blocks of one row of MCUs. blocks[c][j] begins row j (of component c's v) of blocks, at MCU column window.x0, and
// goes on to window.x1: (x1 - x0) * h blocks.
struct McuRow {
  std::array<std::array<const CoefficientBlock*, kMaxSampling>, kMaxComponents> blocks{};
};

}  // namespace stoker

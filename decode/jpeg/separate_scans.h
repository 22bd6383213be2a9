// JPEGs whose components come in several scans. The last one's data are needed for the first pixel, so all are decoded
// at once, and what a window needs is kept.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "decode/jpeg/frame.h"
#include "decode/jpeg/huffman_tables.h"
#include "decode/jpeg/mcu_strip.h"
#include "decode/jpeg/scan_headers.h"
#include "decode/jpeg/sequential_rows.h"

namespace stoker {

// Threads: one thread at a time. Holds its memory, in proportion to the largest window (24 bytes a block, and two for
// each coefficient that is not zero), from picture to picture.
class SeparateScans {
 public:
  // Decodes all scans, up to the end of the picture, with the caller's tables and rows. False: something is odd,
  // anywhere; the library reads all of the file before it gives a pixel, too. Throws std::bad_alloc.
  // Requires: frame.separate_scans; the window lies in the frame.
  bool Decode(std::span<const uint8_t> file, const JpegFrame& frame, const McuWindow& window, size_t lanes,
              HuffmanTables& tables, SequentialRows& rows);

  // MCU row y of the window, valid until the next Decode. Blocks that the file lacks, since they only fill up MCUs, are
  // zero. Requires: the last Decode returned true.
  McuRow Row(int32_t y) const noexcept;

  size_t scratch_bytes() const noexcept;

 private:
  // The window's blocks of a component, row by row, and their values in the same order.
  struct Kept {
    std::vector<CoefficientBlock> blocks;
    std::vector<int16_t> values;
    size_t across = 0;  // blocks
    int v = 1;

    void Reset(const JpegComponent& component, const McuWindow& window);
    size_t RowBegin(int32_t mcu_row, int j) const noexcept;
    // Takes over the values of blocks from `begin` on. Their pointers are set later: values still move.
    void TakeValues(const CoefficientBlock* begin, const CoefficientBlock* end);
    void PointToValues();
  };

  bool DecodeScan(std::span<const uint8_t> file, const ScanHeader& scan, size_t lanes, HuffmanTables& tables,
                  SequentialRows& rows);
  void Keep(const ScanShape& shape, const DecodedRow& decoded, int32_t row, const ScanHeader& scan, DcValues& dc);

  const JpegFrame* frame_ = nullptr;  // within Decode
  McuWindow window_;
  ScanHeaders headers_;
  size_t components_ = 0;
  std::array<Kept, kMaxComponents> kept_;
};

}  // namespace stoker

// Huffman decoding at half the library's cost or less: one look-up for two symbols, no branches but for rare codes, and
// two places of the data decoded side by side.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "decode/jpeg/frame.h"
#include "decode/jpeg/huffman_tables.h"
#include "decode/jpeg/marked_rows.h"
#include "decode/jpeg/marks.h"
#include "decode/jpeg/mcu_strip.h"
#include "decode/jpeg/separate_scans.h"
#include "decode/jpeg/sequential_rows.h"

namespace stoker {

// Gives the coefficients that the library would, row by row, or gives up: on anything in the data of which the library
// would warn, and on a little of what it would not. Never reads or writes outside of its memory, whatever the data.
// Threads: one thread at a time. Holds its memory, in proportion to the widest picture, the longest file and the
// largest window of separate scans, from picture to picture.
class EntropyDecoder {
 public:
  // Begins a picture: `known` are its marks, as many as there are; where its scans are separate, they are not looked
  // at, none are learned, and all is decoded here.
  // False: it is the library's, or there is no memory. `file` outlives the use.
  // Requires: the window lies in the frame and is not empty; known marks are not more than the frame's rows, and rise
  // from the first row on, within the file, though they need not be right.
  bool Start(std::span<const uint8_t> file, const JpegFrame& frame, const McuWindow& window,
             std::span<const RowMark> known) noexcept;

  // Gives the window's next row, valid until the next call. False: something is odd, here or a few rows on, or there is
  // no memory; what was given of the picture so far is then of no use, since the library may read it differently.
  // Requires: Start returned true; not more calls than the window has rows, and none behind the first false.
  bool Next(McuRow& row) noexcept;

  // The marks of all rows known by now: those given to Start, and those that this decode has passed. Valid until the
  // next call of Next or Start.
  std::span<const RowMark> marks() const noexcept { return marks_; }

  // How many places are decoded side by side, 1 or 2. For comparison; holds from the next Start on.
  void set_lanes(size_t lanes) noexcept { lanes_ = lanes; }

  // Bytes held now.
  size_t scratch_bytes() const noexcept;

 private:
  bool MakeShape(const JpegFrame& frame) noexcept;
  void StartRows(std::span<const uint8_t> file, std::span<const RowMark> known, size_t scan_offset);
  bool Decode(DecodedRow& decoded) noexcept;
  void Give(const DecodedRow& decoded, bool wanted) noexcept;
  void LayOut(BlockRows& ends) noexcept;

  size_t lanes_ = 2;
  HuffmanTables tables_;
  ScanShape shape_;
  McuWindow window_;
  std::vector<RowMark> marks_;
  int32_t row_ = 0;         // the next one
  int32_t marked_end_ = 0;  // rows before this one begin and end where marks_ say
  MarkedRows marked_;
  SequentialRows sequential_;
  SeparateScans separate_;
  bool is_separate_ = false;
  std::vector<CoefficientBlock> blocks_;  // of the row that was given last, in the order of given_
  McuRow given_;
};

}  // namespace stoker

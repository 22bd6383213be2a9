// Rows of MCUs of which only the first one's place is known: one after the other, with a second lane that speculates.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "decode/jpeg/marks.h"
#include "decode/jpeg/mcu_strip.h"
#include "decode/jpeg/scan_bytes.h"
#include "decode/jpeg/speculation.h"

namespace stoker {

// Threads: one thread at a time. Holds its memory from picture to picture.
class SequentialRows {
 public:
  // Begins with row `begin`, where its mark is; rows up to `end` will be asked for, and of the picture's last row the
  // first `last_columns` MCUs: no row follows whose beginning could be learned. Requires: what is given outlives the
  // use.
  void Start(std::span<const uint8_t> file, const ScanShape& shape, const RowMark& mark, int32_t begin, int32_t end,
             int32_t last_columns, size_t lanes);

  // Gives the next row, valid until the next call. False: something is odd in it.
  bool Next(DecodedRow& decoded);
  // Where the marker behind the scan is in the file; 0 where something else is left before it. Requires: all of the
  // scan's rows were given.
  size_t EndInFile() const noexcept { return scan_.MarkerBehind(position_); }

  size_t scratch_bytes() const noexcept {
    return scan_.scratch_bytes() + strip_.scratch_bytes() + speculation_.scratch_bytes();
  }

 private:
  void Speculate();
  bool DecodeStretch(int32_t column, int32_t columns, bool goes_on, McuRun& run);
  bool DecodeLane() noexcept;
  int32_t MeetSpeculation(int32_t column, int32_t end, uint64_t begin) noexcept;
  void EndRow(DecodedRow& decoded);

  const ScanShape* shape_ = nullptr;
  const LaneKernels* kernels_ = nullptr;
  ScanBytes scan_;
  McuStrip strip_;
  Lane lane_;
  Speculation speculation_;
  uint64_t position_ = 0;  // in the scan's bytes: of the next MCU
  int32_t row_ = 0;        // the next one
  int32_t end_ = 0;
  int32_t last_columns_ = 0;
  bool at_odds_ = false;  // there is no restart marker where there should be one
  bool speculates_ = false;
};

}  // namespace stoker

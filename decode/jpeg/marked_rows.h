// Rows of MCUs whose places are known: each is decoded for itself, two side by side.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "decode/jpeg/marks.h"
#include "decode/jpeg/mcu_strip.h"
#include "decode/jpeg/scan_bytes.h"

namespace stoker {

// Threads: one thread at a time. Holds its memory from picture to picture.
class MarkedRows {
 public:
  // Begins with row `begin`; rows up to `end` will be asked for, and of each the first `columns` MCUs. Requires: there
  // are marks for all of them and for the row behind; what is given outlives the use.
  void Start(std::span<const uint8_t> file, const ScanShape& shape, std::span<const RowMark> marks, int32_t begin,
             int32_t end, int32_t columns, size_t lanes);

  // Gives the next row, valid until the next call. False: something is odd, in it or in one of the next three.
  bool Next(DecodedRow& decoded);

  size_t scratch_bytes() const noexcept;

 private:
  static constexpr size_t kRows = 4;  // being decoded, ready, or given
  static constexpr size_t kMaxLanes = 2;

  struct Row {
    McuStrip strip;
    ScanBytes scan;
    Lane lane;
    int32_t number = 0;
    int32_t decoded = 0;  // MCUs
    int32_t stop = 0;     // MCUs up to the lane's stop
    bool ready = false;
  };

  Row& RowOf(int32_t number) noexcept { return rows_[static_cast<size_t>(number) % kRows]; }
  Row* BeginRow();
  void BeginStretch(Row& row, uint64_t position);
  bool EndStretch(Row& row);

  std::span<const uint8_t> file_;
  const ScanShape* shape_ = nullptr;
  std::span<const RowMark> marks_;
  const LaneKernels* kernels_ = nullptr;
  std::array<Row, kRows> rows_;
  std::array<Row*, kMaxLanes> running_{};
  size_t lanes_ = kMaxLanes;
  int32_t columns_ = 0;
  int32_t begun_ = 0;  // the next row to begin
  int32_t given_ = 0;  // the next row to give
  int32_t end_ = 0;
};

}  // namespace stoker

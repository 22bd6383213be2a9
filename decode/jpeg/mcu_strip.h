// What the decoders of rows share: how MCUs follow each other in a scan, and memory for a strip of them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "decode/jpeg/lanes_kernels.h"

namespace stoker {

struct ScanShape {
  McuPattern pattern;
  int32_t across = 0;  // MCUs
  int32_t down = 0;
  int32_t restart_interval = 0;  // MCUs; 0: none

  // The number of an MCU in the scan.
  int64_t Mcu(int32_t row, int32_t column) const noexcept { return int64_t{row} * across + column; }
  // How many MCUs there are from this one on to the next restart.
  int64_t ToRestart(int64_t mcu) const noexcept {
    return restart_interval == 0 ? std::numeric_limits<int64_t>::max() : restart_interval - mcu % restart_interval;
  }
  bool RestartsAt(int64_t mcu) const noexcept { return restart_interval != 0 && mcu % restart_interval == 0; }
  // The number of the marker before an MCU at which the scan restarts.
  int RestartNumber(int64_t mcu) const noexcept { return static_cast<int>((mcu / restart_interval - 1) % 8); }
  size_t blocks(size_t mcus) const noexcept { return mcus * pattern.count; }
  // Adds the blocks of a component, h of them across and v down, to each MCU. False: a table is null.
  bool Add(size_t component, int h, int v, const DcTable* dc, const AcTable* ac) noexcept;
};

// MCUs side by side, decoded from the first on. Holds its memory from picture to picture.
struct McuStrip {
  std::vector<HalfBlock> halves;
  std::vector<int16_t> values;

  // Makes room for as many MCUs of this pattern.
  void Reserve(const McuPattern& pattern, size_t mcus) {
    if (halves.size() < 2 * mcus * pattern.count + 1) halves.resize(2 * mcus * pattern.count + 1);
    if (values.size() < MaxLaneValues(mcus * pattern.count)) values.resize(MaxLaneValues(mcus * pattern.count));
  }
  // Makes MCUs [begin, end) ready to be decoded, with the stop behind them. Requires: there is room.
  void Prepare(const McuPattern& pattern, size_t begin, size_t end) {
    ChosenLaneKernels().prepare(pattern, end - begin, &halves[2 * begin * pattern.count]);
  }

  size_t scratch_bytes() const noexcept {
    return halves.capacity() * sizeof(HalfBlock) + values.capacity() * sizeof(int16_t);
  }
};

// Decoded MCUs that lie side by side in a strip.
struct McuRun {
  const HalfBlock* halves = nullptr;
  const int16_t* values = nullptr;
  int32_t mcus = 0;
};

// A row of MCUs, from its first one on. Two strips may meet in it, twice.
struct DecodedRow {
  std::array<McuRun, 3> runs{};
  size_t count = 0;
  uint64_t next_row = 0;  // where the next row begins, as in RowMark; 0: unknown
};

// MCUs [begin, end) of a row.
struct Columns {
  int32_t begin = 0, end = 0;
};

// Makes blocks of the wanted MCUs of row `row`, written to to[component][row], which it advances, and passes the
// others. `dc`: what the row's DC coefficients are differences to; then those of the next row.
void CollectRow(const ScanShape& shape, const DecodedRow& decoded, int32_t row, const Columns& wanted, DcValues& dc,
                BlockRows& to) noexcept;

}  // namespace stoker

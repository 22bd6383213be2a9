#include "decode/jpeg/mcu_strip.h"

#include <algorithm>

namespace stoker {

bool ScanShape::Add(size_t component, int h, int v, const DcTable* dc, const AcTable* ac) noexcept {
  if (dc == nullptr || ac == nullptr) return false;
  for (int i = 0; i < h * v; ++i, ++pattern.count) {
    pattern.blocks[pattern.count] = {static_cast<uint8_t>(component), static_cast<uint8_t>(i / h)};
    pattern.halves[2 * pattern.count] = {dc->word(), 0};
    pattern.halves[2 * pattern.count + 1] = {ac->word(), 0};
  }
  return true;
}

void CollectRow(const ScanShape& shape, const DecodedRow& decoded, int32_t row, const Columns& wanted, DcValues& dc,
                BlockRows& to) noexcept {
  const LaneKernels& kernels = ChosenLaneKernels();
  int32_t column = 0;
  for (const McuRun& run : std::span(decoded.runs).first(decoded.count)) {
    const HalfBlock* halves = run.halves;
    const int16_t* values = run.values;
    for (const int32_t run_end = column + run.mcus; column < run_end;) {
      const bool collected = column >= wanted.begin && column < wanted.end;
      const int32_t stop = collected ? wanted.end : column < wanted.begin ? wanted.begin : run_end;
      const int32_t end = std::min(run_end, stop);
      const int64_t mcus = std::min<int64_t>(end - column, shape.ToRestart(shape.Mcu(row, column)));
      if (collected) {
        kernels.collect(shape.pattern, static_cast<size_t>(mcus), halves, values, dc, to);
      } else {
        kernels.skip(shape.pattern, static_cast<size_t>(mcus), halves, values, dc);
      }
      column += static_cast<int32_t>(mcus);
      if (shape.RestartsAt(shape.Mcu(row, column))) dc = {};
    }
  }
}

}  // namespace stoker

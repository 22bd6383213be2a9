#include "decode/jpeg/sequential_rows.h"

#include <algorithm>

namespace stoker {
namespace {

// Below, falling into step costs more than there is to gain.
constexpr uint64_t kLeastSpeculation = uint64_t{8} * 1500;

}  // namespace

void SequentialRows::Start(std::span<const uint8_t> file, const ScanShape& shape, const RowMark& mark, int32_t begin,
                           int32_t end, int32_t last_columns, size_t lanes) {
  shape_ = &shape;
  kernels_ = &ChosenLaneKernels();
  const auto mcus = static_cast<size_t>(shape.across);
  strip_.Reserve(shape.pattern, mcus);
  scan_.Open(file, mark.bit / 8, file.size(), MaxLaneBytes(shape.blocks(mcus)));
  position_ = mark.bit % 8;
  row_ = begin;
  end_ = end;
  last_columns_ = last_columns;
  at_odds_ = false;
  speculation_.Drop();
  // With restarts, the second lane would have to know of them.
  speculates_ = lanes > 1 && shape.restart_interval == 0;
}

bool SequentialRows::Next(DecodedRow& decoded) {
  if (at_odds_) return false;
  decoded = {};
  if (speculates_ && !speculation_.exists()) Speculate();
  McuRun* own = nullptr;  // the run that the next own MCUs go on with
  const int32_t columns = row_ + 1 < shape_->down ? shape_->across : last_columns_;
  for (int32_t column = 0; column < columns;) {
    McuRun run;
    if (speculation_.is_right()) {
      run = speculation_.Take(columns - column, position_);
      if (position_ > scan_.bits()) return false;
      if (run.mcus > 0) decoded.runs[decoded.count++] = run;
      own = nullptr;
    } else {
      if (!DecodeStretch(column, columns, own != nullptr, run)) return false;
      if (own != nullptr) {
        own->mcus += run.mcus;
      } else if (run.mcus > 0) {
        own = &(decoded.runs[decoded.count++] = run);
      }
    }
    column += run.mcus;
  }
  EndRow(decoded);
  return true;
}

// In the middle of what is still wanted, if that is enough.
void SequentialRows::Speculate() {
  if (position_ >= scan_.bits()) return;
  const uint64_t to_end = static_cast<uint64_t>(shape_->Mcu(shape_->down - row_, 0));  // MCUs
  const auto wanted = static_cast<uint64_t>(shape_->Mcu(end_ - row_, 0));
  // Not all of what there is room for: MCUs behind the guess may be smaller than those before it.
  const uint64_t mcus = std::min<uint64_t>(wanted / 2, Speculation::Capacity(*shape_) * 3 / 4);
  const uint64_t distance = (scan_.bits() - position_) * mcus / to_end;
  if (distance < kLeastSpeculation) return;
  speculation_.Begin(*shape_, scan_, position_ + distance, position_ + 2 * distance, wanted);
}

// MCUs from `column` on to the next restart or to `columns`, and whatever the second lane gets done meanwhile. The run
// is of those that are before the speculation's, if the two meet.
bool SequentialRows::DecodeStretch(int32_t column, int32_t columns, bool goes_on, McuRun& run) {
  const int64_t mcu = shape_->Mcu(row_, column);
  if (column > 0 && shape_->RestartsAt(mcu)) {
    if (!scan_.PassRestart(shape_->RestartNumber(mcu), position_)) return false;
    position_ = 0;
  }
  const uint64_t begin = position_;
  const int32_t end = column + static_cast<int32_t>(std::min<int64_t>(columns - column, shape_->ToRestart(mcu)));
  const size_t blocks = shape_->blocks(static_cast<size_t>(column));
  strip_.Prepare(shape_->pattern, static_cast<size_t>(column), static_cast<size_t>(end));
  run.halves = &strip_.halves[2 * blocks];
  int16_t* const values = goes_on ? lane_.values : &strip_.values[kBlockCoefficients * blocks];
  run.values = values;
  lane_.Begin(scan_.bytes(), position_, &strip_.halves[2 * blocks], values);
  if (!DecodeLane() || position_ > scan_.bits()) return false;
  run.mcus = speculation_.exists() ? MeetSpeculation(column, end, begin) : end - column;
  return true;
}

bool SequentialRows::DecodeLane() noexcept {
  for (;;) {
    LaneOfTwo ended = {LaneEnd::kDone, 0};
    if (speculation_.is_running()) {
      ended = kernels_->two_with_trail(lane_, speculation_.lane());
    } else {
      ended.end = speculation_.exists() ? kernels_->one_with_trail(lane_) : kernels_->one(lane_);
    }
    if (ended.lane == 0) {
      position_ = lane_.Position(scan_.bytes());
      return ended.end == LaneEnd::kDone;
    }
    speculation_.EndStretch(ended.end);
  }
}

// How many of the MCUs are before those of the speculation: all, where they do not meet.
int32_t SequentialRows::MeetSpeculation(int32_t column, int32_t end, uint64_t begin) noexcept {
  for (int32_t mcu = column; mcu < end; ++mcu) {
    const size_t last_half = 2 * shape_->blocks(static_cast<size_t>(mcu));
    const uint64_t position = mcu == column ? begin : TrailPosition(strip_.halves[last_half - 1].table, scan_.bytes());
    if (!speculation_.Meets(position)) continue;
    position_ = position;
    return mcu - column;
  }
  if (speculation_.IsBefore(position_)) {
    // So rare that it is not tried again.
    speculation_.Drop();
    speculates_ = false;
  }
  return end - column;
}

void SequentialRows::EndRow(DecodedRow& decoded) {
  ++row_;
  if (row_ == shape_->down) return;
  const int64_t next = shape_->Mcu(row_, 0);
  if (shape_->RestartsAt(next)) {
    // Not yet an error: the row that begins here may not be wanted.
    at_odds_ = !scan_.PassRestart(shape_->RestartNumber(next), position_);
    if (at_odds_) return;
    position_ = 0;
  }
  decoded.next_row = scan_.PlaceInFile(position_);
}

}  // namespace stoker

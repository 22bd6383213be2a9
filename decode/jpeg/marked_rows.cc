#include "decode/jpeg/marked_rows.h"

#include <algorithm>

namespace stoker {

void MarkedRows::Start(std::span<const uint8_t> file, const ScanShape& shape, std::span<const RowMark> marks,
                       int32_t begin, int32_t end, int32_t columns, size_t lanes) {
  file_ = file;
  shape_ = &shape;
  marks_ = marks;
  kernels_ = &ChosenLaneKernels();
  lanes_ = std::min(lanes, kMaxLanes);
  columns_ = columns;
  begun_ = given_ = begin;
  end_ = end;
  running_ = {};
  for (Row& row : rows_) row.strip.Reserve(shape.pattern, static_cast<size_t>(columns));
}

bool MarkedRows::Next(DecodedRow& decoded) {
  const int32_t number = given_++;
  while (begun_ <= number || !RowOf(number).ready) {
    for (size_t i = 0; i < lanes_; ++i) {
      if (running_[i] == nullptr) running_[i] = BeginRow();
    }
    LaneOfTwo ended;
    if (running_[0] != nullptr && running_[1] != nullptr) {
      ended = kernels_->two(running_[0]->lane, running_[1]->lane);
    } else {
      ended.lane = running_[0] != nullptr ? 0 : 1;
      ended.end = kernels_->one(running_[ended.lane]->lane);
    }
    Row*& row = running_[ended.lane];
    if (ended.end == LaneEnd::kOdd || !EndStretch(*row)) return false;
    if (row->ready) row = nullptr;
  }
  decoded = {};
  const McuStrip& strip = RowOf(number).strip;
  decoded.runs[decoded.count++] = {strip.halves.data(), strip.values.data(), columns_};
  return true;
}

size_t MarkedRows::scratch_bytes() const noexcept {
  size_t bytes = 0;
  for (const Row& row : rows_) bytes += row.strip.scratch_bytes() + row.scan.scratch_bytes();
  return bytes;
}

MarkedRows::Row* MarkedRows::BeginRow() {
  // The row that was given last is no longer used.
  if (begun_ == end_ || begun_ == given_ - 1 + static_cast<int32_t>(kRows)) return nullptr;
  Row& row = RowOf(begun_);
  row.number = begun_++;
  row.decoded = 0;
  row.ready = false;
  row.lane.values = row.strip.values.data();
  const uint64_t bit = marks_[static_cast<size_t>(row.number)].bit;
  // The byte that both rows share is part of this one, with the 0 that may be stuffed behind it.
  const uint64_t next = marks_[static_cast<size_t>(row.number) + 1].bit;
  const uint64_t end = std::min<uint64_t>(next / 8 + (next % 8 != 0 ? 2 : 0), file_.size());
  row.scan.Open(file_, bit / 8, end, MaxLaneBytes(shape_->blocks(static_cast<size_t>(columns_))));
  BeginStretch(row, bit % 8);
  return &row;
}

// Up to the row's end or the next restart, whatever comes first.
void MarkedRows::BeginStretch(Row& row, uint64_t position) {
  const int64_t to_restart = shape_->ToRestart(shape_->Mcu(row.number, row.decoded));
  row.stop = row.decoded + static_cast<int32_t>(std::min<int64_t>(columns_ - row.decoded, to_restart));
  const auto first = static_cast<size_t>(row.decoded);
  row.strip.Prepare(shape_->pattern, first, static_cast<size_t>(row.stop));
  row.lane.Begin(row.scan.bytes(), position, &row.strip.halves[2 * shape_->blocks(first)], row.lane.values);
}

bool MarkedRows::EndStretch(Row& row) {
  const uint64_t position = row.lane.Position(row.scan.bytes());
  if (position > row.scan.bits()) return false;
  row.decoded = row.stop;
  row.ready = row.decoded == columns_;
  if (row.ready) return true;
  if (!row.scan.PassRestart(shape_->RestartNumber(shape_->Mcu(row.number, row.decoded)), position)) return false;
  BeginStretch(row, 0);
  return true;
}

}  // namespace stoker

#include "decode/jpeg/separate_scans.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace stoker {
namespace {

// How many blocks of a component cover the picture's `pixels`, either way.
int32_t BlocksOver(int32_t pixels, int factor, int max_factor) {
  const int32_t block = kBlockSize * max_factor / factor;  // pixels; factors are 1 or 2
  return (pixels + block - 1) / block;
}

// 6 MB of blocks, and at most 34 MB of values: all are kept until the last scan is read. More is the library's.
constexpr int64_t kMaxBlocks = int64_t{1} << 18;

bool IsSmallEnough(const JpegFrame& frame, const McuWindow& window) {
  int64_t blocks = 0;
  for (const JpegComponent& component : std::span(frame.component).first(static_cast<size_t>(frame.components))) {
    blocks += int64_t{window.x1 - window.x0} * (window.y1 - window.y0) * component.h * component.v;
  }
  return blocks <= kMaxBlocks;
}

bool IsAlone(const ScanHeader& scan) { return scan.components == 1; }

}  // namespace

void SeparateScans::Kept::Reset(const JpegComponent& component, const McuWindow& window) {
  v = component.v;
  across = static_cast<size_t>(window.x1 - window.x0) * static_cast<size_t>(component.h);
  blocks.assign(RowBegin(window.y1 - window.y0, 0), {});
  values.clear();
}

size_t SeparateScans::Kept::RowBegin(int32_t mcu_row, int j) const noexcept {
  return static_cast<size_t>(int64_t{mcu_row} * v + j) * across;
}

void SeparateScans::Kept::TakeValues(const CoefficientBlock* begin, const CoefficientBlock* end) {
  for (const CoefficientBlock* block = begin; block < end; ++block) {
    values.insert(values.end(), block->values, block->values + std::popcount(block->mask));
  }
}

void SeparateScans::Kept::PointToValues() {
  values.resize(values.size() + kBlockCoefficients);  // may be read
  const int16_t* next = values.data();
  for (CoefficientBlock& block : blocks) {
    block.values = next;
    next += std::popcount(block.mask);
  }
}

bool SeparateScans::Decode(std::span<const uint8_t> file, const JpegFrame& frame, const McuWindow& window, size_t lanes,
                           HuffmanTables& tables, SequentialRows& rows) {
  if (!IsSmallEnough(frame, window)) return false;
  frame_ = &frame;
  window_ = window;
  components_ = static_cast<size_t>(frame.components);
  for (size_t c = 0; c < components_; ++c) kept_[c].Reset(frame.component[c], window);
  headers_.Open(file, frame);
  std::array<bool, kMaxComponents> seen{};
  ScanHeader scan;
  ScanHeaders::Found found = headers_.Next(0, scan);
  for (; found == ScanHeaders::Found::kScan; found = headers_.Next(rows.EndInFile(), scan)) {
    for (size_t i = 0; i < scan.components; ++i) {
      if (std::exchange(seen[scan.component[i].index], true)) return false;
    }
    if (!DecodeScan(file, scan, lanes, tables, rows)) return false;
  }
  if (found != ScanHeaders::Found::kEnd) return false;
  if (!std::all_of(seen.begin(), seen.begin() + frame.components, [](bool is_seen) { return is_seen; })) return false;
  for (size_t c = 0; c < components_; ++c) kept_[c].PointToValues();
  return true;
}

bool SeparateScans::DecodeScan(std::span<const uint8_t> file, const ScanHeader& scan, size_t lanes,
                               HuffmanTables& tables, SequentialRows& rows) {
  ScanShape shape;
  shape.across = frame_->mcus_across;
  shape.down = frame_->mcus_down;
  shape.restart_interval = scan.restart_interval;
  for (size_t i = 0; i < scan.components; ++i) {
    const ScanHeader::Component& coded = scan.component[i];
    JpegComponent component = frame_->component[coded.index];
    if (IsAlone(scan)) {
      // Its blocks lie one by one, without those that fill up MCUs.
      shape.across = BlocksOver(frame_->size.width, component.h, frame_->max_h);
      shape.down = BlocksOver(frame_->size.height, component.v, frame_->max_v);
      component.h = component.v = 1;
    }
    if (!shape.Add(coded.index, component.h, component.v, tables.Dc(*coded.dc), tables.Ac(*coded.ac))) return false;
  }
  rows.Start(file, shape, {8 * uint64_t{scan.begin}, {}}, 0, shape.down, shape.across, lanes);
  DcValues dc{};
  for (int32_t row = 0; row < shape.down; ++row) {
    DecodedRow decoded;
    if (!rows.Next(decoded)) return false;
    Keep(shape, decoded, row, scan, dc);
  }
  return rows.EndInFile() != 0;
}

void SeparateScans::Keep(const ScanShape& shape, const DecodedRow& decoded, int32_t row, const ScanHeader& scan,
                         DcValues& dc) {
  // Rows and columns of a lone component's blocks are finer than those of MCUs.
  const JpegComponent& first = frame_->component[scan.component[0].index];
  const int h = IsAlone(scan) ? first.h : 1;
  const int v = IsAlone(scan) ? first.v : 1;
  const int32_t mcu_row = row / v - window_.y0;
  if (mcu_row < 0 || row / v >= window_.y1) {
    BlockRows nowhere{};
    return CollectRow(shape, decoded, row, {0, 0}, dc, nowhere);
  }
  BlockRows begins{};
  for (size_t i = 0; i < scan.components; ++i) {
    const size_t c = scan.component[i].index;
    const int rows = IsAlone(scan) ? 1 : kept_[c].v;
    for (int j = 0; j < rows; ++j) begins[c][j] = &kept_[c].blocks[kept_[c].RowBegin(mcu_row, row % v + j)];
  }
  BlockRows ends = begins;
  CollectRow(shape, decoded, row, {window_.x0 * h, window_.x1 * h}, dc, ends);
  for (size_t c = 0; c < begins.size(); ++c) {
    for (size_t j = 0; j < begins[c].size(); ++j) kept_[c].TakeValues(begins[c][j], ends[c][j]);
  }
}

McuRow SeparateScans::Row(int32_t y) const noexcept {
  McuRow row;
  for (size_t c = 0; c < components_; ++c) {
    for (int j = 0; j < kept_[c].v; ++j) {
      row.blocks[c][static_cast<size_t>(j)] = &kept_[c].blocks[kept_[c].RowBegin(y - window_.y0, j)];
    }
  }
  return row;
}

size_t SeparateScans::scratch_bytes() const noexcept {
  size_t bytes = 0;
  for (const Kept& kept : kept_) {
    bytes += kept.blocks.capacity() * sizeof(CoefficientBlock) + kept.values.capacity() * sizeof(int16_t);
  }
  return bytes;
}

}  // namespace stoker

#include "decode/jpeg/entropy_decoder.h"

#include <algorithm>
#include <cassert>
#include <new>

namespace stoker {

bool EntropyDecoder::Start(std::span<const uint8_t> file, const JpegFrame& frame, const McuWindow& window,
                           std::span<const RowMark> known) noexcept {
  assert(window.x0 >= 0 && window.x0 < window.x1 && window.x1 <= frame.mcus_across);
  assert(window.y0 >= 0 && window.y0 < window.y1 && window.y1 <= frame.mcus_down);
  assert(known.size() <= static_cast<size_t>(frame.mcus_down));
  window_ = window;
  is_separate_ = frame.separate_scans;
  try {
    if (is_separate_) {
      marks_.clear();
      row_ = window.y0;
      return separate_.Decode(file, frame, window, lanes_, tables_, sequential_);
    }
    if (frame.scan_offset > file.size() || !MakeShape(frame)) return false;
    StartRows(file, known, frame.scan_offset);
  } catch (const std::bad_alloc&) {
    return false;
  }
  return true;
}

void EntropyDecoder::StartRows(std::span<const uint8_t> file, std::span<const RowMark> known, size_t scan_offset) {
  blocks_.resize(shape_.blocks(static_cast<size_t>(window_.x1 - window_.x0)));
  marks_.reserve(static_cast<size_t>(shape_.down));
  marks_.assign(known.begin(), known.end());
  if (marks_.empty()) marks_.push_back({8 * uint64_t{scan_offset}, {}});

  // A last mark's row has no known end, so the sequential decoder begins there.
  const auto last_marked = static_cast<int32_t>(marks_.size()) - 1;
  marked_end_ = std::min(last_marked, window_.y1);
  row_ = std::min(window_.y0, last_marked);
  if (row_ < marked_end_) marked_.Start(file, shape_, marks_, row_, marked_end_, window_.x1, lanes_);
  if (marked_end_ < window_.y1)
    sequential_.Start(file, shape_, marks_.back(), last_marked, window_.y1, window_.x1, lanes_);
}

bool EntropyDecoder::MakeShape(const JpegFrame& frame) noexcept {
  shape_.across = frame.mcus_across;
  shape_.down = frame.mcus_down;
  shape_.restart_interval = frame.restart_interval;
  shape_.pattern.count = 0;
  for (size_t c = 0; c < static_cast<size_t>(frame.components); ++c) {
    const JpegComponent& component = frame.component[c];
    if (!shape_.Add(c, component.h, component.v, tables_.Dc(component.dc), tables_.Ac(component.ac))) return false;
  }
  return true;
}

bool EntropyDecoder::Next(McuRow& row) noexcept {
  if (is_separate_) {
    row = separate_.Row(row_++);
    return true;
  }
  DecodedRow decoded;
  for (; row_ < window_.y0; ++row_) {
    if (!Decode(decoded)) return false;
    Give(decoded, false);
  }
  if (!Decode(decoded)) return false;
  Give(decoded, true);
  ++row_;
  row = given_;
  return true;
}

bool EntropyDecoder::Decode(DecodedRow& decoded) noexcept {
  try {
    return row_ < marked_end_ ? marked_.Next(decoded) : sequential_.Next(decoded);
  } catch (const std::bad_alloc&) {
    return false;
  }
}

size_t EntropyDecoder::scratch_bytes() const noexcept {
  return HuffmanTables::scratch_bytes() + marks_.capacity() * sizeof(RowMark) + marked_.scratch_bytes() +
         sequential_.scratch_bytes() + separate_.scratch_bytes() + blocks_.capacity() * sizeof(CoefficientBlock);
}

// Where each of the row's rows of blocks goes.
void EntropyDecoder::LayOut(BlockRows& ends) noexcept {
  CoefficientBlock* end = blocks_.data();
  for (const McuPattern::Block& block : std::span(shape_.pattern.blocks).first(shape_.pattern.count)) {
    CoefficientBlock*& begin = ends[block.component][block.row];
    if (begin == nullptr) {
      begin = end;
      given_.blocks[block.component][block.row] = end;
    }
    end += window_.x1 - window_.x0;
  }
}

// Makes blocks of the row, where they are wanted, and the next row's mark, where it is not known.
void EntropyDecoder::Give(const DecodedRow& decoded, bool wanted) noexcept {
  BlockRows ends{};
  if (wanted) LayOut(ends);
  DcValues dc = marks_[static_cast<size_t>(row_)].dc;
  CollectRow(shape_, decoded, row_, wanted ? Columns{window_.x0, window_.x1} : Columns{}, dc, ends);
  if (decoded.next_row != 0) marks_.push_back({decoded.next_row, dc});
}

}  // namespace stoker

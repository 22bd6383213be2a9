#include "decode/jpeg/scan_bytes.h"

#include <algorithm>

#include "decode/jpeg/unstuff_kernels.h"

namespace stoker {
namespace {

constexpr uint8_t kFirstRestart = 0xD0;
constexpr size_t kReadAhead = 8;

}  // namespace

void ScanBytes::Open(std::span<const uint8_t> file, size_t begin, size_t end, size_t room) {
  file_ = file;
  end_ = end;
  room_ = room;
  Fill(begin);
}

void ScanBytes::Fill(size_t begin) {
  begin_ = begin;
  const std::span<const uint8_t> stuffed = file_.first(end_).subspan(begin);
  const size_t wanted = stuffed.size() + kUnstuffRoom + room_;
  if (bytes_.size() < wanted) {
    bytes_.clear();  // nothing of it is copied
    bytes_.resize(wanted);
  }
  const Unstuffed done = Unstuff(stuffed, bytes_.data());
  marker_ = done.at_marker ? begin + done.taken : 0;
  // A marker may be filled up with more of its first byte, but must come to an end.
  const auto first = file_.begin() + static_cast<ptrdiff_t>(begin + done.taken);
  const bool is_cut_off = std::all_of(first, file_.end(), [](uint8_t byte) { return byte == 0xFF; });
  const size_t unsure = is_cut_off ? kReadAhead : 0;
  bits_ = done.given > unsure ? 8 * (done.given - unsure) : 0;
  counted_ = 0;
  stuffed_ = 0;
}

size_t ScanBytes::MarkerBehind(uint64_t position) const noexcept {
  return position <= bits_ && bits_ - position < 8 ? marker_ : 0;
}

bool ScanBytes::PassRestart(int number, uint64_t position) {
  const size_t marker = MarkerBehind(position);
  if (marker == 0 || file_[marker + 1] != kFirstRestart + number) return false;
  Fill(marker + 2);
  return true;
}

uint64_t ScanBytes::PlaceInFile(uint64_t position) noexcept {
  const size_t bytes = position / 8;
  stuffed_ += CountStuffed({bytes_.data() + counted_, bytes - counted_});
  counted_ = bytes;
  return 8 * (begin_ + bytes + stuffed_) + position % 8;
}

}  // namespace stoker

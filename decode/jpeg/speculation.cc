#include "decode/jpeg/speculation.h"

#include <algorithm>

namespace stoker {
namespace {

// 2.5 MB at most. A larger picture is speculated on in pieces.
constexpr size_t kMaxBlocks = 16384;
// A lane that has come so far without an error is in step: what it meets then is damage, or the end of the data.
constexpr size_t kMcusInStep = 64;
// Most need none or a few; only what is damaged needs many.
constexpr int kMaxGuesses = 1000;

}  // namespace

size_t Speculation::Capacity(const ScanShape& shape) { return kMaxBlocks / shape.pattern.count; }

void Speculation::Begin(const ScanShape& shape, const ScanBytes& scan, uint64_t guess, uint64_t until, size_t mcus) {
  shape_ = &shape;
  scan_ = &scan;
  until_ = std::min(until, scan.bits());
  mcus_ = std::min(mcus, Capacity(shape));
  strip_.Reserve(shape.pattern, mcus_);
  guesses_ = 0;
  BeginAt(guess);
}

void Speculation::BeginAt(uint64_t guess) noexcept {
  ++guesses_;
  state_ = State::kRunning;
  guess_ = next_position_ = guess;
  next_ = 0;
  stop_ = 0;
  lane_.values = strip_.values.data();
  next_values_ = strip_.values.data();
  BeginStretch(guess);
}

// A row's worth, since that is the room behind the scan's bytes.
void Speculation::BeginStretch(uint64_t position) noexcept {
  const size_t first = stop_;
  stop_ = std::min(first + static_cast<size_t>(shape_->across), mcus_);
  strip_.Prepare(shape_->pattern, first, stop_);
  lane_.Begin(scan_->bytes(), position, &strip_.halves[2 * shape_->blocks(first)], lane_.values);
}

size_t Speculation::McusDone() const noexcept {
  return static_cast<size_t>(lane_.half - strip_.halves.data()) / (2 * shape_->pattern.count);
}

uint64_t Speculation::PositionBehind(size_t mcus) const noexcept {
  if (mcus == 0) return guess_;
  return TrailPosition(strip_.halves[2 * shape_->blocks(mcus) - 1].table, scan_->bytes());
}

void Speculation::EndStretch(LaneEnd end) noexcept {
  const size_t done = McusDone();
  const uint64_t position = PositionBehind(done);
  if (end == LaneEnd::kDone) {
    if (position < until_ && done < mcus_) return BeginStretch(position);
  } else if (done < kMcusInStep && position < until_ && guesses_ < kMaxGuesses) {
    return BeginAt(position + 1);
  }
  state_ = State::kStopped;
}

bool Speculation::Meets(uint64_t position) noexcept {
  const size_t done = McusDone();
  while (next_ < done && next_position_ < position) {
    next_values_ += ChosenLaneKernels().count(&strip_.halves[2 * shape_->blocks(next_)], shape_->pattern.count);
    next_position_ = PositionBehind(++next_);
  }
  if (next_ == done || next_position_ != position) return false;
  state_ = State::kRight;
  return true;
}

bool Speculation::IsBefore(uint64_t position) const noexcept { return PositionBehind(McusDone()) < position; }

McuRun Speculation::Take(int32_t mcus, uint64_t& position) noexcept {
  const size_t taken = std::min(static_cast<size_t>(mcus), McusDone() - next_);
  if (taken == 0) {
    state_ = State::kNone;
    return {};
  }
  const McuRun run = {&strip_.halves[2 * shape_->blocks(next_)], next_values_, static_cast<int32_t>(taken)};
  next_values_ += ChosenLaneKernels().count(run.halves, shape_->blocks(taken));
  next_ += taken;
  position = PositionBehind(next_);
  return run;
}

}  // namespace stoker

// Decoding from a guessed place on: JPEG's codes fall into step by themselves, within a hundred bytes or so, and from
// there on what is decoded is right.
#pragma once

#include <cstddef>
#include <cstdint>

#include "decode/jpeg/mcu_strip.h"
#include "decode/jpeg/scan_bytes.h"

namespace stoker {

// A lane that begins in the middle of nothing. Its MCUs are of use once the lane that comes from the front reaches the
// beginning of one of them: the rest follows from the same bits by the same tables.
// Threads: one thread at a time. Holds its memory, bounded, from picture to picture.
class Speculation {
 public:
  // How many MCUs it goes on for at most.
  static size_t Capacity(const ScanShape& shape);

  // Guesses that an MCU begins at bit `guess`, and stops behind `until` or after `mcus` of them. Requires: what is
  // given outlives the use, and `scan` has room for a row behind its bytes.
  void Begin(const ScanShape& shape, const ScanBytes& scan, uint64_t guess, uint64_t until, size_t mcus);
  void Drop() noexcept { state_ = State::kNone; }

  bool exists() const noexcept { return state_ != State::kNone; }
  bool is_running() const noexcept { return state_ == State::kRunning; }
  bool is_right() const noexcept { return state_ == State::kRight; }

  // The lane to decode with, leaving a trail, while it runs; and what is done at its ends.
  Lane& lane() noexcept { return lane_; }
  void EndStretch(LaneEnd end) noexcept;

  // Whether an MCU begins at `position`; then it is right from there on, and stops. Requires: positions rise.
  bool Meets(uint64_t position) noexcept;
  // It ended before `position`, so nothing will meet it.
  bool IsBefore(uint64_t position) const noexcept;

  // Takes up to `mcus` MCUs off the front of what is right, and moves `position` behind them. None: there are no more,
  // and it exists no longer, but for the memory of what was taken.
  McuRun Take(int32_t mcus, uint64_t& position) noexcept;

  size_t scratch_bytes() const noexcept { return strip_.scratch_bytes(); }

 private:
  enum class State : uint8_t { kNone, kRunning, kStopped, kRight };

  void BeginAt(uint64_t guess) noexcept;
  void BeginStretch(uint64_t position) noexcept;
  size_t McusDone() const noexcept;
  uint64_t PositionBehind(size_t mcus) const noexcept;

  const ScanShape* shape_ = nullptr;
  const ScanBytes* scan_ = nullptr;
  McuStrip strip_;
  Lane lane_;
  State state_ = State::kNone;
  uint64_t guess_ = 0;
  uint64_t until_ = 0;
  size_t mcus_ = 0;  // how many it may decode
  size_t stop_ = 0;  // MCUs up to the lane's stop
  int guesses_ = 0;
  // Where the front is: `next_` is the first MCU that may still be met or taken.
  size_t next_ = 0;
  uint64_t next_position_ = 0;
  const int16_t* next_values_ = nullptr;
};

}  // namespace stoker

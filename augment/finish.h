// The last step: a row of bytes becomes a row of the sample, in place in the batch.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "augment/finish_kernels.h"
#include "augment/scratch.h"
#include "augment/spec.h"

namespace stoker {

// Flips, normalises, converts and lays out rows of one spec.
// Threads: none of its own; one thread at a time.
class Finisher {
 public:
  // Throws std::bad_alloc.
  explicit Finisher(const SampleSpec& spec);
  Finisher(const Finisher&) = delete;  // the formulas point at the tables
  Finisher& operator=(const Finisher&) = delete;

  // Writes row `y` of the sample at `out`. `row` holds size.width x channels bytes; none behind them is read.
  void WriteRow(const uint8_t* row, bool reverse, int32_t y, std::byte* out);
  // Behind a sample's last row: from here on another thread may be told of it.
  void End() const;

  size_t scratch_bytes() const { return planes_.bytes(); }

 private:
  void WriteRun(size_t channel, const uint8_t* values, size_t count, std::byte* out) const;

  SampleSpec spec_;
  std::array<ChannelTable, 3> tables_;
  std::array<RowFormula, 3> formulas_;  // planar: one a channel; interleaved: the first
  Scratch<uint8_t> planes_;             // one row, rearranged
};

// Dividing by a channel's `std` as multiplying: x / std is x * inverse + x * inverse_rest with one fused rounding.
struct Reciprocal {
  float inverse = 1;
  float inverse_rest = 0;
  // Whether that gives the bits of the division for all 256 values of a byte, as it does for nearly all mean and std.
  bool exact = false;
};
Reciprocal ReciprocalOf(float mean, float std) noexcept;

// To nearest even, as the hardware and torch convert.
uint16_t HalfBits(float value) noexcept;
uint16_t Bfloat16Bits(float value) noexcept;

}  // namespace stoker

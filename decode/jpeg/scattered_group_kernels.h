// The coefficients of a block where no instruction expands or shuffles them: by way of memory.
#pragma once

#include <array>

#include "decode/jpeg/vector_sse2_kernels.h"

namespace stoker::sse2 {

// A number by which the powers of two differ in their upper six bits.
inline constexpr uint64_t kDeBruijn = 0x03f79d71b4cb0a89;
constexpr size_t HashOfBit(uint64_t bit) { return static_cast<size_t>(bit * kDeBruijn >> 58); }

// Where a value lies among a Group's words, by the hash of its bit in the mask. (Not by the bit's number: without BMI,
// the instruction that finds it waits for its own last result.)
struct Slots {
  uint8_t slot[kBlockCoefficients]{};
  template <size_t kWords>
  constexpr explicit Slots(const std::array<uint8_t, kWords>& places) {
    for (size_t k = 0; k < kBlockCoefficients; ++k) {
      for (size_t i = 0; i < kWords; ++i) {
        if (kZigzagPlaces[k] == places[i]) slot[HashOfBit(uint64_t{1} << k)] = static_cast<uint8_t>(i);
      }
    }
  }
};
inline constexpr Slots kPairedSlots{kPairedPlaces};
inline constexpr Slots kCornerSlots{kCornerPlaces};

class Group {
 public:
  // Returns the block's mask.
  STOKER_OP uint64_t Open(const CoefficientBlock* blocks, size_t) {
    block_ = blocks;
    return block_->mask;
  }
  STOKER_OP int dc(size_t) const { return block_->dc; }

  // All 64, in paired order.
  STOKER_OP void TakeAll(uint64_t, Vector* words) {
    Scatter(kPairedSlots.slot);
    for (size_t i = 0; i < 8; ++i) words[i] = Take(i);
  }
  // Those of the first four rows and columns, in corner order; the mask says that there are no others.
  STOKER_OP void TakeCorner(Vector& even_rows, Vector& odd_rows) {
    Scatter(kCornerSlots.slot);
    even_rows = Take(0);
    odd_rows = Take(1);
  }

 private:
  STOKER_OP void Scatter(const uint8_t* slots) {
    const int16_t* value = block_->values;
    words_[0] = block_->dc;
    for (uint64_t mask = block_->mask; mask != 0; mask &= mask - 1)
      words_[slots[HashOfBit(mask & (0 - mask))]] = *value++;
  }
  // Leaves zeros behind.
  STOKER_OP Vector Take(size_t at) {
    const Vector words = Load(words_ + 8 * at);
    Store(Zero(), words_ + 8 * at);
    return words;
  }

  const CoefficientBlock* block_ = nullptr;
  alignas(kVectorBytes) int16_t words_[kBlockCoefficients] = {};
};

}  // namespace stoker::sse2

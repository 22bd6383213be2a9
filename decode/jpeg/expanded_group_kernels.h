// The coefficients of four blocks, from values and masks straight into registers: what AVX-512's VBMI2 expands.
#pragma once

#include <array>

#include "decode/jpeg/vector_avx512_kernels.h"

namespace stoker::avx512 {

// The zigzag place of each word.
template <size_t kWords>
struct Order {
  alignas(64) uint16_t word[kWords]{};
  uint32_t late[2]{};  // bit i: word i (of the first 32, of the others) comes from zigzag place 32 or later
  constexpr explicit Order(const std::array<uint8_t, kWords>& places) {
    for (size_t i = 0; i < kWords; ++i) {
      for (size_t k = 0; k < kZigzagPlaces.size(); ++k) {
        if (kZigzagPlaces[k] == places[i]) word[i] = static_cast<uint16_t>(k);
      }
      if (word[i] >= 32) late[i / 32] |= uint32_t{1} << i % 32;
    }
  }
};
inline constexpr Order kPairedOrder{kPairedPlaces};
inline constexpr Order kCornerOrder{kCornerPlaces};

class Group {
 public:
  // Returns all of the blocks' masks in one. There may be fewer than four blocks.
  STOKER_OP uint64_t Open(const CoefficientBlock* blocks, size_t count) {
    blocks_ = blocks;
    if (count < kVectorBlocks) [[unlikely]] {
      for (size_t k = 0; k < kVectorBlocks; ++k) fewer_[k] = k < count ? blocks[k] : CoefficientBlock{0, kZeros, 0};
      blocks_ = fewer_;
    }
    return blocks_[0].mask | blocks_[1].mask | blocks_[2].mask | blocks_[3].mask;
  }
  STOKER_OP int dc(size_t k) const { return blocks_[k].dc; }

  // All 64 of each, in paired order.
  STOKER_OP void TakeAll(uint64_t mask, Vector* words) const {
    if (mask >> 32 == 0) {
      Take<false>(words);
    } else {
      Take<true>(words);
    }
  }
  // Those of the first four rows and columns, in corner order; the masks say that there are no others.
  STOKER_OP void TakeCorner(Vector& even_rows, Vector& odd_rows) const {
    const Vector order = _mm512_castsi256_si512(_mm256_load_si256(reinterpret_cast<const __m256i*>(kCornerOrder.word)));
    Vector each[kVectorBlocks];
    for (size_t k = 0; k < kVectorBlocks; ++k) {
      const Vector values = Expanded(static_cast<uint32_t>(blocks_[k].mask), blocks_[k].values);
      each[k] = WithDc(_mm512_permutexvar_epi16(order, values), blocks_[k].dc);
    }
    const Vector first = _mm512_inserti64x4(each[0], _mm512_castsi512_si256(each[1]), 1);
    const Vector second = _mm512_inserti64x4(each[2], _mm512_castsi512_si256(each[3]), 1);
    even_rows = _mm512_shuffle_i32x4(first, second, 0x88);
    odd_rows = _mm512_shuffle_i32x4(first, second, 0xdd);
  }

 private:
  alignas(64) static constexpr int16_t kZeros[kBlockCoefficients] = {};

  STOKER_OP static Vector Expanded(uint32_t mask, const int16_t* values) {
    return _mm512_maskz_expand_epi16(mask, Load(values));
  }
  STOKER_OP static Vector WithDc(Vector words, int16_t dc) { return _mm512_mask_set1_epi16(words, 1, dc); }

  // Without kLate all that is not zero lies in the first half of the zigzag.
  template <bool kLate>
  STOKER_OP void Take(Vector* words) const {
    Vector low[kVectorBlocks];
    Vector high[kVectorBlocks];
    for (size_t k = 0; k < kVectorBlocks; ++k) {
      const CoefficientBlock& block = blocks_[k];
      const auto early_mask = static_cast<uint32_t>(block.mask);
      const Vector low_order = Load(kPairedOrder.word);
      const Vector high_order = Load(kPairedOrder.word + 32);
      const Vector early = Expanded(early_mask, block.values);
      low[k] = _mm512_maskz_permutexvar_epi16(~kPairedOrder.late[0], low_order, early);
      high[k] = _mm512_maskz_permutexvar_epi16(~kPairedOrder.late[1], high_order, early);
      if constexpr (kLate) {
        const Vector late =
            Expanded(static_cast<uint32_t>(block.mask >> 32), block.values + _mm_popcnt_u32(early_mask));
        low[k] = _mm512_mask_permutexvar_epi16(low[k], kPairedOrder.late[0], low_order, late);
        high[k] = _mm512_mask_permutexvar_epi16(high[k], kPairedOrder.late[1], high_order, late);
      }
      low[k] = WithDc(low[k], block.dc);
    }
    Transpose(low, words);
    Transpose(high, words + 4);
  }
  // Four times 16 bytes of each of four blocks.
  STOKER_OP static void Transpose(const Vector* blocks, Vector* words) {
    const Vector a0 = _mm512_shuffle_i32x4(blocks[0], blocks[1], 0x44);
    const Vector a1 = _mm512_shuffle_i32x4(blocks[0], blocks[1], 0xee);
    const Vector b0 = _mm512_shuffle_i32x4(blocks[2], blocks[3], 0x44);
    const Vector b1 = _mm512_shuffle_i32x4(blocks[2], blocks[3], 0xee);
    words[0] = _mm512_shuffle_i32x4(a0, b0, 0x88);
    words[1] = _mm512_shuffle_i32x4(a0, b0, 0xdd);
    words[2] = _mm512_shuffle_i32x4(a1, b1, 0x88);
    words[3] = _mm512_shuffle_i32x4(a1, b1, 0xdd);
  }

  const CoefficientBlock* blocks_ = nullptr;
  CoefficientBlock fewer_[kVectorBlocks];
};

}  // namespace stoker::avx512

// The coefficients of two blocks, from values and masks to registers by byte shuffles: for AVX2, which has no
// instruction that expands.
#pragma once

#include <array>

#include "decode/jpeg/vector_avx2_kernels.h"

namespace stoker::avx2 {

// For each eight bits of a mask, the shuffle of eight values to the places of its ones, and zeros between them.
struct ExpandShuffles {
  alignas(64) uint8_t from[256][16]{};
  constexpr ExpandShuffles() {
    for (size_t mask = 0; mask < 256; ++mask) {
      uint8_t next = 0;
      for (size_t i = 0; i < 8; ++i) {
        const bool taken = (mask >> i & 1) != 0;
        from[mask][2 * i] = taken ? next++ : 0x80;
        from[mask][2 * i + 1] = taken ? next++ : 0x80;
      }
    }
  }
};
inline constexpr ExpandShuffles kExpandShuffles;

// Which of the zigzag's eights go into each eight words of another order, and where.
template <size_t kWords>
struct OrderShuffles {
  alignas(64) uint8_t from[kWords / 8][8][16]{};
  bool used[kWords / 8][8]{};
  constexpr explicit OrderShuffles(const std::array<uint8_t, kWords>& places) {
    for (size_t to = 0; to < kWords / 8; ++to) {
      for (size_t part = 0; part < 8; ++part) {
        for (size_t i = 0; i < 8; ++i) {
          from[to][part][2 * i] = from[to][part][2 * i + 1] = 0x80;
          for (size_t k = 0; k < 8; ++k) {
            if (kZigzagPlaces[8 * part + k] != places[8 * to + i]) continue;
            from[to][part][2 * i] = static_cast<uint8_t>(2 * k);
            from[to][part][2 * i + 1] = static_cast<uint8_t>(2 * k + 1);
            used[to][part] = true;
          }
        }
      }
    }
  }
};
inline constexpr OrderShuffles kPairedShuffles{kPairedPlaces};
inline constexpr OrderShuffles kCornerShuffles{kCornerPlaces};

class Group {
 public:
  // Returns all of the blocks' masks in one. There may be only one block.
  STOKER_OP uint64_t Open(const CoefficientBlock* blocks, size_t count) {
    first_ = &blocks[0];
    second_ = count > 1 ? &blocks[1] : &kNothing;
    return first_->mask | second_->mask;
  }
  STOKER_OP int dc(size_t k) const { return k == 0 ? first_->dc : second_->dc; }

  // All 64 of each, in paired order.
  STOKER_OP void TakeAll(uint64_t mask, Vector* words) const {
    if (mask >> 32 == 0) {
      Take<kPairedShuffles, 4, 8>(words);
    } else {
      Take<kPairedShuffles, 8, 8>(words);
    }
  }
  // Those of the first four rows and columns, in corner order; the masks say that there are no others.
  STOKER_OP void TakeCorner(Vector& even_rows, Vector& odd_rows) const {
    Vector words[2];
    Take<kCornerShuffles, 4, 2>(words);
    even_rows = words[0];
    odd_rows = words[1];
  }

 private:
  alignas(64) static constexpr int16_t kZeros[kBlockCoefficients] = {};
  static constexpr CoefficientBlock kNothing = {0, kZeros, 0};

  STOKER_OP static Vector LoadTwo(const void* first, const void* second) {
    return _mm256_inserti128_si256(_mm256_castsi128_si256(_mm_loadu_si128(static_cast<const __m128i*>(first))),
                                   _mm_loadu_si128(static_cast<const __m128i*>(second)), 1);
  }

  // Both blocks' coefficients from the first kParts eights of the zigzag, the others being zero, in another order.
  template <const auto& kOrder, size_t kParts, size_t kVectors>
  STOKER_OP void Take(Vector* words) const {
    Vector parts[kParts];
    uint64_t first_mask = first_->mask;
    uint64_t second_mask = second_->mask;
    const int16_t* first = first_->values;
    const int16_t* second = second_->values;
    for (size_t i = 0; i < kParts; ++i, first_mask >>= 8, second_mask >>= 8) {
      const uint64_t a = first_mask & 255;
      const uint64_t b = second_mask & 255;
      parts[i] = _mm256_shuffle_epi8(LoadTwo(first, second), LoadTwo(kExpandShuffles.from[a], kExpandShuffles.from[b]));
      first += _mm_popcnt_u64(a);
      second += _mm_popcnt_u64(b);
    }
    parts[0] =
        Or(parts[0], _mm256_setr_epi64x(static_cast<uint16_t>(first_->dc), 0, static_cast<uint16_t>(second_->dc), 0));
    Collect<kOrder, kParts, kVectors>(parts, words);
  }
  // Recursive, so that shuffles which would only give zeros are left out for certain.
  template <const auto& kOrder, size_t kParts, size_t kVectors>
  STOKER_OP static void Collect(const Vector* parts, Vector* words) {
    if constexpr (kVectors > 0) {
      Collect<kOrder, kParts, kVectors - 1>(parts, words);
      words[kVectors - 1] = Collected<kOrder, kParts, kVectors - 1>(parts);
    }
  }
  template <const auto& kOrder, size_t kParts, size_t kTo>
  STOKER_OP static Vector Collected(const Vector* parts) {
    if constexpr (kParts == 0) {
      return Zero();
    } else {
      constexpr size_t kLast = kParts - 1;
      const Vector others = Collected<kOrder, kLast, kTo>(parts);
      if constexpr (!kOrder.used[kTo][kLast]) return others;
      return Or(others, ShuffleForAll(parts[kLast], kOrder.from[kTo][kLast]));
    }
  }

  const CoefficientBlock* first_ = nullptr;
  const CoefficientBlock* second_ = nullptr;
};

}  // namespace stoker::avx2

// Vectors of 32 bytes as the bodies of the reconstruction use them: eight words of each of two blocks.
#pragma once

#include <immintrin.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "decode/jpeg/reconstruction_kernels.h"

#define STOKER_VECTORS avx2
#define STOKER_KERNEL [[gnu::target("avx2,bmi,bmi2,popcnt")]]
#define STOKER_OP [[gnu::always_inline, gnu::target("avx2,bmi,bmi2,popcnt")]] inline

namespace stoker::avx2 {

using Vector = __m256i;
inline constexpr size_t kVectorBytes = 32;
inline constexpr size_t kVectorBlocks = 2;

STOKER_OP Vector Zero() { return _mm256_setzero_si256(); }
STOKER_OP Vector Set16(int value) { return _mm256_set1_epi16(static_cast<int16_t>(value)); }
STOKER_OP Vector Set32(int value) { return _mm256_set1_epi32(value); }
STOKER_OP Vector Load(const void* from) { return _mm256_loadu_si256(static_cast<const __m256i*>(from)); }
STOKER_OP void Store(Vector vector, void* to) { _mm256_storeu_si256(static_cast<__m256i*>(to), vector); }
// The same eight words for every block.
STOKER_OP Vector LoadForAll(const int16_t* words) {
  return _mm256_broadcastsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i*>(words)));
}
// Half as many bytes as a vector holds, as words.
STOKER_OP Vector LoadWidened(const uint8_t* bytes) {
  return _mm256_cvtepu8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes)));
}

STOKER_OP Vector And(Vector a, Vector b) { return _mm256_and_si256(a, b); }
STOKER_OP Vector Or(Vector a, Vector b) { return _mm256_or_si256(a, b); }
STOKER_OP Vector Or(Vector a, Vector b, Vector c) { return Or(Or(a, b), c); }
STOKER_OP Vector Add16(Vector a, Vector b) { return _mm256_add_epi16(a, b); }
STOKER_OP Vector Sub16(Vector a, Vector b) { return _mm256_sub_epi16(a, b); }
STOKER_OP Vector Add32(Vector a, Vector b) { return _mm256_add_epi32(a, b); }
STOKER_OP Vector Sub32(Vector a, Vector b) { return _mm256_sub_epi32(a, b); }
STOKER_OP Vector MultiplyLow16(Vector a, Vector b) { return _mm256_mullo_epi16(a, b); }
// (value * factor + 2^14) >> 15.
STOKER_OP Vector MultiplyRounded16(Vector value, Vector factor) { return _mm256_mulhrs_epi16(value, factor); }
// Pairs of words, multiplied and added; the second to a sum and the third from it.
STOKER_OP Vector MultiplyPairs(Vector a, Vector b) { return _mm256_madd_epi16(a, b); }
STOKER_OP Vector AddPairs(Vector sum, Vector a, Vector b) { return Add32(sum, MultiplyPairs(a, b)); }

template <int kBits>
STOKER_OP Vector ShiftRightSigned32(Vector a) {
  return _mm256_srai_epi32(a, kBits);
}
template <int kBits>
STOKER_OP Vector ShiftRight32(Vector a) {
  return _mm256_srli_epi32(a, kBits);
}
template <int kBits>
STOKER_OP Vector ShiftLeft32(Vector a) {
  return _mm256_slli_epi32(a, kBits);
}
template <int kBits>
STOKER_OP Vector ShiftRight16(Vector a) {
  return _mm256_srli_epi16(a, kBits);
}
template <int kBits>
STOKER_OP Vector ShiftLeft16(Vector a) {
  return _mm256_slli_epi16(a, kBits);
}
// The even words of one and the odd words of the other.
STOKER_OP Vector MergeWords(Vector even, Vector odd) { return _mm256_blend_epi16(even, odd, 0xaa); }

STOKER_OP Vector Pack32(Vector a, Vector b) { return _mm256_packs_epi32(a, b); }
STOKER_OP Vector PackToBytes(Vector a, Vector b) { return _mm256_packus_epi16(a, b); }
STOKER_OP Vector ZipLow8(Vector a, Vector b) { return _mm256_unpacklo_epi8(a, b); }
STOKER_OP Vector ZipHigh8(Vector a, Vector b) { return _mm256_unpackhi_epi8(a, b); }
STOKER_OP Vector ZipLow16(Vector a, Vector b) { return _mm256_unpacklo_epi16(a, b); }
STOKER_OP Vector ZipHigh16(Vector a, Vector b) { return _mm256_unpackhi_epi16(a, b); }
STOKER_OP Vector ZipLow32(Vector a, Vector b) { return _mm256_unpacklo_epi32(a, b); }
STOKER_OP Vector ZipHigh32(Vector a, Vector b) { return _mm256_unpackhi_epi32(a, b); }
STOKER_OP Vector ZipLow64(Vector a, Vector b) { return _mm256_unpacklo_epi64(a, b); }
STOKER_OP Vector ZipHigh64(Vector a, Vector b) { return _mm256_unpackhi_epi64(a, b); }
// The upper half of each 16 bytes.
STOKER_OP Vector UpperHalf(Vector a) { return _mm256_unpackhi_epi64(a, a); }
// Words 0 and 1, 4 and 5 of each block in both; and 2 and 3, 6 and 7.
STOKER_OP Vector EvenPairs(Vector a, Vector b) {
  return _mm256_castps_si256(_mm256_shuffle_ps(_mm256_castsi256_ps(a), _mm256_castsi256_ps(b), 0x88));
}
STOKER_OP Vector OddPairs(Vector a, Vector b) {
  return _mm256_castps_si256(_mm256_shuffle_ps(_mm256_castsi256_ps(a), _mm256_castsi256_ps(b), 0xdd));
}
STOKER_OP bool HasNegative16(Vector a) { return (static_cast<uint32_t>(_mm256_movemask_epi8(a)) & 0xaaaaaaaaU) != 0; }

// Two rows of samples, one in the upper halves of each block's 16 bytes.
STOKER_OP void StoreTwoRows(Vector rows, uint8_t* to, size_t stride_bytes) {
  const Vector ordered = _mm256_permute4x64_epi64(rows, 0xd8);
  _mm_storeu_si128(reinterpret_cast<__m128i*>(to), _mm256_castsi256_si128(ordered));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(to + stride_bytes), _mm256_extracti128_si256(ordered, 1));
}
// Four rows of four samples a block.
STOKER_OP void StoreHalfRows(Vector rows, uint8_t* to, size_t stride_bytes) {
  alignas(32) uint64_t row[4];
  Store(_mm256_permutevar8x32_epi32(rows, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7)), row);
  for (size_t y = 0; y < 4; ++y) std::memcpy(to + y * stride_bytes, &row[y], sizeof(row[y]));
}
// One row of blocks of one value each.
STOKER_OP void StoreFlatRow(const uint64_t* samples, uint8_t* to) { std::memcpy(to, samples, 2 * sizeof(*samples)); }

// For each 16 of 48 bytes and each color, which of the 16 bytes of that color go there: vectors hold the even pixels of
// each 16, then the odd ones.
struct PixelShuffles {
  alignas(16) uint8_t from[3][3][16]{};
  constexpr PixelShuffles() {
    for (size_t part = 0; part < 3; ++part) {
      for (size_t i = 0; i < 16; ++i) {
        const size_t pixel = (16 * part + i) / 3;
        const auto place = static_cast<uint8_t>(pixel % 2 * 8 + pixel / 2);
        for (size_t c = 0; c < 3; ++c) from[part][c][i] = c == (16 * part + i) % 3 ? place : 0x80;
      }
    }
  }
};
inline constexpr PixelShuffles kPixelShuffles;

STOKER_OP Vector ShuffleForAll(Vector bytes, const uint8_t* from) {
  return _mm256_shuffle_epi8(bytes, LoadForAll(reinterpret_cast<const int16_t*>(from)));
}
// Pixels of which each 16 bytes of a vector hold the even ones, then the odd ones.
STOKER_OP void StorePixels(Vector r, Vector g, Vector b, uint8_t* to) {
  Vector part[3];  // of the first 16 pixels below, of the others above
  for (size_t i = 0; i < 3; ++i) {
    const auto& from = kPixelShuffles.from[i];
    part[i] = Or(ShuffleForAll(r, from[0]), ShuffleForAll(g, from[1]), ShuffleForAll(b, from[2]));
  }
  Store(_mm256_permute2x128_si256(part[0], part[1], 0x20), to);
  Store(_mm256_blend_epi32(part[2], part[0], 0xf0), to + 32);
  Store(_mm256_permute2x128_si256(part[1], part[2], 0x31), to + 64);
}

}  // namespace stoker::avx2

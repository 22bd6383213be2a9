// Vectors of 64 bytes as the bodies of the reconstruction use them: eight words of each of four blocks.
#pragma once

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"  // GCC's own header, its bug 105593
#endif
#include <immintrin.h>
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "decode/jpeg/reconstruction_kernels.h"

#define STOKER_VECTORS avx512
#define STOKER_TARGET "avx512f,avx512bw,avx512vl,avx512dq,avx512vbmi,avx512vbmi2,avx512vnni,bmi,bmi2,popcnt"
#define STOKER_KERNEL [[gnu::target(STOKER_TARGET)]]
#define STOKER_OP [[gnu::always_inline, gnu::target(STOKER_TARGET)]] inline

namespace stoker::avx512 {

using Vector = __m512i;
inline constexpr size_t kVectorBytes = 64;
inline constexpr size_t kVectorBlocks = 4;

STOKER_OP Vector Zero() { return _mm512_setzero_si512(); }
STOKER_OP Vector Set16(int value) { return _mm512_set1_epi16(static_cast<int16_t>(value)); }
STOKER_OP Vector Set32(int value) { return _mm512_set1_epi32(value); }
STOKER_OP Vector Load(const void* from) { return _mm512_loadu_si512(from); }
STOKER_OP void Store(Vector vector, void* to) { _mm512_storeu_si512(to, vector); }
// The same eight words for every block.
STOKER_OP Vector LoadForAll(const int16_t* words) {
  return _mm512_broadcast_i32x4(_mm_loadu_si128(reinterpret_cast<const __m128i*>(words)));
}
// Half as many bytes as a vector holds, as words.
STOKER_OP Vector LoadWidened(const uint8_t* bytes) {
  return _mm512_cvtepu8_epi16(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(bytes)));
}

STOKER_OP Vector And(Vector a, Vector b) { return _mm512_and_si512(a, b); }
STOKER_OP Vector Or(Vector a, Vector b) { return _mm512_or_si512(a, b); }
STOKER_OP Vector Or(Vector a, Vector b, Vector c) { return _mm512_ternarylogic_epi32(a, b, c, 0xfe); }
STOKER_OP Vector Add16(Vector a, Vector b) { return _mm512_add_epi16(a, b); }
STOKER_OP Vector Sub16(Vector a, Vector b) { return _mm512_sub_epi16(a, b); }
STOKER_OP Vector Add32(Vector a, Vector b) { return _mm512_add_epi32(a, b); }
STOKER_OP Vector Sub32(Vector a, Vector b) { return _mm512_sub_epi32(a, b); }
STOKER_OP Vector MultiplyLow16(Vector a, Vector b) { return _mm512_mullo_epi16(a, b); }
// (value * factor + 2^14) >> 15.
STOKER_OP Vector MultiplyRounded16(Vector value, Vector factor) { return _mm512_mulhrs_epi16(value, factor); }
// Pairs of words, multiplied and added; the second to a sum.
STOKER_OP Vector MultiplyPairs(Vector a, Vector b) { return _mm512_madd_epi16(a, b); }
STOKER_OP Vector AddPairs(Vector sum, Vector a, Vector b) { return _mm512_dpwssd_epi32(sum, a, b); }

template <int kBits>
STOKER_OP Vector ShiftRightSigned32(Vector a) {
  return _mm512_srai_epi32(a, kBits);
}
template <int kBits>
STOKER_OP Vector ShiftRight32(Vector a) {
  return _mm512_srli_epi32(a, kBits);
}
template <int kBits>
STOKER_OP Vector ShiftLeft32(Vector a) {
  return _mm512_slli_epi32(a, kBits);
}
template <int kBits>
STOKER_OP Vector ShiftRight16(Vector a) {
  return _mm512_srli_epi16(a, kBits);
}
template <int kBits>
STOKER_OP Vector ShiftLeft16(Vector a) {
  return _mm512_slli_epi16(a, kBits);
}
// The even words of one and the odd words of the other.
STOKER_OP Vector MergeWords(Vector even, Vector odd) { return _mm512_mask_blend_epi16(0xaaaaaaaa, even, odd); }

STOKER_OP Vector Pack32(Vector a, Vector b) { return _mm512_packs_epi32(a, b); }
STOKER_OP Vector PackToBytes(Vector a, Vector b) { return _mm512_packus_epi16(a, b); }
STOKER_OP Vector ZipLow8(Vector a, Vector b) { return _mm512_unpacklo_epi8(a, b); }
STOKER_OP Vector ZipHigh8(Vector a, Vector b) { return _mm512_unpackhi_epi8(a, b); }
STOKER_OP Vector ZipLow16(Vector a, Vector b) { return _mm512_unpacklo_epi16(a, b); }
STOKER_OP Vector ZipHigh16(Vector a, Vector b) { return _mm512_unpackhi_epi16(a, b); }
STOKER_OP Vector ZipLow32(Vector a, Vector b) { return _mm512_unpacklo_epi32(a, b); }
STOKER_OP Vector ZipHigh32(Vector a, Vector b) { return _mm512_unpackhi_epi32(a, b); }
STOKER_OP Vector ZipLow64(Vector a, Vector b) { return _mm512_unpacklo_epi64(a, b); }
STOKER_OP Vector ZipHigh64(Vector a, Vector b) { return _mm512_unpackhi_epi64(a, b); }
// The upper half of each 16 bytes.
STOKER_OP Vector UpperHalf(Vector a) { return _mm512_unpackhi_epi64(a, a); }
// Words 0 and 1, 4 and 5 of each block in both; and 2 and 3, 6 and 7.
STOKER_OP Vector EvenPairs(Vector a, Vector b) {
  return _mm512_castps_si512(_mm512_shuffle_ps(_mm512_castsi512_ps(a), _mm512_castsi512_ps(b), 0x88));
}
STOKER_OP Vector OddPairs(Vector a, Vector b) {
  return _mm512_castps_si512(_mm512_shuffle_ps(_mm512_castsi512_ps(a), _mm512_castsi512_ps(b), 0xdd));
}
STOKER_OP bool HasNegative16(Vector a) { return _mm512_movepi16_mask(a) != 0; }

// Two rows of samples, one in the upper halves of each block's 16 bytes.
STOKER_OP void StoreTwoRows(Vector rows, uint8_t* to, size_t stride_bytes) {
  const Vector ordered = _mm512_permutexvar_epi64(_mm512_setr_epi64(0, 2, 4, 6, 1, 3, 5, 7), rows);
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), _mm512_castsi512_si256(ordered));
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + stride_bytes), _mm512_extracti64x4_epi64(ordered, 1));
}
// Four rows of four samples a block.
STOKER_OP void StoreHalfRows(Vector rows, uint8_t* to, size_t stride_bytes) {
  const Vector order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
  const Vector ordered = _mm512_permutexvar_epi32(order, rows);
  _mm_storeu_si128(reinterpret_cast<__m128i*>(to), _mm512_castsi512_si128(ordered));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(to + stride_bytes), _mm512_extracti32x4_epi32(ordered, 1));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(to + 2 * stride_bytes), _mm512_extracti32x4_epi32(ordered, 2));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(to + 3 * stride_bytes), _mm512_extracti32x4_epi32(ordered, 3));
}
// One row of blocks of one value each.
STOKER_OP void StoreFlatRow(const uint64_t* samples, uint8_t* to) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), _mm256_loadu_si256(reinterpret_cast<const __m256i*>(samples)));
}

// For each 64 of 192 bytes: which byte of red (0 to 63) or green (64 to 127) goes there, and which of blue where `blue`
// is set. Each 16 bytes of a color hold its even pixels, then the odd ones.
struct PixelShuffles {
  alignas(64) uint8_t red_green[3][64]{};
  alignas(64) uint8_t blue[3][64]{};
  uint64_t blue_places[3]{};
  constexpr PixelShuffles() {
    for (size_t i = 0; i < 192; ++i) {
      const size_t pixel = i / 3;
      const size_t color = i % 3;
      const auto place = static_cast<uint8_t>(pixel / 16 * 16 + pixel % 2 * 8 + pixel % 16 / 2);
      red_green[i / 64][i % 64] = static_cast<uint8_t>(color == 1 ? 64 + place : place);
      blue[i / 64][i % 64] = place;
      if (color == 2) blue_places[i / 64] |= uint64_t{1} << i % 64;
    }
  }
};
inline constexpr PixelShuffles kPixelShuffles;

STOKER_OP void StorePixels(Vector r, Vector g, Vector b, uint8_t* to) {
  for (size_t i = 0; i < 3; ++i) {
    const Vector rg = _mm512_permutex2var_epi8(r, Load(kPixelShuffles.red_green[i]), g);
    Store(_mm512_mask_permutexvar_epi8(rg, kPixelShuffles.blue_places[i], Load(kPixelShuffles.blue[i]), b),
          to + 64 * i);
  }
}

}  // namespace stoker::avx512

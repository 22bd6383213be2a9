// Vectors of 16 bytes as the bodies of the reconstruction use them: one block's eight words. What every x86-64 has.
#pragma once

#include <emmintrin.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "decode/jpeg/reconstruction_kernels.h"

#define STOKER_VECTORS sse2
#define STOKER_KERNEL
#define STOKER_OP [[gnu::always_inline]] inline

namespace stoker::sse2 {

using Vector = __m128i;
inline constexpr size_t kVectorBytes = 16;
inline constexpr size_t kVectorBlocks = 1;

STOKER_OP Vector Zero() { return _mm_setzero_si128(); }
STOKER_OP Vector Set16(int value) { return _mm_set1_epi16(static_cast<int16_t>(value)); }
STOKER_OP Vector Set32(int value) { return _mm_set1_epi32(value); }
STOKER_OP Vector Load(const void* from) { return _mm_loadu_si128(static_cast<const __m128i*>(from)); }
STOKER_OP void Store(Vector vector, void* to) { _mm_storeu_si128(static_cast<__m128i*>(to), vector); }
// The same eight words for every block.
STOKER_OP Vector LoadForAll(const int16_t* words) { return Load(words); }
// Half as many bytes as a vector holds, as words.
STOKER_OP Vector LoadWidened(const uint8_t* bytes) {
  return _mm_unpacklo_epi8(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(bytes)), Zero());
}

STOKER_OP Vector And(Vector a, Vector b) { return _mm_and_si128(a, b); }
STOKER_OP Vector Or(Vector a, Vector b) { return _mm_or_si128(a, b); }
STOKER_OP Vector Or(Vector a, Vector b, Vector c) { return Or(Or(a, b), c); }
STOKER_OP Vector Add16(Vector a, Vector b) { return _mm_add_epi16(a, b); }
STOKER_OP Vector Sub16(Vector a, Vector b) { return _mm_sub_epi16(a, b); }
STOKER_OP Vector Add32(Vector a, Vector b) { return _mm_add_epi32(a, b); }
STOKER_OP Vector Sub32(Vector a, Vector b) { return _mm_sub_epi32(a, b); }
STOKER_OP Vector MultiplyLow16(Vector a, Vector b) { return _mm_mullo_epi16(a, b); }
// (value * factor + 2^14) >> 15, of values from -8192 to 8191.
STOKER_OP Vector MultiplyRounded16(Vector value, Vector factor) {
  const Vector product = _mm_mulhi_epi16(_mm_slli_epi16(value, 2), factor);
  return _mm_srai_epi16(Add16(product, Set16(1)), 1);
}
// Pairs of words, multiplied and added; the second to a sum and the third from it.
STOKER_OP Vector MultiplyPairs(Vector a, Vector b) { return _mm_madd_epi16(a, b); }
STOKER_OP Vector AddPairs(Vector sum, Vector a, Vector b) { return Add32(sum, MultiplyPairs(a, b)); }

template <int kBits>
STOKER_OP Vector ShiftRightSigned32(Vector a) {
  return _mm_srai_epi32(a, kBits);
}
template <int kBits>
STOKER_OP Vector ShiftRight32(Vector a) {
  return _mm_srli_epi32(a, kBits);
}
template <int kBits>
STOKER_OP Vector ShiftLeft32(Vector a) {
  return _mm_slli_epi32(a, kBits);
}
template <int kBits>
STOKER_OP Vector ShiftRight16(Vector a) {
  return _mm_srli_epi16(a, kBits);
}
template <int kBits>
STOKER_OP Vector ShiftLeft16(Vector a) {
  return _mm_slli_epi16(a, kBits);
}
// The even words of one and the odd words of the other.
STOKER_OP Vector MergeWords(Vector even, Vector odd) {
  const Vector mask = Set32(0xffff);
  return Or(And(even, mask), _mm_andnot_si128(mask, odd));
}

STOKER_OP Vector Pack32(Vector a, Vector b) { return _mm_packs_epi32(a, b); }
STOKER_OP Vector PackToBytes(Vector a, Vector b) { return _mm_packus_epi16(a, b); }
STOKER_OP Vector ZipLow8(Vector a, Vector b) { return _mm_unpacklo_epi8(a, b); }
STOKER_OP Vector ZipHigh8(Vector a, Vector b) { return _mm_unpackhi_epi8(a, b); }
STOKER_OP Vector ZipLow16(Vector a, Vector b) { return _mm_unpacklo_epi16(a, b); }
STOKER_OP Vector ZipHigh16(Vector a, Vector b) { return _mm_unpackhi_epi16(a, b); }
STOKER_OP Vector ZipLow32(Vector a, Vector b) { return _mm_unpacklo_epi32(a, b); }
STOKER_OP Vector ZipHigh32(Vector a, Vector b) { return _mm_unpackhi_epi32(a, b); }
STOKER_OP Vector ZipLow64(Vector a, Vector b) { return _mm_unpacklo_epi64(a, b); }
STOKER_OP Vector ZipHigh64(Vector a, Vector b) { return _mm_unpackhi_epi64(a, b); }
STOKER_OP Vector UpperHalf(Vector a) { return _mm_unpackhi_epi64(a, a); }
// Words 0 and 1, 4 and 5 of each block in both; and 2 and 3, 6 and 7.
STOKER_OP Vector EvenPairs(Vector a, Vector b) {
  return _mm_castps_si128(_mm_shuffle_ps(_mm_castsi128_ps(a), _mm_castsi128_ps(b), 0x88));
}
STOKER_OP Vector OddPairs(Vector a, Vector b) {
  return _mm_castps_si128(_mm_shuffle_ps(_mm_castsi128_ps(a), _mm_castsi128_ps(b), 0xdd));
}
STOKER_OP bool HasNegative16(Vector a) { return (_mm_movemask_epi8(a) & 0xaaaa) != 0; }

// Two rows of eight samples, one in each half.
STOKER_OP void StoreTwoRows(Vector rows, uint8_t* to, size_t stride_bytes) {
  _mm_storel_epi64(reinterpret_cast<__m128i*>(to), rows);
  _mm_storel_epi64(reinterpret_cast<__m128i*>(to + stride_bytes), UpperHalf(rows));
}
// Four rows of four samples.
STOKER_OP void StoreHalfRows(Vector rows, uint8_t* to, size_t stride_bytes) {
  alignas(16) uint32_t row[4];
  Store(rows, row);
  for (size_t y = 0; y < 4; ++y) std::memcpy(to + y * stride_bytes, &row[y], sizeof(row[y]));
}
// One row of a block of one value a block.
STOKER_OP void StoreFlatRow(const uint64_t* samples, uint8_t* to) { std::memcpy(to, samples, sizeof(*samples)); }

// Four pixels of four bytes without the fourth; writes two bytes more.
STOKER_OP void StoreWithoutFourth(Vector pixels, uint8_t* to) {
  const Vector first = And(pixels, _mm_set1_epi64x(0xffffff));
  const Vector second = And(_mm_srli_epi64(pixels, 8), _mm_set1_epi64x(0xffffff000000));
  const Vector packed = Or(first, second);
  _mm_storel_epi64(reinterpret_cast<__m128i*>(to), packed);
  _mm_storel_epi64(reinterpret_cast<__m128i*>(to + 6), UpperHalf(packed));
}
// Pixels of which each vector holds the even ones, then the odd ones.
STOKER_OP void StorePixels(Vector r, Vector g, Vector b, uint8_t* to) {
  // Pairs of (red, green) of even pixels in one vector, of odd ones in the other; blue with nothing.
  const Vector rg_even = ZipLow8(r, g);
  const Vector rg_odd = ZipHigh8(r, g);
  const Vector b_even = ZipLow8(b, Zero());
  const Vector b_odd = ZipHigh8(b, Zero());
  const Vector even_low = ZipLow16(rg_even, b_even);  // pixels 0, 2, 4, 6
  const Vector odd_low = ZipLow16(rg_odd, b_odd);
  const Vector even_high = ZipHigh16(rg_even, b_even);
  const Vector odd_high = ZipHigh16(rg_odd, b_odd);
  StoreWithoutFourth(ZipLow32(even_low, odd_low), to);
  StoreWithoutFourth(ZipHigh32(even_low, odd_low), to + 12);
  StoreWithoutFourth(ZipLow32(even_high, odd_high), to + 24);
  StoreWithoutFourth(ZipHigh32(even_high, odd_high), to + 36);
}

}  // namespace stoker::sse2

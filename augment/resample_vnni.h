// What the two passes of the VNNI kernels share.
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

#include "augment/resample_weights.h"

#define STOKER_VNNI __attribute__((target("avx512f,avx512vl,avx512bw,avx512vbmi,avx512vnni")))

namespace stoker {

// One instruction multiplies unsigned by signed bytes and adds up a group of four products, so a weight comes in three
// signed digits: digit[0] + digit[1] * 256 + digit[2] * 65536.
inline constexpr size_t kGroupTaps = 4;
inline constexpr size_t kDigits = 3;
inline constexpr size_t kDigitBits = 8;
inline constexpr size_t kVectorBytes = 64;

// The rounding half as the sums of the highest digit hold it, and those of the upper half of a split weight.
inline constexpr int32_t kHalfOfDigits = 1 << (kWeightBits - 1 - 2 * kDigitBits);
inline constexpr int32_t kHalfOfSplit = 1 << (kWeightBits - 1 - kSplitBits);

// The digits of a group's weights, from its one or two pairs. Word n holds digit n of the four taps; the last word is 0
// where three digits suffice.
STOKER_VNNI inline __m128i Digits(const SplitPair* pairs, size_t count) {
  const auto* at = reinterpret_cast<const __m128i*>(pairs);
  const __m128i split = count == 1 ? _mm_loadl_epi64(at) : _mm_loadu_si128(at);
  const __m128i halves = _mm_shuffle_epi8(split, _mm_setr_epi8(0, 1, 4, 5, 2, 3, 6, 7, 8, 9, 12, 13, 10, 11, 14, 15));
  const __m128i weights = _mm_madd_epi16(halves, _mm_set1_epi32((1 << 16) | (1 << kSplitBits)));
  // Bytes that count from -128: with that added to each, no digit borrows from the next.
  const __m128i bias = _mm_set1_epi32(0x808080);
  const __m128i digits = _mm_xor_si128(_mm_add_epi32(weights, bias), bias);
  return _mm_shuffle_epi8(digits, _mm_setr_epi8(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15));
}

// Writes digit n of each group's weights at to[n * stride]; false where a weight needs more digits.
STOKER_VNNI inline bool SplitGroups(const SplitPair* pairs, size_t count, size_t stride, uint32_t* to) {
  uint32_t excess = 0;
  for (size_t pair = 0; pair < count; pair += 2, to += kDigits * stride) {
    const __m128i digits = Digits(pairs + pair, count - pair);
    to[0] = static_cast<uint32_t>(_mm_cvtsi128_si32(digits));
    to[stride] = static_cast<uint32_t>(_mm_extract_epi32(digits, 1));
    to[2 * stride] = static_cast<uint32_t>(_mm_extract_epi32(digits, 2));
    excess |= static_cast<uint32_t>(_mm_extract_epi32(digits, 3));
  }
  return excess == 0;
}

STOKER_VNNI inline __m512i NextDigit(__m512i sum) { return _mm512_slli_epi32(sum, kDigitBits); }

// Words, not bytes: pairs of taps times a pair of split weights.
STOKER_VNNI inline __m512i FilterPair(__m512i taps, __m512i high, __m512i low) {
  const __m512i sum = _mm512_dpwssd_epi32(_mm512_set1_epi32(kHalfOfSplit), taps, high);
  return _mm512_dpwssd_epi32(_mm512_slli_epi32(sum, kSplitBits), taps, low);
}

// Four vectors of sums as bytes; each block of 16 bytes holds four samples of each vector.
STOKER_VNNI inline __m512i Round(__m512i a, __m512i b, __m512i c, __m512i d) {
  const __m512i ab = _mm512_packs_epi32(_mm512_srai_epi32(a, kWeightBits), _mm512_srai_epi32(b, kWeightBits));
  const __m512i cd = _mm512_packs_epi32(_mm512_srai_epi32(c, kWeightBits), _mm512_srai_epi32(d, kWeightBits));
  return _mm512_packus_epi16(ab, cd);
}

}  // namespace stoker

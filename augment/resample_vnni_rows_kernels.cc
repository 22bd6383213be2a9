#include "augment/resample_vnni_kernels.h"

#if defined(__x86_64__)

#include "augment/resample_vnni.h"

namespace stoker {

namespace {

constexpr size_t kMaxGroups = 16;  // of rows

// 64 neighbouring samples: their taps of one group, or their sums.
struct FourVectors {
  __m512i a, b, c, d;
};

STOKER_VNNI inline FourVectors LoadTaps(const uint8_t* row0, const uint8_t* row1, const uint8_t* row2,
                                        const uint8_t* row3) {
  const __m512i lower01 = _mm512_unpacklo_epi8(_mm512_loadu_si512(row0), _mm512_loadu_si512(row1));
  const __m512i upper01 = _mm512_unpackhi_epi8(_mm512_loadu_si512(row0), _mm512_loadu_si512(row1));
  const __m512i lower23 = _mm512_unpacklo_epi8(_mm512_loadu_si512(row2), _mm512_loadu_si512(row3));
  const __m512i upper23 = _mm512_unpackhi_epi8(_mm512_loadu_si512(row2), _mm512_loadu_si512(row3));
  return {_mm512_unpacklo_epi16(lower01, lower23), _mm512_unpackhi_epi16(lower01, lower23),
          _mm512_unpacklo_epi16(upper01, upper23), _mm512_unpackhi_epi16(upper01, upper23)};
}

STOKER_VNNI inline FourVectors AllSums(int32_t value) {
  const __m512i sums = _mm512_set1_epi32(value);
  return {sums, sums, sums, sums};
}

STOKER_VNNI inline FourVectors AddTaps(const FourVectors& sums, const FourVectors& taps, uint32_t weights) {
  const __m512i digits = _mm512_set1_epi32(static_cast<int32_t>(weights));
  return {_mm512_dpbusd_epi32(sums.a, taps.a, digits), _mm512_dpbusd_epi32(sums.b, taps.b, digits),
          _mm512_dpbusd_epi32(sums.c, taps.c, digits), _mm512_dpbusd_epi32(sums.d, taps.d, digits)};
}

STOKER_VNNI inline FourVectors NextDigits(const FourVectors& sums) {
  return {NextDigit(sums.a), NextDigit(sums.b), NextDigit(sums.c), NextDigit(sums.d)};
}

STOKER_VNNI inline FourVectors Sum(const FourVectors& p, const FourVectors& q) {
  return {_mm512_add_epi32(p.a, q.a), _mm512_add_epi32(p.b, q.b), _mm512_add_epi32(p.c, q.c),
          _mm512_add_epi32(p.d, q.d)};
}

// Two rows, for which their bytes as words are less work than groups of bytes.
STOKER_VNNI void FilterTwoRows(const uint8_t* row0, const uint8_t* row1, const SplitPair& weights, size_t bytes,
                               uint8_t* out) {
  const __m512i high = _mm512_set1_epi32(static_cast<int32_t>(weights.high));
  const __m512i low = _mm512_set1_epi32(static_cast<int32_t>(weights.low));
  const __m512i zero = _mm512_setzero_si512();
  for (size_t x = 0; x < bytes; x += kVectorBytes) {
    const __m512i lower = _mm512_unpacklo_epi8(_mm512_loadu_si512(row0 + x), _mm512_loadu_si512(row1 + x));
    const __m512i upper = _mm512_unpackhi_epi8(_mm512_loadu_si512(row0 + x), _mm512_loadu_si512(row1 + x));
    const __m512i a = FilterPair(_mm512_unpacklo_epi8(lower, zero), high, low);
    const __m512i b = FilterPair(_mm512_unpackhi_epi8(lower, zero), high, low);
    const __m512i c = FilterPair(_mm512_unpacklo_epi8(upper, zero), high, low);
    const __m512i d = FilterPair(_mm512_unpackhi_epi8(upper, zero), high, low);
    _mm512_storeu_si512(out + x, Round(a, b, c, d));
  }
}

// Three or four rows, the common number, or any.
template <bool kOneGroup>
STOKER_VNNI void FilterRowsT(std::span<const uint8_t* const> rows, const uint32_t* digits, size_t bytes, uint8_t* out) {
  for (size_t x = 0; x < bytes; x += kVectorBytes) {
    FourVectors sums = AllSums(kHalfOfDigits);
    if constexpr (kOneGroup) {
      const FourVectors taps = LoadTaps(rows[0] + x, rows[1] + x, rows[2] + x, rows[3] + x);
      sums = AddTaps(sums, taps, digits[2]);
      sums = AddTaps(NextDigits(sums), taps, digits[1]);
      sums = AddTaps(NextDigits(sums), taps, digits[0]);
    } else {
      FourVectors middle = AllSums(0);
      FourVectors low = AllSums(0);
      const uint32_t* weights = digits;
      for (size_t row = 0; row < rows.size(); row += kGroupTaps, weights += kDigits) {
        const size_t next = row + 2 < rows.size() ? row + 2 : row;  // the last pair alone: twice, once for nothing
        const FourVectors taps = LoadTaps(rows[row] + x, rows[row + 1] + x, rows[next] + x, rows[next + 1] + x);
        low = AddTaps(low, taps, weights[0]);
        middle = AddTaps(middle, taps, weights[1]);
        sums = AddTaps(sums, taps, weights[2]);
      }
      sums = Sum(NextDigits(Sum(NextDigits(sums), middle)), low);
    }
    _mm512_storeu_si512(out + x, Round(sums.a, sums.b, sums.c, sums.d));
  }
}

}  // namespace

bool FilterRowsVnni(std::span<const uint8_t* const> rows, const SplitPair* weights, size_t bytes, uint8_t* out) {
  if (rows.size() == 2) {
    FilterTwoRows(rows[0], rows[1], *weights, bytes, out);
    return true;
  }
  uint32_t digits[kMaxGroups * kDigits] = {};
  if (rows.size() > kMaxGroups * kGroupTaps || !SplitGroups(weights, rows.size() / 2, 1, digits)) return false;
  if (rows.size() == 4) {
    FilterRowsT<true>(rows, digits, bytes, out);
  } else {
    FilterRowsT<false>(rows, digits, bytes, out);
  }
  return true;
}

}  // namespace stoker

#else

namespace stoker {

bool FilterRowsVnni(std::span<const uint8_t* const>, const SplitPair*, size_t, uint8_t*) { return false; }

}  // namespace stoker

#endif

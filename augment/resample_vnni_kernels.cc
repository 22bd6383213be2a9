#include "augment/resample_vnni_kernels.h"

#define HWY_WANT_AVX3_DL
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "augment/resample_vnni_kernels.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

// Highway only chooses: its AVX3_DL is compiled for AVX-VNNI, which not every such CPU has, and not for AVX512-VNNI,
// which every one has.
HWY_BEFORE_NAMESPACE();
namespace stoker::HWY_NAMESPACE {

bool HasVnni() { return HWY_TARGET <= HWY_AVX3_DL; }

}  // namespace stoker::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#if HWY_TARGETS & HWY_AVX3_DL

#include <immintrin.h>

#include <algorithm>

#define STOKER_VNNI __attribute__((target("avx512f,avx512vl,avx512bw,avx512vbmi,avx512vnni")))

namespace stoker {

namespace {

constexpr size_t kLanes = 16;    // samples a vector, four taps of each
constexpr size_t kTaps = 4;      // a group: what one instruction multiplies and adds
constexpr size_t kDigits = 3;    // a weight = digit[0] + digit[1] * 256 + digit[2] * 65536, all signed
constexpr size_t kDigitBits = 8;
constexpr size_t kVectorBytes = 64;
constexpr size_t kMaxRowGroups = 16;  // more are rare

// The rounding half as the highest digit's sum holds it.
constexpr int32_t kHalf = 1 << (kWeightBits - 1 - 2 * kDigitBits);

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

// Fills digits[group][digit][pixel].
STOKER_VNNI bool SplitColumns(ColumnWeights& w) {
  const auto width = static_cast<size_t>(w.width);
  uint32_t* const digits = w.digits.Reserve(w.groups * kDigits * width);
  bool fits = true;
  for (size_t pixel = 0; pixel < width; ++pixel) {
    fits &= SplitGroups(&w.weights[pixel * w.pairs], w.pairs, width, digits + pixel);
  }
  return fits;
}

STOKER_VNNI inline __mmask16 FirstLanes(size_t count) {
  return static_cast<__mmask16>(count < kLanes ? (1u << count) - 1 : 0xffffu);
}

// Where each lane's taps lie and what they weigh; false where a vector's taps are too far apart.
STOKER_VNNI bool ArrangeLanes(ColumnWeights& w) {
  const auto width = static_cast<size_t>(w.width);
  const auto channels = static_cast<size_t>(w.channels);
  const __m512i all_channels = _mm512_set1_epi32(w.channels);
  const __m512i lane = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  const __m512i steps = _mm512_set1_epi32((3 * w.channels << 24) | (2 * w.channels << 16) | (w.channels << 8));
  const __m512i narrow = _mm512_set1_epi32(static_cast<int32_t>(kVectorBytes - 3 * channels));
  const __m512i widest = _mm512_set1_epi32(static_cast<int32_t>(2 * kVectorBytes - 3 * channels));
  uint32_t* to = w.lanes.data();
  for (size_t v = 0; v < w.vectors; ++v) {
    const size_t pixel = v * kLanes / channels;
    const __mmask16 pixels = FirstLanes(width - pixel);
    const __mmask16 samples = FirstLanes(width * channels - v * kLanes);
    // Of the vector's samples: the channel of the first, then everybody's pixel and channel.
    const __m512i sample = _mm512_add_epi32(lane, _mm512_set1_epi32(static_cast<int32_t>(v * kLanes % channels)));
    const __m512i inverse = _mm512_set1_epi32((1 << 16) / w.channels + 1);
    const __m512i owner = _mm512_srli_epi32(_mm512_mullo_epi32(sample, inverse), 16);
    const __m512i channel = _mm512_sub_epi32(sample, _mm512_mullo_epi32(owner, all_channels));

    const __m512i all_first = _mm512_maskz_loadu_epi32(pixels, w.first.data() + pixel);
    const __m512i first = _mm512_permutexvar_epi32(owner, all_first);
    const __m512i apart = _mm512_sub_epi32(first, _mm512_set1_epi32(w.first[pixel]));
    const __m512i index = _mm512_add_epi32(_mm512_mullo_epi32(apart, all_channels), channel);
    if (_mm512_mask_cmpge_epu32_mask(samples, index, widest) != 0) return false;
    w.wide |= _mm512_mask_cmpge_epu32_mask(samples, index, narrow) != 0;
    w.offsets[v] = w.first[pixel] * w.channels;
    const __m512i bytes = _mm512_mullo_epi32(index, _mm512_set1_epi32(0x01010101));
    _mm512_store_si512(&w.indices[v * kVectorBytes], _mm512_add_epi32(bytes, steps));

    const uint32_t* from = w.digits.data() + pixel;
    for (size_t i = 0; i < w.groups * kDigits; ++i, from += width, to += kLanes) {
      _mm512_store_si512(to, _mm512_permutexvar_epi32(owner, _mm512_maskz_loadu_epi32(pixels, from)));
    }
  }
  return true;
}

template <bool kWide>
STOKER_VNNI inline __m512i Gather(const uint8_t* from, __m512i index) {
  const __m512i bytes = _mm512_loadu_si512(from);
  if constexpr (kWide) return _mm512_permutex2var_epi8(bytes, index, _mm512_loadu_si512(from + kVectorBytes));
  return _mm512_permutexvar_epi8(index, bytes);
}

STOKER_VNNI inline __m512i AddTaps(__m512i sum, __m512i taps, const uint32_t* weights) {
  return _mm512_dpbusd_epi32(sum, taps, _mm512_load_si512(weights));
}

STOKER_VNNI inline __m512i NextDigit(__m512i sum) { return _mm512_slli_epi32(sum, kDigitBits); }

// One vector of samples of one row, still to be shifted. One or two groups go digit by digit through one sum; any
// number needs a sum for each digit.
template <size_t kGroups, bool kWide>
STOKER_VNNI inline __m512i FilterVector(const uint8_t* from, __m512i index, const uint32_t* lanes, size_t groups,
                                        size_t step) {
  constexpr size_t kGroupLanes = kDigits * kLanes;
  __m512i sum = _mm512_set1_epi32(kHalf);
  if constexpr (kGroups == 1) {
    const __m512i taps = Gather<kWide>(from, index);
    sum = AddTaps(sum, taps, lanes + 2 * kLanes);
    sum = AddTaps(NextDigit(sum), taps, lanes + kLanes);
    return AddTaps(NextDigit(sum), taps, lanes);
  } else if constexpr (kGroups == 2) {
    const __m512i taps = Gather<kWide>(from, index);
    const __m512i more = Gather<kWide>(from + step, index);
    sum = AddTaps(AddTaps(sum, taps, lanes + 2 * kLanes), more, lanes + kGroupLanes + 2 * kLanes);
    sum = AddTaps(AddTaps(NextDigit(sum), taps, lanes + kLanes), more, lanes + kGroupLanes + kLanes);
    return AddTaps(AddTaps(NextDigit(sum), taps, lanes), more, lanes + kGroupLanes);
  } else {
    __m512i middle = _mm512_setzero_si512();
    __m512i low = _mm512_setzero_si512();
    for (size_t group = 0; group < groups; ++group, from += step, lanes += kGroupLanes) {
      const __m512i taps = Gather<kWide>(from, index);
      low = AddTaps(low, taps, lanes);
      middle = AddTaps(middle, taps, lanes + kLanes);
      sum = AddTaps(sum, taps, lanes + 2 * kLanes);
    }
    sum = _mm512_add_epi32(NextDigit(sum), middle);
    return _mm512_add_epi32(NextDigit(sum), low);
  }
}

// Four vectors of sums as bytes; each block of 16 bytes holds four samples of each vector.
STOKER_VNNI inline __m512i Round(__m512i a, __m512i b, __m512i c, __m512i d) {
  const __m512i ab = _mm512_packs_epi32(_mm512_srai_epi32(a, kWeightBits), _mm512_srai_epi32(b, kWeightBits));
  const __m512i cd = _mm512_packs_epi32(_mm512_srai_epi32(c, kWeightBits), _mm512_srai_epi32(d, kWeightBits));
  return _mm512_packus_epi16(ab, cd);
}

template <size_t kGroups, bool kWide>
STOKER_VNNI void FilterColumnsT(const ColumnWeights& w, const SourceRows& rows, const FilteredRows& out) {
  static_assert(kRowsAtOnce == 4);
  // Copies, because for all the compiler knows the bytes that are written may lie in `w`.
  const SourceRows from = rows;
  const FilteredRows to = out;
  const size_t groups = kGroups != 0 ? kGroups : w.groups;
  const size_t step = kTaps * static_cast<size_t>(w.channels);
  const size_t vectors = w.vectors;
  const int32_t* offsets = w.offsets.data();
  const uint8_t* indices = w.indices.data();
  const uint32_t* lanes = w.lanes.data();
  const __m512i by_row = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
  for (size_t v = 0; v < vectors; ++v, lanes += groups * kDigits * kLanes) {
    const auto offset = static_cast<size_t>(offsets[v]);
    const __m512i index = _mm512_load_si512(indices + v * kVectorBytes);
    const __m512i bytes = _mm512_permutexvar_epi32(
        by_row, Round(FilterVector<kGroups, kWide>(from[0] + offset, index, lanes, groups, step),
                      FilterVector<kGroups, kWide>(from[1] + offset, index, lanes, groups, step),
                      FilterVector<kGroups, kWide>(from[2] + offset, index, lanes, groups, step),
                      FilterVector<kGroups, kWide>(from[3] + offset, index, lanes, groups, step)));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to[0] + v * kLanes), _mm512_castsi512_si128(bytes));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to[1] + v * kLanes), _mm512_extracti32x4_epi32(bytes, 1));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to[2] + v * kLanes), _mm512_extracti32x4_epi32(bytes, 2));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to[3] + v * kLanes), _mm512_extracti32x4_epi32(bytes, 3));
  }
}

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

STOKER_VNNI inline FourVectors NextDigit(const FourVectors& sums) {
  return {NextDigit(sums.a), NextDigit(sums.b), NextDigit(sums.c), NextDigit(sums.d)};
}

STOKER_VNNI inline FourVectors Sum(const FourVectors& p, const FourVectors& q) {
  return {_mm512_add_epi32(p.a, q.a), _mm512_add_epi32(p.b, q.b), _mm512_add_epi32(p.c, q.c),
          _mm512_add_epi32(p.d, q.d)};
}

// One or two pairs of rows, or any number.
template <size_t kPairs>
STOKER_VNNI void FilterRowsT(std::span<const uint8_t* const> rows, const uint32_t* digits, size_t bytes, uint8_t* out) {
  for (size_t x = 0; x < bytes; x += kVectorBytes) {
    FourVectors sums = AllSums(kHalf);
    if constexpr (kPairs != 0) {
      constexpr size_t kNext = 2 * kPairs - 2;  // of one pair both halves are the same, and the second weighs nothing
      const FourVectors taps = LoadTaps(rows[0] + x, rows[1] + x, rows[kNext] + x, rows[kNext + 1] + x);
      sums = AddTaps(sums, taps, digits[2]);
      sums = AddTaps(NextDigit(sums), taps, digits[1]);
      sums = AddTaps(NextDigit(sums), taps, digits[0]);
    } else {
      FourVectors middle = AllSums(0);
      FourVectors low = AllSums(0);
      const uint32_t* weights = digits;
      for (size_t row = 0; row < rows.size(); row += kTaps, weights += kDigits) {
        const size_t next = row + 2 < rows.size() ? row + 2 : row;
        const FourVectors taps = LoadTaps(rows[row] + x, rows[row + 1] + x, rows[next] + x, rows[next + 1] + x);
        low = AddTaps(low, taps, weights[0]);
        middle = AddTaps(middle, taps, weights[1]);
        sums = AddTaps(sums, taps, weights[2]);
      }
      sums = Sum(NextDigit(Sum(NextDigit(sums), middle)), low);
    }
    _mm512_storeu_si512(out + x, Round(sums.a, sums.b, sums.c, sums.d));
  }
}

}  // namespace

HWY_EXPORT(HasVnni);

bool ArrangeColumnsVnni(ColumnWeights& w) {
  if (!HWY_DYNAMIC_DISPATCH(HasVnni)()) return false;
  w.groups = (2 * w.pairs + kTaps - 1) / kTaps;
  w.wide = false;
  w.vectors = (static_cast<size_t>(w.width) * static_cast<size_t>(w.channels) + kLanes - 1) / kLanes;
  w.offsets.Reserve(w.vectors);
  w.indices.Reserve(w.vectors * kVectorBytes);
  w.lanes.Reserve(w.vectors * w.groups * kDigits * kLanes);
  return SplitColumns(w) && ArrangeLanes(w);
}

void FilterColumnsVnni(const ColumnWeights& w, const SourceRows& rows, const FilteredRows& out) {
  if (w.wide) return FilterColumnsT<0, true>(w, rows, out);
  if (w.groups == 1) return FilterColumnsT<1, false>(w, rows, out);
  if (w.groups == 2) return FilterColumnsT<2, false>(w, rows, out);
  FilterColumnsT<0, false>(w, rows, out);
}

bool FilterRowsVnni(std::span<const uint8_t* const> rows, const SplitPair* weights, size_t bytes, uint8_t* out) {
  const size_t groups = (rows.size() + kTaps - 1) / kTaps;
  if (groups > kMaxRowGroups || !HWY_DYNAMIC_DISPATCH(HasVnni)()) return false;
  uint32_t digits[kMaxRowGroups * kDigits];
  if (!SplitGroups(weights, rows.size() / 2, 1, digits)) return false;
  if (rows.size() == 2) {
    FilterRowsT<1>(rows, digits, bytes, out);
  } else if (rows.size() == 4) {
    FilterRowsT<2>(rows, digits, bytes, out);
  } else {
    FilterRowsT<0>(rows, digits, bytes, out);
  }
  return true;
}

}  // namespace stoker

#else

namespace stoker {

bool ArrangeColumnsVnni(ColumnWeights&) { return false; }
void FilterColumnsVnni(const ColumnWeights&, const SourceRows&, const FilteredRows&) {}
bool FilterRowsVnni(std::span<const uint8_t* const>, const SplitPair*, size_t, uint8_t*) { return false; }

}  // namespace stoker

#endif

#endif  // HWY_ONCE

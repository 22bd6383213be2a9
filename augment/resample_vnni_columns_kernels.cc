#include "augment/resample_vnni_kernels.h"

#if defined(__x86_64__)

#include <algorithm>

#include "augment/resample_vnni.h"

namespace stoker {

namespace {

constexpr size_t kLanes = 16;  // samples a vector
constexpr __mmask64 kTwoWords = 0x5555555555555555;

// Words of weights a lane.
size_t Parts(const ColumnWeights& w) { return w.groups == 0 ? 2 : w.groups * kDigits; }

// Fills digits[group][digit][pixel], or digits[high, low][pixel]; false where a weight needs more digits.
STOKER_VNNI bool SplitColumns(ColumnWeights& w) {
  const auto width = static_cast<size_t>(w.width);
  uint32_t* const digits = w.digits.Reserve(Parts(w) * width);
  bool fits = true;
  for (size_t pixel = 0; pixel < width; ++pixel) {
    const SplitPair* pairs = &w.weights[pixel * w.pairs];
    if (w.groups == 0) {
      digits[pixel] = pairs->high;
      digits[width + pixel] = pairs->low;
    } else {
      fits &= SplitGroups(pairs, w.pairs, width, digits + pixel);
    }
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
  // From a lane's first byte to those of its taps; of two taps, each fills a word.
  const int32_t step = w.channels;
  const __m512i steps = _mm512_set1_epi32(w.groups == 0 ? step << 16 : 3 * step << 24 | 2 * step << 16 | step << 8);
  const __m512i narrow = _mm512_set1_epi32(static_cast<int32_t>(kVectorBytes - 3 * channels));
  const __m512i widest = _mm512_set1_epi32(static_cast<int32_t>(2 * kVectorBytes - 3 * channels));
  const size_t parts = Parts(w);
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
    for (size_t i = 0; i < parts; ++i, from += width, to += kLanes) {
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

// Beside numbers of groups: two taps in words, and the number known only when it runs.
constexpr size_t kOnePair = 0;
constexpr size_t kAnyGroups = ~size_t{0};

// One vector of samples of one row, still to be shifted. One or two groups go digit by digit through one sum; any
// number needs a sum for each digit.
template <size_t kGroups, bool kWide>
STOKER_VNNI inline __m512i FilterVector(const uint8_t* from, __m512i index, const uint32_t* lanes, size_t groups,
                                        size_t step) {
  constexpr size_t kGroupLanes = kDigits * kLanes;
  __m512i sum = _mm512_set1_epi32(kHalfOfDigits);
  if constexpr (kGroups == kOnePair) {
    const __m512i taps = _mm512_maskz_permutexvar_epi8(kTwoWords, index, _mm512_loadu_si512(from));
    return FilterPair(taps, _mm512_load_si512(lanes), _mm512_load_si512(lanes + kLanes));
  } else if constexpr (kGroups == 1) {
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

template <size_t kGroups, bool kWide>
STOKER_VNNI void FilterColumnsT(const ColumnWeights& w, const SourceRows& rows, const FilteredRows& out) {
  static_assert(kRowsAtOnce == 4);
  // Copies, because for all the compiler knows the bytes that are written may lie in `w`.
  const SourceRows from = rows;
  const FilteredRows to = out;
  const size_t groups = kGroups == kAnyGroups ? w.groups : kGroups;
  const size_t parts = kGroups == kOnePair ? 2 : groups * kDigits;
  const size_t step = kGroupTaps * static_cast<size_t>(w.channels);
  const size_t vectors = w.vectors;
  const int32_t* offsets = w.offsets.data();
  const uint8_t* indices = w.indices.data();
  const uint32_t* lanes = w.lanes.data();
  const __m512i by_row = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
  for (size_t v = 0; v < vectors; ++v, lanes += parts * kLanes) {
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

}  // namespace

bool ArrangeColumnsVnni(ColumnWeights& w) {
  w.groups = w.pairs == 1 ? 0 : (w.pairs + 1) / 2;
  w.wide = false;
  w.vectors = (static_cast<size_t>(w.width) * static_cast<size_t>(w.channels) + kLanes - 1) / kLanes;
  w.offsets.Reserve(w.vectors);
  w.indices.Reserve(w.vectors * kVectorBytes);
  w.lanes.Reserve(w.vectors * Parts(w) * kLanes);
  return SplitColumns(w) && ArrangeLanes(w) && !(w.wide && w.groups == 0);
}

void FilterColumnsVnni(const ColumnWeights& w, const SourceRows& rows, const FilteredRows& out) {
  if (w.wide) return FilterColumnsT<kAnyGroups, true>(w, rows, out);
  if (w.groups == 0) return FilterColumnsT<kOnePair, false>(w, rows, out);
  if (w.groups == 1) return FilterColumnsT<1, false>(w, rows, out);
  if (w.groups == 2) return FilterColumnsT<2, false>(w, rows, out);
  FilterColumnsT<kAnyGroups, false>(w, rows, out);
}

}  // namespace stoker

#else

namespace stoker {

bool ArrangeColumnsVnni(ColumnWeights&) { return false; }
void FilterColumnsVnni(const ColumnWeights&, const SourceRows&, const FilteredRows&) {}

}  // namespace stoker

#endif

#include "augment/resample_baseline_kernels.h"

#if defined(__SSE2__)

#include <emmintrin.h>

#include <cstring>

namespace stoker {

namespace {

// Half of each sum's fractional bits lies in the upper half of the split weights.
constexpr int32_t kRoundHigh = 1 << (kWeightBits - 1 - kSplitBits);

// A pair of taps' split weights for all four lanes.
struct Weights {
  __m128i high, low;

  explicit Weights(const SplitPair& pair) {
    const __m128i split = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(&pair));
    high = _mm_shuffle_epi32(split, _MM_SHUFFLE(0, 0, 0, 0));
    low = _mm_shuffle_epi32(split, _MM_SHUFFLE(1, 1, 1, 1));
  }
};

// Of four samples, each of which has a lane.
struct Sums {
  __m128i high = _mm_set1_epi32(kRoundHigh);
  __m128i low = _mm_setzero_si128();

  // `taps`: a pair of words for each sample.
  void Add(__m128i taps, const Weights& weights) {
    high = _mm_add_epi32(high, _mm_madd_epi16(taps, weights.high));
    low = _mm_add_epi32(low, _mm_madd_epi16(taps, weights.low));
  }
  __m128i Round() const { return _mm_srai_epi32(_mm_add_epi32(_mm_slli_epi32(high, kSplitBits), low), kWeightBits); }
};

__m128i ToBytes(const Sums& a, const Sums& b, const Sums& c, const Sums& d) {
  return _mm_packus_epi16(_mm_packs_epi32(a.Round(), b.Round()), _mm_packs_epi32(c.Round(), d.Round()));
}

__m128i LoadFour(const uint8_t* from) {
  int32_t bytes;
  std::memcpy(&bytes, from, sizeof(bytes));
  return _mm_cvtsi32_si128(bytes);
}

void StoreFour(__m128i bytes, uint8_t* to) {
  const int32_t four = _mm_cvtsi128_si32(bytes);
  std::memcpy(to, &four, sizeof(four));
}

// The pixel at `from` and its right neighbour, word by word. Lanes behind the last channel hold something.
__m128i LoadTaps(const uint8_t* from, size_t channels) {
  return _mm_unpacklo_epi8(_mm_unpacklo_epi8(LoadFour(from), LoadFour(from + channels)), _mm_setzero_si128());
}

}  // namespace

// A pixel a step, of four rows: its channels have the lanes, and what the lanes behind them give is written over by the
// next pixel.
void FilterColumnsBaseline(const ColumnWeights& w, const SourceRows& rows, const FilteredRows& out) {
  static_assert(kRowsAtOnce == 4);
  // Copies, because for all the compiler knows the bytes that are written may lie in `w`.
  const SourceRows from = rows;
  const FilteredRows to = out;
  const auto channels = static_cast<size_t>(w.channels);
  const auto width = static_cast<size_t>(w.width);
  const size_t pairs = w.pairs;
  const int32_t* first = w.first.data();
  const SplitPair* pair = w.weights.data();
  for (size_t x = 0; x < width; ++x) {
    Sums sums0, sums1, sums2, sums3;
    size_t at = static_cast<size_t>(first[x]) * channels;
    for (const SplitPair* const end = pair + pairs; pair != end; ++pair, at += 2 * channels) {
      const Weights weights(*pair);
      sums0.Add(LoadTaps(from[0] + at, channels), weights);
      sums1.Add(LoadTaps(from[1] + at, channels), weights);
      sums2.Add(LoadTaps(from[2] + at, channels), weights);
      sums3.Add(LoadTaps(from[3] + at, channels), weights);
    }
    const __m128i pixels = ToBytes(sums0, sums1, sums2, sums3);
    StoreFour(pixels, to[0] + x * channels);
    StoreFour(_mm_srli_si128(pixels, 4), to[1] + x * channels);
    StoreFour(_mm_srli_si128(pixels, 8), to[2] + x * channels);
    StoreFour(_mm_srli_si128(pixels, 12), to[3] + x * channels);
  }
}

void FilterRowsBaseline(std::span<const uint8_t* const> rows, const SplitPair* pairs, size_t bytes, uint8_t* out) {
  const __m128i zero = _mm_setzero_si128();
  for (size_t x = 0; x < bytes; x += 16) {
    Sums sums0, sums1, sums2, sums3;
    for (size_t row = 0; row < rows.size(); row += 2) {
      const Weights weights(pairs[row / 2]);
      const __m128i a = _mm_loadu_si128(reinterpret_cast<const __m128i*>(rows[row] + x));
      const __m128i b = _mm_loadu_si128(reinterpret_cast<const __m128i*>(rows[row + 1] + x));
      const __m128i lower = _mm_unpacklo_epi8(a, b);
      const __m128i upper = _mm_unpackhi_epi8(a, b);
      sums0.Add(_mm_unpacklo_epi8(lower, zero), weights);
      sums1.Add(_mm_unpackhi_epi8(lower, zero), weights);
      sums2.Add(_mm_unpacklo_epi8(upper, zero), weights);
      sums3.Add(_mm_unpackhi_epi8(upper, zero), weights);
    }
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out + x), ToBytes(sums0, sums1, sums2, sums3));
  }
}

}  // namespace stoker

#else

namespace stoker {

void FilterColumnsBaseline(const ColumnWeights& weights, const SourceRows& rows, const FilteredRows& out) {
  FilterColumnsScalar(weights, rows, out);
}
void FilterRowsBaseline(std::span<const uint8_t* const> rows, const SplitPair* weights, size_t bytes, uint8_t* out) {
  FilterRowsScalar(rows, weights, bytes, out);
}

}  // namespace stoker

#endif

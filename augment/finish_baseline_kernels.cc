#include "augment/finish_baseline_kernels.h"

#include "augment/finish_kernels.h"

#if defined(__SSE2__)

#include <emmintrin.h>

namespace stoker {

namespace {

constexpr size_t kBlock = 16;

// 48 bytes: interleaved samples of three channels, or a channel each.
struct Block {
  __m128i a, b, c;
};

__m128i Load(const uint8_t* from) { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(from)); }

__m128i UpperHalf(__m128i value) { return _mm_unpackhi_epi64(value, value); }

// The first 24 bytes interleaved with the last 24: the byte at place p comes to 2p modulo 47.
Block Shuffled(const Block& from) {
  return {_mm_unpacklo_epi8(from.a, UpperHalf(from.b)), _mm_unpacklo_epi8(UpperHalf(from.a), from.c),
          _mm_unpacklo_epi8(from.b, UpperHalf(from.c))};
}

// Four times that is 16p modulo 47: channel p % 3, pixel p / 3.
Block Split(const Block& pixels) { return Shuffled(Shuffled(Shuffled(Shuffled(pixels)))); }

__m128i ReversedBytes(__m128i value) {
  const __m128i swapped = _mm_or_si128(_mm_slli_epi16(value, 8), _mm_srli_epi16(value, 8));
  constexpr int kReverse = _MM_SHUFFLE(0, 1, 2, 3);
  const __m128i halves = _mm_shufflehi_epi16(_mm_shufflelo_epi16(swapped, kReverse), kReverse);
  return _mm_shuffle_epi32(halves, _MM_SHUFFLE(1, 0, 3, 2));
}

void Store(__m128i value, bool reverse, uint8_t* to) {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(to), reverse ? ReversedBytes(value) : value);
}

}  // namespace

void SplitRowBaseline(const uint8_t* row, size_t width, bool reverse, const std::array<uint8_t*, 3>& planes) {
  if (width < kBlock) return SplitRowScalar(row, width, reverse, planes);
  for (size_t i = 0; i < width; i += kBlock) {
    const size_t at = i + kBlock <= width ? i : width - kBlock;
    const uint8_t* from = row + 3 * (reverse ? width - kBlock - at : at);
    const Block channels = Split({Load(from), Load(from + kBlock), Load(from + 2 * kBlock)});
    Store(channels.a, reverse, planes[0] + at);
    Store(channels.b, reverse, planes[1] + at);
    Store(channels.c, reverse, planes[2] + at);
  }
}

}  // namespace stoker

#else

namespace stoker {

void SplitRowBaseline(const uint8_t* row, size_t width, bool reverse, const std::array<uint8_t*, 3>& planes) {
  SplitRowScalar(row, width, reverse, planes);
}

}  // namespace stoker

#endif

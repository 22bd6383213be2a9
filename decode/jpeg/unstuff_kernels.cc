#include "decode/jpeg/unstuff_kernels.h"

#include <algorithm>
#include <bit>

#include "decode/cpu_path.h"

#ifdef __x86_64__
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"  // GCC's own header, its bug 105593
#endif
#include <immintrin.h>
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif
#endif

namespace stoker {
namespace {

constexpr uint8_t kMarkerByte = 0xFF;

// Goes on behind what `done` tells, to the end.
Unstuffed Finish(std::span<const uint8_t> from, uint8_t* to, Unstuffed done) {
  while (done.taken < from.size()) {
    const uint8_t byte = from[done.taken];
    if (byte != kMarkerByte) {
      to[done.given++] = byte;
      ++done.taken;
      continue;
    }
    if (done.taken + 1 == from.size()) return done;
    if (from[done.taken + 1] != 0) {
      done.at_marker = true;
      return done;
    }
    to[done.given++] = byte;
    done.taken += 2;
  }
  return done;
}

#ifdef __x86_64__
// Copies a vector, then counts up to the first 0xFF in it.
Unstuffed UnstuffSse2(std::span<const uint8_t> from, uint8_t* to, Unstuffed done) {
  while (done.taken + sizeof(__m128i) < from.size()) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from.data() + done.taken));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to + done.given), bytes);
    const auto found = static_cast<uint32_t>(_mm_movemask_epi8(_mm_cmpeq_epi8(bytes, _mm_set1_epi8(-1))));
    if (found == 0) {
      done.taken += sizeof(bytes);
      done.given += sizeof(bytes);
      continue;
    }
    const auto before = static_cast<size_t>(std::countr_zero(found));
    done.taken += before;
    done.given += before;
    if (from[done.taken + 1] != 0) break;
    done.taken += 2;
    done.given += 1;
  }
  return Finish(from, to, done);
}

// Takes out all that is stuffed into 64 bytes at once; a marker among them ends the loop.
__attribute__((target("avx512f,avx512bw,avx512vl,avx512vbmi,avx512vbmi2,bmi,popcnt"))) Unstuffed UnstuffVbmi2(
    std::span<const uint8_t> from, uint8_t* to) {
  Unstuffed done;
  uint64_t after_marker_byte = 0;  // bit 0: the byte before the vector is one
  while (done.taken + 64 < from.size()) {
    const __m512i bytes = _mm512_loadu_si512(from.data() + done.taken);
    const uint64_t marker_bytes = _mm512_cmpeq_epi8_mask(bytes, _mm512_set1_epi8(-1));
    const uint64_t behind = marker_bytes << 1 | after_marker_byte;
    if ((behind & _mm512_test_epi8_mask(bytes, bytes)) != 0) break;
    after_marker_byte = marker_bytes >> 63;
    _mm512_storeu_si512(to + done.given, _mm512_maskz_compress_epi8(~behind, bytes));
    done.given += 64 - static_cast<size_t>(std::popcount(behind));
    done.taken += 64;
  }
  if (after_marker_byte != 0) {  // given too early: what follows it is not known yet
    --done.taken;
    --done.given;
  }
  return UnstuffSse2(from, to, done);
}
#endif

}  // namespace

Unstuffed UnstuffByBytes(std::span<const uint8_t> from, uint8_t* to) noexcept { return Finish(from, to, {}); }

Unstuffed Unstuff(std::span<const uint8_t> from, uint8_t* to) noexcept {
#ifdef __x86_64__
  return ChosenCpuPath() == CpuPath::kAvx512 ? UnstuffVbmi2(from, to) : UnstuffSse2(from, to, {});
#else
  return UnstuffByBytes(from, to);
#endif
}

size_t CountStuffed(std::span<const uint8_t> unstuffed) noexcept {
  size_t count = 0;
  size_t i = 0;
#ifdef __x86_64__
  __m128i sums = _mm_setzero_si128();
  for (; i + 16 <= unstuffed.size(); i += 16) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(unstuffed.data() + i));
    const __m128i found = _mm_and_si128(_mm_cmpeq_epi8(bytes, _mm_set1_epi8(-1)), _mm_set1_epi8(1));
    sums = _mm_add_epi64(sums, _mm_sad_epu8(found, _mm_setzero_si128()));
  }
  count = static_cast<size_t>(_mm_cvtsi128_si64(sums) + _mm_cvtsi128_si64(_mm_unpackhi_epi64(sums, sums)));
#endif
  for (; i < unstuffed.size(); ++i) count += unstuffed[i] == kMarkerByte ? 1 : 0;
  return count;
}

}  // namespace stoker

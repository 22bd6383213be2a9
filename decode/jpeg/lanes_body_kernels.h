// The lanes' loop, as each set of instructions has it. All of it becomes part of the functions that are compiled for
// the set, so this is included in lanes_kernels.cc only.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "decode/jpeg/lanes_kernels.h"

#ifdef __x86_64__
#include <emmintrin.h>
#endif

#define STOKER_INLINE __attribute__((always_inline)) inline

namespace stoker::lanes {

STOKER_INLINE uint64_t LoadBigEndian(const uint8_t* from) {
  uint64_t value;
  std::memcpy(&value, from, sizeof(value));
  return std::endian::native == std::endian::little ? __builtin_bswap64(value) : value;
}

// Fills the window up to 56 bits or more. The load does not wait for the bits that were taken last.
STOKER_INLINE void Refill(Lane& lane) {
  lane.window |= LoadBigEndian(lane.next) >> (lane.bits & 63);
  lane.next += ~lane.bits >> 3 & 7;
  lane.bits |= 56;
}

// What TrailPosition reads.
STOKER_INLINE TableWord Trail(const Lane& lane) {
  return reinterpret_cast<uintptr_t>(lane.next) | lane.bits << kTrailShift;
}

// One look-up, of 28 bits at most. False, with nothing done, where it takes a step by the book.
template <bool kPopcount, bool kTrail>
STOKER_INLINE bool Step(Lane& lane) {
  uint64_t entry;
  const uint64_t index = lane.window >> (lane.table & 63);
  std::memcpy(&entry, reinterpret_cast<const uint8_t*>(lane.table) + 8 * index - kTableShift, sizeof(entry));
  const uint64_t place = lane.place + (entry >> kEntryAdvance & 0xFF);  // and the flag `end` above it
  if (__builtin_expect((place & kBlockCoefficients) != 0, 0)) return false;

  const uint32_t values =
      static_cast<uint32_t>(entry >> kEntryValues) + static_cast<uint32_t>(lane.window >> (-entry & 63));
  std::memcpy(lane.values, &values, sizeof(values));
  const uint64_t mask = entry >> kEntryMask;
  lane.values += kPopcount ? static_cast<uint64_t>(std::popcount(mask)) : entry >> kEntryCount & 3;
  lane.half->mask |= mask << (lane.place & 63);
  lane.window <<= entry & 63;
  lane.bits -= entry;
  if constexpr (kTrail) lane.half->table = Trail(lane);

#ifdef __x86_64__
  // As often as not a block ends here, so a branch would be mispredicted; compilers make one of ?: when they please.
  static_assert(kEntryEnd == 0x8000 && sizeof(HalfBlock) == 16 && offsetof(HalfBlock, table) == 0);
  lane.place = place;
  HalfBlock* next = lane.half + 1;
  const uint64_t one = 1;
  __asm__(
      "testl $0x8000, %k[entry]\n\t"
      "cmovneq (%[next]), %[table]\n\t"
      "cmovneq %[one], %[place]\n\t"
      "cmovneq %[next], %[half]"
      : [table] "+&r"(lane.table), [place] "+&r"(lane.place), [half] "+&r"(lane.half)
      : [entry] "r"(entry), [next] "r"(next), [one] "r"(one), "m"(*next)
      : "cc");
#else
  const bool end = (entry & kEntryEnd) != 0;
  lane.table = end ? lane.half[1].table : lane.table;
  lane.place = end ? 1 : place;
  lane.half += end ? 1 : 0;
#endif
  return true;
}

enum class BookStep : uint8_t { kGoOn, kDone, kOdd };

// How many of the limits `bits` has reached.
STOKER_INLINE size_t LimitsReached(const std::array<uint16_t, 16>& limits, uint16_t bits) {
#ifdef __x86_64__
  const auto* const halves = reinterpret_cast<const __m128i*>(limits.data());
  const __m128i all = _mm_set1_epi16(static_cast<int16_t>(bits));
  // What is left of a limit that is reached is 0.
  const __m128i low = _mm_cmpeq_epi16(_mm_subs_epu16(_mm_loadu_si128(halves), all), _mm_setzero_si128());
  const __m128i high = _mm_cmpeq_epi16(_mm_subs_epu16(_mm_loadu_si128(halves + 1), all), _mm_setzero_si128());
  return static_cast<size_t>(std::countr_one(static_cast<uint32_t>(_mm_movemask_epi8(_mm_packs_epi16(low, high)))));
#else
  size_t reached = 0;
  for (const uint16_t limit : limits) reached += bits >= limit ? 1 : 0;
  return reached;
#endif
}

// Takes one code off the window; false where there is none.
inline bool TakeSymbol(const CodeBook& book, Lane& lane, int& symbol) {
  const auto bits = static_cast<uint16_t>(lane.window >> 48);
  const size_t length = 1 + LimitsReached(book.limits, bits);
  if (length > 16) return false;
  const int place = (bits >> (16 - length)) + book.offsets[length];
  symbol = book.symbols[static_cast<size_t>(place) & 255];
  lane.window <<= length;
  lane.bits -= length;
  return true;
}

// A value's bits; requires 1 <= size <= 15.
inline int16_t TakeValue(int size, Lane& lane) {
  const auto bits = static_cast<int>(lane.window >> (64 - size));
  lane.window <<= size;
  lane.bits -= static_cast<uint64_t>(size);
  return static_cast<int16_t>(bits >> (size - 1) != 0 ? bits : bits + 1 - (1 << size));
}

inline void EndHalf(Lane& lane) {
  ++lane.half;
  lane.table = lane.half->table;
  lane.place = 1;
}

// One symbol as the standard has it; the window is full.
__attribute__((noinline)) inline BookStep StepByTheBook(Lane& lane) {
  int symbol = 0;
  if (IndexBits(lane.table) == kStopIndexBits) return BookStep::kDone;
  if (IndexBits(lane.table) == kDcIndexBits) {
    if (!TakeSymbol(DcTable::Of(lane.table).book, lane, symbol)) return BookStep::kOdd;
    *lane.values++ = symbol == 0 ? int16_t{0} : TakeValue(symbol, lane);
    EndHalf(lane);
    return BookStep::kGoOn;
  }
  if (!TakeSymbol(AcTable::Of(lane.table).book, lane, symbol)) return BookStep::kOdd;
  const auto run = static_cast<uint64_t>(symbol >> 4);
  const int size = symbol & 15;
  bool end = false;
  if (size != 0) {
    lane.place += run;
    if (lane.place >= kBlockCoefficients) return BookStep::kOdd;
    *lane.values++ = TakeValue(size, lane);
    lane.half->mask |= uint64_t{1} << lane.place;
    end = ++lane.place == kBlockCoefficients;
  } else if (run == 15) {
    lane.place += 16;
    if (lane.place > kBlockCoefficients) return BookStep::kOdd;
    end = lane.place == kBlockCoefficients;
  } else {
    end = true;
  }
  if (end) EndHalf(lane);
  return BookStep::kGoOn;
}

inline LaneEnd EndOf(BookStep step) { return step == BookStep::kDone ? LaneEnd::kDone : LaneEnd::kOdd; }

// A lane's next symbol by the book. Only a copy of the lane has an address. Nor may the loops below choose a lane by
// `which ? second : first`: either way g++ keeps the lanes in memory, and takes half as long again.
template <bool kTrail>
STOKER_INLINE BookStep StepSlowly(Lane& lane) {
  Refill(lane);
  Lane copy = lane;
  const BookStep step = StepByTheBook(copy);
  if (kTrail && step == BookStep::kGoOn) lane.half->table = Trail(copy);
  Refill(copy);
  lane = copy;
  return step;
}

template <bool kPopcount, bool kTrail>
STOKER_INLINE LaneEnd DecodeOne(Lane& given) {
  Lane lane = given;
  for (;;) {
    if (__builtin_expect(Step<kPopcount, kTrail>(lane) && Step<kPopcount, kTrail>(lane), 1)) {
      Refill(lane);
      continue;
    }
    const BookStep step = StepSlowly<kTrail>(lane);
    if (step == BookStep::kGoOn) continue;
    given = lane;
    return EndOf(step);
  }
}

template <bool kPopcount, bool kTrail>
STOKER_INLINE LaneOfTwo DecodeTwo(Lane& given_first, Lane& given_second) {
  Lane first = given_first;
  Lane second = given_second;
  for (;;) {
    BookStep step;
    uint8_t lane;
    // Alternating, so that the steps of one fill the other's waits.
    if (__builtin_expect(!Step<kPopcount, kTrail>(first), 0)) goto first_slowly;
    if (__builtin_expect(!Step<kPopcount, kTrail>(second), 0)) goto second_slowly;
    if (__builtin_expect(!Step<kPopcount, kTrail>(first), 0)) goto first_slowly;
    if (__builtin_expect(!Step<kPopcount, kTrail>(second), 0)) goto second_slowly;
    Refill(first);
    Refill(second);
    continue;

  first_slowly:
    step = StepSlowly<kTrail>(first);
    Refill(second);
    lane = 0;
    if (step == BookStep::kGoOn) continue;
    goto ended;

  second_slowly:
    step = StepSlowly<kTrail>(second);
    Refill(first);
    lane = 1;
    if (step == BookStep::kGoOn) continue;

  ended:
    given_first = first;
    given_second = second;
    return {EndOf(step), lane};
  }
}

STOKER_INLINE void Prepare(const McuPattern& pattern, size_t mcus, HalfBlock* half) {
  for (size_t mcu = 0; mcu < mcus; ++mcu) {
    for (size_t i = 0; i < pattern.count; ++i, half += 2) std::memcpy(half, &pattern.halves[2 * i], 2 * sizeof(*half));
  }
  *half = {StopTable(), 0};
}

STOKER_INLINE size_t CountValues(const HalfBlock* half, size_t blocks) {
  size_t values = blocks;
  for (size_t i = 0; i < blocks; ++i) values += static_cast<size_t>(std::popcount(half[2 * i + 1].mask));
  return values;
}

template <bool kWrite>
STOKER_INLINE void PassBlocks(const McuPattern& pattern, size_t mcus, const HalfBlock*& half, const int16_t*& values,
                              DcValues& dc, BlockRows* to) {
  const HalfBlock* at = half;
  const int16_t* value = values;
  for (size_t mcu = 0; mcu < mcus; ++mcu) {
    for (size_t i = 0; i < pattern.count; ++i, at += 2) {
      const McuPattern::Block block = pattern.blocks[i];
      const auto sum = static_cast<int16_t>(dc[block.component] + *value++);
      dc[block.component] = sum;
      if constexpr (kWrite) *(*to)[block.component][block.row]++ = {at[1].mask, value, sum};
      value += std::popcount(at[1].mask);
    }
  }
  half = at;
  values = value;
}

}  // namespace stoker::lanes

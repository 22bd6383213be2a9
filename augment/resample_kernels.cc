#include "augment/resample_kernels.h"

#include <algorithm>

#include "augment/resample_baseline_kernels.h"
#include "augment/resample_vnni_kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "augment/resample_kernels.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace stoker::HWY_NAMESPACE {

#if HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128 || HWY_HAVE_SCALABLE

// No vectors, imitated ones (as on x86-64 before SSSE3) or ones of unknown width.
void ArrangeColumnsVector(ColumnWeights&) {}
void FilterColumnsVector(const ColumnWeights& weights, const SourceRows& rows, const FilteredRows& out) {
  FilterColumnsBaseline(weights, rows, out);
}
void FilterRowsVector(std::span<const uint8_t* const> rows, const SplitPair* weights, size_t bytes, uint8_t* out) {
  FilterRowsBaseline(rows, weights, bytes, out);
}

#else

namespace hn = hwy::HWY_NAMESPACE;

constexpr size_t kBlockBytes = 16;  // what TableLookupBytes can reach
constexpr uint8_t kNoByte = 0x80;   // TableLookupBytesOr0 gives 0
constexpr size_t kLanesPerBlock = 4;

// Half of each sum's 22 fractional bits lies in the upper half of the split weights.
constexpr int32_t kRoundHigh = 1 << (kWeightBits - 1 - kSplitBits);

// Pairs of 16-bit samples times pairs of split weights, summed in 32 bits. `odd` is used by targets without a
// multiplication that adds neighbours; elsewhere it stays zero and the compiler drops it.
template <class D>
struct Sums {
  hn::Vec<D> high, high_odd, low, low_odd;

  explicit Sums(D d) : high(hn::Set(d, kRoundHigh)), high_odd(hn::Zero(d)), low(hn::Zero(d)), low_odd(hn::Zero(d)) {}

  template <class V16>
  HWY_INLINE void Add(D d, V16 samples, V16 weights_high, V16 weights_low) {
    high = hn::ReorderWidenMulAccumulate(d, samples, weights_high, high, high_odd);
    low = hn::ReorderWidenMulAccumulate(d, samples, weights_low, low, low_odd);
  }
  HWY_INLINE hn::Vec<D> Round() const {
    const auto all_high = hn::RearrangeToOddPlusEven(high, high_odd);
    const auto all_low = hn::RearrangeToOddPlusEven(low, low_odd);
    return hn::ShiftRight<kWeightBits>(hn::Add(hn::ShiftLeft<kSplitBits>(all_high), all_low));
  }
};

// The horizontal pass uses vectors of 32 bytes at most: wider ones cost more to gather than they save.
using ColumnBytes = hn::CappedTag<uint8_t, 32>;
using ColumnLanes = hn::Repartition<int32_t, ColumnBytes>;
using ColumnHalves = hn::Repartition<int16_t, ColumnBytes>;
constexpr size_t kColumnLanes = hn::MaxLanes(ColumnLanes());
constexpr size_t kColumnBlocks = kColumnLanes / kLanesPerBlock;

// The vectors come in twos. Packing two of them to bytes puts a block of the first before the same block of the
// second, so this is the sample that lane 0 of a block must hold for the bytes to come out in order.
size_t FirstSample(size_t vector, size_t block) {
  return vector / 2 * 2 * kColumnLanes + block * 2 * kLanesPerBlock + vector % 2 * kLanesPerBlock;
}

// One block's lanes shared out among loads of 16 bytes: which load each lane takes, and where the loads begin.
struct BlockLoads {
  size_t count = 0;
  int32_t offset[kLanesPerBlock] = {};
  uint8_t load[kLanesPerBlock] = {};
  uint8_t index[kLanesPerBlock] = {};
};

BlockLoads ShareOut(const ColumnWeights& w, size_t first_sample) {
  const auto channels = static_cast<size_t>(w.channels);
  const size_t last = static_cast<size_t>(w.width) * channels - 1;
  BlockLoads loads;
  int32_t base = 0;
  size_t pixel = std::min(first_sample, last) / channels;
  size_t channel = std::min(first_sample, last) % channels;
  for (size_t lane = 0; lane < kLanesPerBlock; ++lane) {
    const int32_t begin = w.first[pixel] * w.channels;
    const int32_t reach = begin + static_cast<int32_t>(channel) + w.channels;  // the lane's second tap
    if (loads.count == 0 || reach - base >= static_cast<int32_t>(kBlockBytes)) {
      base = begin;
      loads.offset[loads.count++] = base;
    }
    loads.load[lane] = static_cast<uint8_t>(loads.count - 1);
    loads.index[lane] = static_cast<uint8_t>(reach - base - w.channels);
    if (first_sample + lane < last && ++channel == channels) {
      channel = 0;
      ++pixel;
    }
  }
  return loads;
}

void ArrangeColumnsVector(ColumnWeights& w) {
  const size_t samples = static_cast<size_t>(w.width) * static_cast<size_t>(w.channels);
  w.vectors = (samples + 2 * kColumnLanes - 1) / (2 * kColumnLanes) * 2;
  const size_t blocks = w.vectors * kColumnBlocks;
  const size_t lane_count = w.vectors * kColumnLanes;

  size_t loads = 1;
  for (size_t b = 0; b < blocks; ++b) {
    loads = std::max(loads, ShareOut(w, FirstSample(b / kColumnBlocks, b % kColumnBlocks)).count);
  }
  w.loads = loads == 3 ? 4 : loads;
  w.offsets.Reserve(blocks * w.loads);
  w.indices.Reserve(lane_count * w.loads * 4);
  w.lanes.Reserve(lane_count * w.pairs * 2);
  for (size_t b = 0; b < blocks; ++b) {
    const size_t vector = b / kColumnBlocks;
    const size_t block = b % kColumnBlocks;
    const size_t first_sample = FirstSample(vector, block);
    const BlockLoads share = ShareOut(w, first_sample);
    for (size_t load = 0; load < w.loads; ++load) {
      w.offsets[(vector * w.loads + load) * kColumnBlocks + block] = share.offset[load < share.count ? load : 0];
      for (size_t lane = 0; lane < kLanesPerBlock; ++lane) {
        const uint8_t index = share.index[lane];
        const bool used = share.load[lane] == load;
        uint8_t* bytes = &w.indices[((vector * w.loads + load) * kColumnLanes + block * kLanesPerBlock + lane) * 4];
        bytes[0] = used ? index : kNoByte;
        bytes[2] = used ? static_cast<uint8_t>(index + w.channels) : kNoByte;
        bytes[1] = bytes[3] = kNoByte;
      }
    }
    for (size_t lane = 0; lane < kLanesPerBlock; ++lane) {
      const size_t pixel = std::min(first_sample + lane, samples - 1) / static_cast<size_t>(w.channels);
      uint32_t* to = &w.lanes[vector * w.pairs * 2 * kColumnLanes + block * kLanesPerBlock + lane];
      for (size_t pair = 0; pair < w.pairs; ++pair, to += 2 * kColumnLanes) {
        const SplitPair& weight = w.weights[pixel * w.pairs + pair];
        to[0] = weight.high;
        to[kColumnLanes] = weight.low;
      }
    }
  }
}

HWY_INLINE hn::Vec<ColumnBytes> LoadBlocks(const uint8_t* row, const int32_t* offsets) {
  const ColumnBytes d;
#if HWY_TARGET <= HWY_AVX2 && HWY_ARCH_X86
  static_assert(kColumnBlocks == 2);
  const hn::Half<ColumnBytes> d_half;
  return hn::Combine(d, hn::LoadU(d_half, row + offsets[1]), hn::LoadU(d_half, row + offsets[0]));
#else
  static_assert(kColumnBlocks == 1);
  return hn::LoadU(d, row + offsets[0]);
#endif
}

// Adds one pair of taps of one row.
template <size_t kLoads, class V16>
HWY_INLINE void AddTaps(const uint8_t* row, const int32_t* offsets, const uint8_t* indices, V16 high, V16 low,
                        Sums<ColumnLanes>& sums) {
  const ColumnBytes d_bytes;
  auto taps = hn::TableLookupBytesOr0(LoadBlocks(row, offsets), hn::Load(d_bytes, indices));
  for (size_t load = 1; load < kLoads; ++load) {
    taps = hn::Or(taps, hn::TableLookupBytesOr0(LoadBlocks(row, offsets + load * kColumnBlocks),
                                                hn::Load(d_bytes, indices + load * kColumnLanes * 4)));
  }
  sums.Add(ColumnLanes(), hn::BitCast(ColumnHalves(), taps), high, low);
}

// One vector of samples of each row. Written out row by row: in arrays and loops the sums would live in memory.
struct FilteredVector {
  hn::Vec<ColumnLanes> row0, row1, row2, row3;
};

template <size_t kLoads>
HWY_INLINE FilteredVector FilterVector(const SourceRows& rows, const int32_t* offsets, const uint8_t* indices,
                                       const uint32_t* lanes, size_t pairs, size_t step) {
  const ColumnLanes d;
  const hn::RebindToUnsigned<ColumnLanes> d_weights;
  const ColumnHalves d_halves;
  Sums sums0(d), sums1(d), sums2(d), sums3(d);
  for (size_t pair = 0; pair < pairs; ++pair, lanes += 2 * kColumnLanes) {
    const auto high = hn::BitCast(d_halves, hn::Load(d_weights, lanes));
    const auto low = hn::BitCast(d_halves, hn::Load(d_weights, lanes + kColumnLanes));
    AddTaps<kLoads>(rows[0] + pair * step, offsets, indices, high, low, sums0);
    AddTaps<kLoads>(rows[1] + pair * step, offsets, indices, high, low, sums1);
    AddTaps<kLoads>(rows[2] + pair * step, offsets, indices, high, low, sums2);
    AddTaps<kLoads>(rows[3] + pair * step, offsets, indices, high, low, sums3);
  }
  return {sums0.Round(), sums1.Round(), sums2.Round(), sums3.Round()};
}

HWY_INLINE void StoreTwo(hn::Vec<ColumnLanes> even, hn::Vec<ColumnLanes> odd, uint8_t* out) {
  const hn::Half<ColumnBytes> d_out;
  hn::StoreU(hn::DemoteTo(d_out, hn::ReorderDemote2To(ColumnHalves(), even, odd)), d_out, out);
}

template <size_t kLoads, size_t kPairs>
void FilterColumnsT(const ColumnWeights& w, const SourceRows& rows, const FilteredRows& out) {
  static_assert(kRowsAtOnce == 4);
  constexpr size_t kOffsets = kLoads * kColumnBlocks;
  constexpr size_t kIndices = kLoads * kColumnLanes * 4;
  // Copies, because for all the compiler knows the bytes that are written may lie in `w`.
  const SourceRows from = rows;
  const FilteredRows to = out;
  const size_t pairs = kPairs != 0 ? kPairs : w.pairs;
  const size_t weights = pairs * 2 * kColumnLanes;
  const size_t step = 2 * static_cast<size_t>(w.channels);
  const size_t bytes = w.vectors * kColumnLanes;
  const int32_t* offsets = w.offsets.data();
  const uint8_t* indices = w.indices.data();
  const uint32_t* lanes = w.lanes.data();
  for (size_t at = 0; at < bytes; at += 2 * kColumnLanes) {
    const FilteredVector even = FilterVector<kLoads>(from, offsets, indices, lanes, pairs, step);
    const FilteredVector odd =
        FilterVector<kLoads>(from, offsets + kOffsets, indices + kIndices, lanes + weights, pairs, step);
    StoreTwo(even.row0, odd.row0, to[0] + at);
    StoreTwo(even.row1, odd.row1, to[1] + at);
    StoreTwo(even.row2, odd.row2, to[2] + at);
    StoreTwo(even.row3, odd.row3, to[3] + at);
    offsets += 2 * kOffsets;
    indices += 2 * kIndices;
    lanes += 2 * weights;
  }
}

void FilterColumnsVector(const ColumnWeights& w, const SourceRows& rows, const FilteredRows& out) {
  if (w.loads > 2) return FilterColumnsT<4, 0>(w, rows, out);
  if (w.loads == 2) return FilterColumnsT<2, 0>(w, rows, out);
  if (w.pairs == 1) return FilterColumnsT<1, 1>(w, rows, out);
  if (w.pairs == 2) return FilterColumnsT<1, 2>(w, rows, out);
  if (w.pairs == 3) return FilterColumnsT<1, 3>(w, rows, out);
  FilterColumnsT<1, 0>(w, rows, out);
}

template <size_t kPairs>
void FilterRowsT(std::span<const uint8_t* const> rows, const SplitPair* weights, size_t bytes, uint8_t* out) {
  const hn::ScalableTag<int32_t> d;
  const hn::Repartition<int16_t, decltype(d)> d_halves;
  const hn::Rebind<uint8_t, decltype(d_halves)> d_bytes;
  const size_t pairs = kPairs != 0 ? kPairs : rows.size() / 2;
  for (size_t x = 0; x < bytes; x += hn::Lanes(d_bytes)) {
    Sums lower(d);
    Sums upper(d);
    for (size_t pair = 0; pair < pairs; ++pair) {
      const auto a = hn::PromoteTo(d_halves, hn::LoadU(d_bytes, rows[2 * pair] + x));
      const auto b = hn::PromoteTo(d_halves, hn::LoadU(d_bytes, rows[2 * pair + 1] + x));
      const auto high = hn::BitCast(d_halves, hn::Set(d, static_cast<int32_t>(weights[pair].high)));
      const auto low = hn::BitCast(d_halves, hn::Set(d, static_cast<int32_t>(weights[pair].low)));
      lower.Add(d, hn::InterleaveLower(d_halves, a, b), high, low);
      upper.Add(d, hn::InterleaveUpper(d_halves, a, b), high, low);
    }
    const auto both = hn::ReorderDemote2To(d_halves, lower.Round(), upper.Round());
    hn::StoreU(hn::DemoteTo(d_bytes, both), d_bytes, out + x);
  }
}

void FilterRowsVector(std::span<const uint8_t* const> rows, const SplitPair* weights, size_t bytes, uint8_t* out) {
  if (rows.size() == 2) return FilterRowsT<1>(rows, weights, bytes, out);
  if (rows.size() == 4) return FilterRowsT<2>(rows, weights, bytes, out);
  if (rows.size() == 6) return FilterRowsT<3>(rows, weights, bytes, out);
  FilterRowsT<0>(rows, weights, bytes, out);
}

#endif

}  // namespace stoker::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include <cassert>

namespace stoker {

HWY_EXPORT(ArrangeColumnsVector);
HWY_EXPORT(FilterColumnsVector);
HWY_EXPORT(FilterRowsVector);

void ArrangeColumns(ColumnWeights& weights) {
  weights.vnni = HasVnni() && ArrangeColumnsVnni(weights);
  if (!weights.vnni) HWY_DYNAMIC_DISPATCH(ArrangeColumnsVector)(weights);
}

void FilterColumns(const ColumnWeights& weights, const SourceRows& rows, const FilteredRows& out) {
  if (weights.vnni) return FilterColumnsVnni(weights, rows, out);
  HWY_DYNAMIC_DISPATCH(FilterColumnsVector)(weights, rows, out);
}

void FilterRows(std::span<const uint8_t* const> rows, const SplitPair* weights, size_t bytes, uint8_t* out) {
  assert(!rows.empty() && rows.size() % 2 == 0);
  if (HasVnni() && FilterRowsVnni(rows, weights, bytes, out)) return;
  HWY_DYNAMIC_DISPATCH(FilterRowsVector)(rows, weights, bytes, out);
}

}  // namespace stoker

#endif  // HWY_ONCE

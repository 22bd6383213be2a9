#include "augment/finish_kernels.h"

#include "augment/finish_baseline_kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "augment/finish_kernels.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace stoker::HWY_NAMESPACE {

#if HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128 || HWY_HAVE_SCALABLE

// No vectors, imitated ones (as on x86-64 before SSSE3) or ones of unknown width. Tables are as fast as SSE2 divides.
void ConvertRowVector(const RowFormula& formula, const uint8_t* values, size_t count, std::byte* out) {
  ConvertRowScalar(formula, values, count, out);
}
void SplitRowVector(const uint8_t* row, size_t width, bool reverse, const std::array<uint8_t*, 3>& planes) {
  SplitRowBaseline(row, width, reverse, planes);
}
void ReverseRowVector(const uint8_t* row, size_t width, size_t channels, uint8_t* out) {
  ReverseRowScalar(row, width, channels, out);
}

#else

namespace hn = hwy::HWY_NAMESPACE;

using Floats = hn::ScalableTag<float>;
constexpr size_t kLanes = hn::MaxLanes(Floats());
static_assert(kLanes <= RowFormula::kMaxLanes);

// Whether vectors of this target round to float16 in one instruction, to nearest even.
#if HWY_TARGET == HWY_SSSE3 || HWY_TARGET == HWY_SSE4
constexpr bool kHasHalf = false;
#else
constexpr bool kHasHalf = true;
#endif

// Without fused multiply-add (or where the split does not serve) there is only the division itself.
template <bool kMultiply>
HWY_INLINE hn::Vec<Floats> Normalized(const RowFormula& formula, size_t phase, hn::Vec<Floats> value) {
  const Floats d;
  const auto mean = hn::LoadU(d, &formula.mean[phase]);
  if constexpr (kMultiply) {
    const auto unit = hn::MulAdd(value, hn::Set(d, kInverse255), hn::Mul(value, hn::Set(d, kInverse255Rest)));
    const auto centered = hn::Sub(unit, mean);
    return hn::MulAdd(centered, hn::LoadU(d, &formula.inverse[phase]),
                      hn::Mul(centered, hn::LoadU(d, &formula.inverse_rest[phase])));
  } else {
    return hn::Div(hn::Sub(hn::Div(value, hn::Set(d, 255.0f)), mean), hn::LoadU(d, &formula.std[phase]));
  }
}

// Past the caches where `kStream`; then `to` is aligned to the vector.
template <bool kStream, class D>
HWY_INLINE void Store(hn::Vec<D> value, D d, hn::TFromD<D>* to) {
  if constexpr (kStream) {
    hn::Stream(value, d, to);
  } else {
    hn::StoreU(value, d, to);
  }
}

template <ElementType kElement, bool kStream>
HWY_INLINE void StoreElements(hn::Vec<Floats> value, size_t at, std::byte* out) {
  const Floats d;
  if constexpr (kElement == ElementType::kFloat32) {
    Store<kStream>(value, d, reinterpret_cast<float*>(out) + at);
  } else if constexpr (kElement == ElementType::kFloat16) {
    const hn::Rebind<hwy::float16_t, Floats> d_half;
    const hn::Rebind<uint16_t, Floats> d_out;
    Store<kStream>(hn::BitCast(d_out, hn::DemoteTo(d_half, value)), d_out, reinterpret_cast<uint16_t*>(out) + at);
  } else {
    // To nearest even: a half, less one bit where the last bit that stays is 0, carries into the upper 16 bits.
    const hn::RebindToUnsigned<Floats> d_bits;
    const hn::RebindToSigned<Floats> d_signed;
    const hn::Rebind<uint16_t, Floats> d_out;
    const auto bits = hn::BitCast(d_bits, value);
    const auto last = hn::And(hn::ShiftRight<16>(bits), hn::Set(d_bits, 1));
    const auto rounded = hn::ShiftRight<16>(hn::Add(bits, hn::Add(last, hn::Set(d_bits, 0x7fff))));
    Store<kStream>(hn::DemoteTo(d_out, hn::BitCast(d_signed, rounded)), d_out, reinterpret_cast<uint16_t*>(out) + at);
  }
}

// The last vector overlaps the one before, so that nothing behind the row is written.
template <ElementType kElement, bool kMultiply, size_t kPeriod, bool kStream>
void ConvertRowT(const RowFormula& formula, const uint8_t* values, size_t count, std::byte* out) {
  const Floats d;
  const hn::RebindToSigned<Floats> d_int;
  const hn::Rebind<uint8_t, Floats> d_bytes;
  for (size_t i = 0; i < count; i += kLanes) {
    const size_t at = i + kLanes <= count ? i : count - kLanes;
    const auto value = hn::ConvertTo(d, hn::PromoteTo(d_int, hn::LoadU(d_bytes, values + at)));
    StoreElements<kElement, kStream>(Normalized<kMultiply>(formula, at % kPeriod, value), at, out);
  }
}

template <ElementType kElement, bool kStream>
void ConvertPeriods(const RowFormula& formula, const uint8_t* values, size_t count, std::byte* out) {
#if HWY_NATIVE_FMA
  if (formula.multiply) {
    if (formula.period == 1) return ConvertRowT<kElement, true, 1, kStream>(formula, values, count, out);
    return ConvertRowT<kElement, true, 3, kStream>(formula, values, count, out);
  }
#endif
  if (formula.period == 1) return ConvertRowT<kElement, false, 1, kStream>(formula, values, count, out);
  ConvertRowT<kElement, false, 3, kStream>(formula, values, count, out);
}

template <ElementType kElement>
void ConvertElements(const RowFormula& formula, const uint8_t* values, size_t count, std::byte* out) {
  constexpr size_t kVectorBytes = kLanes * (kElement == ElementType::kFloat32 ? sizeof(float) : sizeof(uint16_t));
  if constexpr (kVectorBytes >= 16) {  // less is not streamed by any target
    const bool aligned = reinterpret_cast<uintptr_t>(out) % kVectorBytes == 0 && count % kLanes == 0;
    if (formula.stream && aligned) return ConvertPeriods<kElement, true>(formula, values, count, out);
  }
  ConvertPeriods<kElement, false>(formula, values, count, out);
}

void ConvertRowVector(const RowFormula& formula, const uint8_t* values, size_t count, std::byte* out) {
  if (count < kLanes) return ConvertRowScalar(formula, values, count, out);
  if (formula.element == ElementType::kFloat32) {
    return ConvertElements<ElementType::kFloat32>(formula, values, count, out);
  }
  if (formula.element == ElementType::kBfloat16) {
    return ConvertElements<ElementType::kBfloat16>(formula, values, count, out);
  }
  if constexpr (kHasHalf) {
    ConvertElements<ElementType::kFloat16>(formula, values, count, out);
  } else {
    ConvertRowScalar(formula, values, count, out);
  }
}

using Block = hn::FixedTag<uint8_t, 16>;
constexpr size_t kBlock = 16;

HWY_INLINE hn::Vec<Block> ReversedBytes(hn::Vec<Block> value) {
  alignas(16) static constexpr uint8_t kReverse[kBlock] = {15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0};
  return hn::TableLookupBytes(value, hn::Load(Block(), kReverse));
}

void SplitRowVector(const uint8_t* row, size_t width, bool reverse, const std::array<uint8_t*, 3>& planes) {
  if (width < kBlock) return SplitRowScalar(row, width, reverse, planes);
  const Block d;
  for (size_t i = 0; i < width; i += kBlock) {
    const size_t at = i + kBlock <= width ? i : width - kBlock;
    hn::Vec<Block> r, g, b;
    hn::LoadInterleaved3(d, row + 3 * (reverse ? width - kBlock - at : at), r, g, b);
    hn::StoreU(reverse ? ReversedBytes(r) : r, d, planes[0] + at);
    hn::StoreU(reverse ? ReversedBytes(g) : g, d, planes[1] + at);
    hn::StoreU(reverse ? ReversedBytes(b) : b, d, planes[2] + at);
  }
}

void ReverseRowVector(const uint8_t* row, size_t width, size_t channels, uint8_t* out) {
  if (width < kBlock) return ReverseRowScalar(row, width, channels, out);
  const Block d;
  for (size_t i = 0; i < width; i += kBlock) {
    const size_t at = i + kBlock <= width ? i : width - kBlock;
    const uint8_t* from = row + channels * (width - kBlock - at);
    if (channels == 1) {
      hn::StoreU(ReversedBytes(hn::LoadU(d, from)), d, out + at);
    } else {
      hn::Vec<Block> r, g, b;
      hn::LoadInterleaved3(d, from, r, g, b);
      hn::StoreInterleaved3(ReversedBytes(r), ReversedBytes(g), ReversedBytes(b), d, out + 3 * at);
    }
  }
}

#endif

}  // namespace stoker::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include <hwy/cache_control.h>

#include <cassert>

namespace stoker {

HWY_EXPORT(ConvertRowVector);
HWY_EXPORT(SplitRowVector);
HWY_EXPORT(ReverseRowVector);

void ConvertRow(const RowFormula& formula, const uint8_t* values, size_t count, std::byte* out) {
  assert(formula.element != ElementType::kUint8);
  HWY_DYNAMIC_DISPATCH(ConvertRowVector)(formula, values, count, out);
}

void EndStream() { hwy::FlushStream(); }

void SplitRow(const uint8_t* row, size_t width, bool reverse, const std::array<uint8_t*, 3>& planes) {
  HWY_DYNAMIC_DISPATCH(SplitRowVector)(row, width, reverse, planes);
}

void ReverseRow(const uint8_t* row, size_t width, size_t channels, uint8_t* out) {
  assert(channels == 1 || channels == 3);
  HWY_DYNAMIC_DISPATCH(ReverseRowVector)(row, width, channels, out);
}

}  // namespace stoker

#endif  // HWY_ONCE

#include "augment/resample_weights_kernels.h"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "augment/resample_weights_kernels.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace stoker::HWY_NAMESPACE {

#if HWY_TARGET == HWY_SCALAR || HWY_HAVE_SCALABLE || !HWY_HAVE_FLOAT64

void FixedWeightsVector(const PlacedFilter& filter, TapRange taps, std::span<int32_t> weights, double* values) {
  FixedWeightsScalar(filter, taps, weights, values);
}

#else

namespace hn = hwy::HWY_NAMESPACE;

// Few pixels have more taps than that.
using Taps = hn::CappedTag<double, 4>;
using V = hn::Vec<Taps>;
constexpr size_t kTaps = hn::MaxLanes(Taps());
static_assert(kTaps <= kWeightPadding);

HWY_INLINE V Number(double value) { return hn::Set(Taps(), value); }

HWY_INLINE V Triangle(V x) { return hn::Max(hn::Sub(Number(1.0), x), hn::Zero(Taps())); }

HWY_INLINE V Cubic(V x) {
  constexpr double kA = -0.5;
  const V inner_slope = hn::Sub(hn::Mul(Number(kA + 2.0), x), Number(kA + 3.0));
  const V inner = hn::Add(hn::Mul(hn::Mul(inner_slope, x), x), Number(1.0));
  const V outer_slope = hn::Add(hn::Mul(hn::Sub(x, Number(5.0)), x), Number(8.0));
  const V outer = hn::Mul(hn::Sub(hn::Mul(outer_slope, x), Number(4.0)), Number(kA));
  return hn::IfThenElse(hn::Lt(x, Number(1.0)), inner, hn::IfThenElseZero(hn::Lt(x, Number(2.0)), outer));
}

void FixedWeightsVector(const PlacedFilter& filter, TapRange taps, std::span<int32_t> weights, double* values) {
  const Taps d;
  const hn::Rebind<int32_t, Taps> d_fixed;
  const bool cubic = filter.interpolation == Interpolation::kBicubic;
  const V count = Number(taps.count);
  for (size_t i = 0; i < weights.size(); i += kTaps) {
    const V tap = hn::Iota(d, static_cast<double>(i));
    const V distance = hn::Add(hn::Sub(hn::Add(tap, Number(taps.first)), Number(filter.center)), Number(0.5));
    const V x = hn::Abs(hn::Mul(distance, Number(filter.squeeze)));
    hn::Store(hn::IfThenElseZero(hn::Lt(tap, count), cubic ? Cubic(x) : Triangle(x)), d, values + i);
  }
  // In this order, to the last bit. All of them rather than `count`, which no branch could predict.
  double sum = 0;
  for (size_t i = 0; i < weights.size(); ++i) sum += values[i];
  const V all = Number(sum != 0 ? sum : 1.0);
  for (size_t i = 0; i < weights.size(); i += kTaps) {
    const V weight = hn::Div(hn::Load(d, values + i), all);
    const V scaled = hn::Mul(weight, Number(1 << kWeightBits));
    const auto fixed = hn::DemoteTo(d_fixed, hn::Add(scaled, hn::CopySign(Number(0.5), weight)));
    if (i + kTaps <= weights.size()) {
      hn::StoreU(fixed, d_fixed, &weights[i]);
    } else {
      alignas(16) int32_t last[kTaps];
      hn::Store(fixed, d_fixed, last);
      std::copy_n(last, weights.size() - i, &weights[i]);
    }
  }
}

#endif

}  // namespace stoker::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace stoker {

HWY_EXPORT(FixedWeightsVector);

void FixedWeights(const PlacedFilter& filter, TapRange taps, std::span<int32_t> weights, double* values) {
  if (filter.interpolation > Interpolation::kBicubic) return FixedWeightsScalar(filter, taps, weights, values);
  HWY_DYNAMIC_DISPATCH(FixedWeightsVector)(filter, taps, weights, values);
}

}  // namespace stoker

#endif  // HWY_ONCE

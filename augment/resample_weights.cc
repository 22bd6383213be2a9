#include "augment/resample_weights.h"

#include <algorithm>
#include <cassert>
#include <cmath>

namespace stoker {

namespace {

// The filters and their radius as Pillow has them.
double Radius(Interpolation interpolation) { return interpolation == Interpolation::kBicubic ? 2.0 : 1.0; }

// Both without branches, which a neighbour's taps could not predict.
double Triangle(double x) { return std::max(1.0 - std::fabs(x), 0.0); }

double Cubic(double x) {
  constexpr double kA = -0.5;
  x = std::fabs(x);
  const double inner = ((kA + 2.0) * x - (kA + 3.0)) * x * x + 1;
  const double outer = (((x - 5) * x + 8) * x - 4) * kA;
  const double tail = x < 2.0 ? outer : 0.0;
  return x < 1.0 ? inner : tail;
}

template <double (*kFilter)(double)>
void FixedWeights(double center, double squeeze, TapRange taps, std::span<int32_t> weights, double* values) {
  constexpr double kOne = 1 << kWeightBits;
  const double first = taps.first;
  const double count = taps.count;
  double sum = 0;
  for (size_t i = 0; i < weights.size(); ++i) {
    const double tap = static_cast<int32_t>(i);
    const double value = kFilter((tap + first - center + 0.5) * squeeze);
    values[i] = tap < count ? value : 0.0;
    sum += values[i];
  }
  if (sum == 0) sum = 1;
  for (size_t i = 0; i < weights.size(); ++i) {
    const double weight = values[i] / sum;
    weights[i] = static_cast<int32_t>(weight * kOne + (weight < 0 ? -0.5 : 0.5));
  }
}

}  // namespace

ResampleAxis::ResampleAxis(Interpolation interpolation, double begin, double end, int32_t out_size, int32_t low,
                           int32_t high)
    : interpolation_(interpolation),
      identity_(begin == 0 && end == out_size),
      begin_(begin),
      end_(end),
      scale_((end - begin) / out_size),
      stretch_(std::max(scale_, 1.0)),
      support_(Radius(interpolation) * stretch_),
      out_size_(out_size),
      low_(low),
      high_(high) {
  assert(low < high && out_size > 0 && scale_ > 0);
}

bool ResampleAxis::PrefersFirst(const ResampleAxis& other) const {
  const double saved = end_ - begin_ - out_size_;
  return saved > 0 && saved > 2 * (other.end_ - other.begin_ - other.out_size_);
}

TapRange ResampleAxis::Taps(int32_t index) const {
  if (identity_) return {std::clamp(index, low_, high_ - 1), 1};
  const double center = begin_ + (index + 0.5) * scale_;
  // Truncation after adding a half, as Pillow rounds; clamped before it, as both may lie far outside of 32 bits.
  const auto first = static_cast<int32_t>(std::max<double>(center - support_ + 0.5, low_));
  const auto end = static_cast<int32_t>(std::min<double>(center + support_ + 0.5, high_));
  if (first < end) return {first, end - first};
  // Only where fractions of a pixel were lost between the decoder's box and its pixels.
  return {std::clamp(static_cast<int32_t>(center), low_, high_ - 1), 1};
}

int32_t ResampleAxis::MaxTaps() const {
  if (identity_) return 1;
  const double taps = 2 * support_ + 2;  // both ends rounded
  return taps < high_ - low_ ? static_cast<int32_t>(taps) : high_ - low_;
}

void ResampleAxis::Weights(int32_t index, TapRange taps, std::span<int32_t> weights, Scratch<double>& scratch) const {
  assert(static_cast<size_t>(taps.count) <= weights.size());
  if (taps.count == 1) {
    std::fill(weights.begin(), weights.end(), 0);
    weights[0] = 1 << kWeightBits;
    return;
  }
  const double center = begin_ + (index + 0.5) * scale_;
  const double squeeze = 1.0 / stretch_;
  double* values = scratch.Reserve(weights.size());
  if (interpolation_ == Interpolation::kBicubic) {
    FixedWeights<Cubic>(center, squeeze, taps, weights, values);
  } else {
    FixedWeights<Triangle>(center, squeeze, taps, weights, values);
  }
}

// Added up step by step as Pillow does: the last bit of the sum decides where a sample falls between two pixels.
void ResampleAxis::Nearest(int32_t first, std::span<int32_t> indices) const {
  double position = begin_ + scale_ * 0.5;
  for (int32_t i = 0; i < first; ++i) position += scale_;
  for (int32_t& index : indices) {
    index = std::clamp(static_cast<int32_t>(position), low_, high_ - 1);
    position += scale_;
  }
}

void Split(std::span<const int32_t> weights, int32_t leading, std::span<SplitPair> pairs) {
  constexpr uint32_t kLowMask = (1 << kSplitBits) - 1;
  const auto at = [&](size_t tap) {
    const size_t i = tap - static_cast<size_t>(leading);  // wraps around before the first
    return i < weights.size() ? weights[i] : 0;
  };
  for (size_t i = 0; i < pairs.size(); ++i) {
    const int32_t a = at(2 * i);
    const int32_t b = at(2 * i + 1);
    pairs[i].high = (static_cast<uint32_t>(a >> kSplitBits) & 0xffffu) | static_cast<uint32_t>(b >> kSplitBits) << 16;
    pairs[i].low = (static_cast<uint32_t>(a) & kLowMask) | (static_cast<uint32_t>(b) & kLowMask) << 16;
  }
}

int32_t Join(const SplitPair* pairs, int32_t tap) {
  const SplitPair& pair = pairs[tap / 2];
  const int shift = tap % 2 * 16;
  const auto high = static_cast<int16_t>(pair.high >> shift);
  const auto low = static_cast<int16_t>(pair.low >> shift);
  return high * (1 << kSplitBits) + low;
}

}  // namespace stoker

#include "augment/resample_weights.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <numbers>

#include "augment/resample_weights_kernels.h"

namespace stoker {

namespace {

// The filters and their radius as Pillow has them.
double Radius(Interpolation interpolation) {
  switch (interpolation) {
    case Interpolation::kNearest:
    case Interpolation::kBilinear:
    case Interpolation::kHamming:
      return 1.0;
    case Interpolation::kBicubic:
      return 2.0;
    case Interpolation::kBox:
      return 0.5;
    case Interpolation::kLanczos:
      break;
  }
  return 3.0;
}

double Triangle(double x) {
  x = std::fabs(x);
  return x < 1.0 ? 1.0 - x : 0.0;
}

double Cubic(double x) {
  constexpr double kA = -0.5;
  x = std::fabs(x);
  if (x < 1.0) return ((kA + 2.0) * x - (kA + 3.0)) * x * x + 1;
  if (x < 2.0) return (((x - 5) * x + 8) * x - 4) * kA;
  return 0.0;
}

double Box(double x) { return x > -0.5 && x <= 0.5 ? 1.0 : 0.0; }

double Hamming(double x) {
  x = std::fabs(x);
  if (x == 0.0) return 1.0;
  if (x >= 1.0) return 0.0;
  x *= std::numbers::pi;
  return std::sin(x) / x * (0.54f + 0.46f * std::cos(x));  // Pillow's constants are floats too
}

double Sinc(double x) {
  if (x == 0.0) return 1.0;
  x *= std::numbers::pi;
  return std::sin(x) / x;
}

double Lanczos(double x) { return x >= -3.0 && x < 3.0 ? Sinc(x) * Sinc(x / 3) : 0.0; }

double Filter(Interpolation interpolation, double x) {
  switch (interpolation) {
    case Interpolation::kBicubic:
      return Cubic(x);
    case Interpolation::kBox:
      return Box(x);
    case Interpolation::kHamming:
      return Hamming(x);
    case Interpolation::kLanczos:
      return Lanczos(x);
    case Interpolation::kNearest:
    case Interpolation::kBilinear:
      break;
  }
  return Triangle(x);
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
  const PlacedFilter filter{interpolation_, begin_ + (index + 0.5) * scale_, 1.0 / stretch_};
  FixedWeights(filter, taps, weights, scratch.Reserve(weights.size() + kWeightPadding));
}

void FixedWeightsScalar(const PlacedFilter& filter, TapRange taps, std::span<int32_t> weights, double* values) {
  constexpr double kOne = 1 << kWeightBits;
  double sum = 0;
  for (int32_t i = 0; i < taps.count; ++i) {
    const double x = (i + taps.first - filter.center + 0.5) * filter.squeeze;
    values[i] = Filter(filter.interpolation, x);
    sum += values[i];
  }
  std::fill(weights.begin(), weights.end(), 0);
  for (int32_t i = 0; i < taps.count; ++i) {
    const double weight = sum != 0 ? values[i] / sum : values[i];
    weights[static_cast<size_t>(i)] = static_cast<int32_t>(weight * kOne + (weight < 0 ? -0.5 : 0.5));
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

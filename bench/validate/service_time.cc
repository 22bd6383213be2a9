#include "bench/validate/service_time.h"

#include <cmath>
#include <numbers>

#include "augment/random.h"

namespace stoker {
namespace {

// Standard deviation over mean.
constexpr double kEvenDeviation = 0.05;
constexpr double kWideDeviation = 1.0;
constexpr double kTailShare = 0.01;
constexpr double kTailFactor = 20;

double Lognormal(double deviation, Random& random) {
  const double variance = std::log1p(deviation * deviation);
  const double normal =
      std::sqrt(-2 * std::log(1 - random.Uniform())) * std::cos(2 * std::numbers::pi * random.Uniform());
  return std::exp(std::sqrt(variance) * normal - variance / 2);
}

}  // namespace

int64_t ServiceTime::Draw(uint64_t seed, uint64_t dice, int64_t index) const {
  if (mean_ns <= 0) return 0;
  Random random({seed, dice, static_cast<uint64_t>(index)}, 0);
  double factor = Lognormal(spread == Spread::kWide ? kWideDeviation : kEvenDeviation, random);
  if (spread == Spread::kTails) {
    factor *= (random.Uniform() < kTailShare ? kTailFactor : 1) / (1 + kTailShare * (kTailFactor - 1));
  }
  return static_cast<int64_t>(mean_ns * factor);
}

}  // namespace stoker

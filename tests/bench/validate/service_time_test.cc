#include "bench/validate/service_time.h"

#include <gtest/gtest.h>

#include <cmath>

namespace stoker {
namespace {

struct Moments {
  double mean = 0, deviation = 0;
};

Moments MomentsOf(const ServiceTime& time) {
  constexpr int kDraws = 200'000;
  double sum = 0, squares = 0;
  for (int i = 0; i < kDraws; ++i) {
    const auto ns = static_cast<double>(time.Draw(1, 2, i));
    sum += ns;
    squares += ns * ns;
  }
  const double mean = sum / kDraws;
  return {mean, std::sqrt(squares / kDraws - mean * mean)};
}

TEST(ServiceTime, HasTheMeanThatItIsGiven) {
  for (const Spread spread : {Spread::kEven, Spread::kWide, Spread::kTails}) {
    EXPECT_NEAR(MomentsOf({1e6, spread}).mean, 1e6, 0.02e6) << kSpreadNames[static_cast<size_t>(spread)];
  }
}

TEST(ServiceTime, SpreadsAsItsClassSays) {
  EXPECT_NEAR(MomentsOf({1e6, Spread::kEven}).deviation, 0.05e6, 0.002e6);
  EXPECT_NEAR(MomentsOf({1e6, Spread::kWide}).deviation, 1e6, 0.1e6);
}

TEST(ServiceTime, OfTailsTakesTwentyTimesAsLongOnceInAHundred) {
  const ServiceTime time = {1e6, Spread::kTails};
  int slow = 0;
  for (int i = 0; i < 100'000; ++i) slow += time.Draw(1, 2, i) > 10'000'000 ? 1 : 0;
  EXPECT_NEAR(slow, 1000, 150);
}

TEST(ServiceTime, IsAFunctionOfSeedStreamAndIndex) {
  const ServiceTime time = {1e6, Spread::kWide};
  EXPECT_EQ(time.Draw(1, 2, 3), time.Draw(1, 2, 3));
  EXPECT_NE(time.Draw(1, 2, 3), time.Draw(2, 2, 3));
  EXPECT_NE(time.Draw(1, 2, 3), time.Draw(1, 3, 3));
  EXPECT_NE(time.Draw(1, 2, 3), time.Draw(1, 2, 4));
  // Twice the mean, the same dice.
  EXPECT_NEAR(static_cast<double>(ServiceTime{2e6, Spread::kWide}.Draw(1, 2, 3)),
              2 * static_cast<double>(time.Draw(1, 2, 3)), 2);
}

TEST(ServiceTime, OfNothingIsNothing) { EXPECT_EQ(ServiceTime().Draw(1, 2, 3), 0); }

}  // namespace
}  // namespace stoker

#include "augment/random.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

namespace stoker {
namespace {

TEST(Mix64, IsSplitMix64) {
  EXPECT_EQ(Mix64(0), 0xe220a8397b1dcdafu);  // the published generator's first output for seed 0
  EXPECT_EQ(Mix64(0x9e3779b97f4a7c15u), 0x6e789e6aa1b965f4u);
}

TEST(Random, IsAFunctionOfItsKey) {
  Random a({1, 2, 3}, 4);
  Random b({1, 2, 3}, 4);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(a.Next(), b.Next());
}

TEST(Random, EveryPartOfTheKeyCounts) {
  std::set<uint64_t> seen;
  size_t drawn = 0;
  for (uint64_t seed = 0; seed < 6; ++seed) {
    for (uint64_t epoch = 0; epoch < 6; ++epoch) {
      for (uint64_t position = 0; position < 60; ++position) {
        for (uint32_t op = 0; op < 6; ++op) {
          Random random({seed, epoch, position}, op);
          for (int i = 0; i < 3; ++i, ++drawn) seen.insert(random.Next());
        }
      }
    }
  }
  EXPECT_EQ(seen.size(), drawn);
}

TEST(Random, ExchangedPartsOfTheKeyDiffer) {
  EXPECT_NE(Random({1, 2, 3}, 4).Next(), Random({2, 1, 3}, 4).Next());
  EXPECT_NE(Random({1, 2, 3}, 4).Next(), Random({1, 3, 2}, 4).Next());
  EXPECT_NE(Random({1, 2, 3}, 4).Next(), Random({1, 2, 4}, 3).Next());
}

TEST(Random, UniformFillsItsInterval) {
  Random random({7, 0, 0}, 0);
  double sum = 0, lowest = 1, highest = 0;
  constexpr int kDraws = 100000;
  for (int i = 0; i < kDraws; ++i) {
    const double value = random.Uniform();
    ASSERT_GE(value, 0);
    ASSERT_LT(value, 1);
    sum += value;
    lowest = std::min(lowest, value);
    highest = std::max(highest, value);
  }
  EXPECT_NEAR(sum / kDraws, 0.5, 0.005);  // over 5 standard errors
  EXPECT_LT(lowest, 0.001);
  EXPECT_GT(highest, 0.999);
}

TEST(Random, UniformNeverReachesTheUpperEnd) {
  Random random({7, 0, 0}, 0);
  const double high = std::nextafter(1.0, 2.0);
  for (int i = 0; i < 1000; ++i) EXPECT_LT(random.Uniform(1.0, high), high);
  EXPECT_EQ(random.Uniform(3.0, 3.0), 3.0);
}

TEST(Random, BelowIsEvenlySpread) {
  Random random({9, 0, 0}, 0);
  std::array<int, 7> counts{};
  constexpr int kEach = 10000;
  for (int i = 0; i < 7 * kEach; ++i) ++counts[random.Below(7)];
  for (const int count : counts) EXPECT_NEAR(count, kEach, 500);
  EXPECT_EQ(random.Below(1), 0u);
}

TEST(Random, BelowHasNoBiasForLargeBounds) {
  // A plain 32-bit remainder would draw the lower third twice as often.
  Random random({11, 0, 0}, 0);
  int low = 0;
  for (int i = 0; i < 30000; ++i) low += random.Below(3u << 30) < (1u << 30);
  EXPECT_NEAR(low, 10000, 500);
}

// Neighbouring positions, epochs and ops must not move together.
TEST(Random, NeighbouringKeysAreUncorrelated) {
  const auto correlation = [](auto&& other) {
    double sum = 0;
    constexpr int kDraws = 20000;
    for (uint64_t i = 0; i < kDraws; ++i) sum += (Random({3, 5, i}, 1).Uniform() - 0.5) * (other(i) - 0.5);
    return sum / kDraws * 12;
  };
  EXPECT_NEAR(correlation([](uint64_t i) { return Random({3, 5, i + 1}, 1).Uniform(); }), 0, 0.04);
  EXPECT_NEAR(correlation([](uint64_t i) { return Random({3, 6, i}, 1).Uniform(); }), 0, 0.04);
  EXPECT_NEAR(correlation([](uint64_t i) { return Random({4, 5, i}, 1).Uniform(); }), 0, 0.04);
  EXPECT_NEAR(correlation([](uint64_t i) { return Random({3, 5, i}, 2).Uniform(); }), 0, 0.04);
}

}  // namespace
}  // namespace stoker

#include "loader/monitor/epochs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

namespace stoker {
namespace {

using testing::HasSubstr;

constexpr int64_t kMb = 1'000'000;

EpochFigures Epoch(uint64_t number, int64_t anonymous_mb, int64_t loader_mb = 500, double step_ms = 10) {
  return {number, anonymous_mb * kMb, (anonymous_mb + 200) * kMb, loader_mb * kMb, step_ms, 60};
}

// The last words on memory after epochs of so many megabytes.
std::string MemoryWordsAfter(const std::vector<int64_t>& megabytes, int64_t loader_gains_mb = 0) {
  EpochTrend trend;
  std::string words;
  for (size_t i = 0; i < megabytes.size(); ++i) {
    words += trend.Add(Epoch(i, megabytes[i], 500 + static_cast<int64_t>(i) * loader_gains_mb)).memory;
  }
  return words;
}

TEST(EpochTrend, FindsMemoryThatGrowsOutsideTheLoader) {
  const std::string words = MemoryWordsAfter({1000, 1400, 1510, 1600, 1690, 1810});
  EXPECT_THAT(words, HasSubstr("memory grows by 100 MB an epoch"));
  EXPECT_THAT(words, HasSubstr("growth outside the loader"));
}

TEST(EpochTrend, NamesTheLoaderWhereItIsTheOneThatGrows) {
  const std::string words = MemoryWordsAfter({1000, 1100, 1200, 1300, 1400}, 100);
  EXPECT_THAT(words, HasSubstr("100 MB of it the loader's"));
}

// Caches fill in the first epoch, and a validation now and then takes memory and gives it back.
TEST(EpochTrend, RaisesNoFalseAlarm) {
  EXPECT_EQ(MemoryWordsAfter({500, 2000, 2000, 2001, 2000, 2002, 2001, 2000, 2001, 2002}), "");
  EXPECT_EQ(MemoryWordsAfter({500, 2000, 2900, 2000, 2900, 2000, 2900, 2000, 2900, 2000}), "");
  EXPECT_EQ(MemoryWordsAfter({500, 2000, 2030, 2060, 2090, 2120, 2150}), "");  // 30 MB: below what is noticed
  EXPECT_EQ(MemoryWordsAfter({90'000, 90'200, 90'400, 90'600, 90'800}), "");   // less than 1 % of a large process
  EXPECT_EQ(MemoryWordsAfter({1000, 1100, 1200}), "");                         // too few epochs
  for (uint32_t seed = 0; seed < 1000; ++seed) {
    std::mt19937 random(seed);
    std::vector<int64_t> megabytes;
    for (int i = 0; i < 10; ++i) megabytes.push_back(4000 + static_cast<int64_t>(random() % 60));
    EXPECT_EQ(MemoryWordsAfter(megabytes), "") << seed;
  }
}

TEST(EpochTrend, GrowthIsTheMedianSlopeOfAllPairs) {
  EpochTrend trend;
  for (const auto& [number, megabytes] : {std::pair{0, 0}, {1, 100}, {2, 130}}) {
    trend.Add(Epoch(static_cast<uint64_t>(number), megabytes));
    EXPECT_FALSE(trend.growth_bytes());
  }
  trend.Add(Epoch(3, 160));
  EXPECT_DOUBLE_EQ(*trend.growth_bytes(), 30.0 * kMb);
  trend.Add(Epoch(4, 5000));  // one odd epoch
  EXPECT_LT(*trend.growth_bytes(), 1700.0 * kMb);
  EpochTrend unknown;
  for (uint64_t i = 0; i < 6; ++i) unknown.Add({i, std::nullopt, std::nullopt, 0, 10, 60});
  EXPECT_FALSE(unknown.growth_bytes());
}

TEST(EpochTrend, NamesTheEpochFromWhichStepsTakeLonger) {
  EpochTrend trend;
  const auto add = [&](uint64_t number, double step_ms) {
    return trend.Add(Epoch(number, 1000, 500, step_ms)).slowdown;
  };
  for (uint64_t i = 0; i < 5; ++i) EXPECT_EQ(add(i, 40 + static_cast<double>(i % 2)), "");
  EXPECT_EQ(add(5, 52), "");  // one slow epoch may be chance
  EXPECT_EQ(add(6, 51), "steps take 27 % longer since epoch 5");
  EXPECT_EQ(add(7, 52), "");  // said
  EXPECT_EQ(add(8, 80), "");
  EXPECT_THAT(add(9, 81), HasSubstr("since epoch 8"));
}

TEST(EpochTrend, DoesNotCallASlowFirstEpochOrNoiseASlowdown) {
  EpochTrend trend;
  EXPECT_EQ(trend.Add(Epoch(0, 1000, 500, 90)).slowdown, "");
  std::mt19937 random(3);
  for (uint64_t i = 1; i < 40; ++i) {
    EXPECT_EQ(trend.Add(Epoch(i, 1000, 500, 40 + static_cast<double>(random() % 5))).slowdown, "") << i;
  }
}

TEST(EpochTrend, DoesNotCompareEpochsTooShortToTell) {
  EpochTrend trend;
  for (uint64_t i = 0; i < 10; ++i) {
    EpochFigures epoch = Epoch(i, 1000, 500, i < 5 ? 1 : 3);
    epoch.seconds = 0.2;
    EXPECT_EQ(trend.Add(epoch).slowdown, "");
  }
}

TEST(EpochTrend, LeavesOutAnEpochThatWasBegunNearItsEnd) {
  EpochTrend trend;
  EpochFigures rest = Epoch(0, 1000, 500, 90);
  rest.seconds = 0.2;
  trend.Add(rest);
  std::string words;
  for (uint64_t i = 1; i < 9; ++i) words += trend.Add(Epoch(i, 1000, 500, i < 5 ? 40 : 60)).slowdown;
  EXPECT_EQ(words, "steps take 50 % longer since epoch 5");
}

TEST(EpochTrend, SaysThatMemoryGrowsOnceAndAgainWhereItGrowsTwiceAsFast) {
  EpochTrend trend;
  int64_t megabytes = 1000;
  std::vector<uint64_t> said;
  for (uint64_t i = 0; i < 30; ++i) {
    megabytes += i < 10 ? 100 : 900;
    if (!trend.Add(Epoch(i, megabytes)).memory.empty()) said.push_back(i);
  }
  EXPECT_GE(said.size(), 2u);
  EXPECT_LE(said.size(), 5u);
  EXPECT_EQ(said[0], 3u);
}

TEST(EpochTrend, StaysOfBoundedSizeOverManyEpochs) {
  EpochTrend trend;
  for (uint64_t i = 0; i < 10'000; ++i) trend.Add(Epoch(i, 1000 + static_cast<int64_t>(i)));
  EXPECT_DOUBLE_EQ(*trend.growth_bytes(), 1.0 * kMb);
}

}  // namespace
}  // namespace stoker

#include "loader/tuning/race.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <random>

namespace stoker {
namespace {

Setting Workers(int32_t workers) { return {.num_workers = workers}; }

Measurement Ran(const Setting& setting, int32_t round, double rate) {
  Measurement measurement;
  measurement.setting = setting;
  measurement.round = round;
  measurement.images_per_second = rate;
  return measurement;
}

// Runs it to its end; the order of what was run.
std::vector<int32_t> Finish(Race& race, const std::function<double(const Setting&, int32_t round)>& rate) {
  std::vector<int32_t> order;
  while (const std::optional<Setting> next = race.Next()) {
    order.push_back(next->num_workers);
    race.Add(Ran(*next, race.round(), rate(*next, race.round())));
  }
  return order;
}

TEST(MeanOf, GivesStudentsInterval) {
  const Interval interval = MeanOf({10, 12, 14});
  EXPECT_DOUBLE_EQ(interval.mean, 12);
  ASSERT_TRUE(interval.margin.has_value());
  EXPECT_NEAR(*interval.margin, 4.303 * 2 / std::sqrt(3.0), 1e-9);
  EXPECT_FALSE(MeanOf({5}).margin.has_value());
}

TEST(Race, GoesThroughAllInTurnsOfDirection) {
  Race race({Workers(1), Workers(2), Workers(3)}, {2, 2});
  EXPECT_THAT(Finish(race, [](const Setting&, int32_t) { return 100.0; }), testing::ElementsAre(1, 2, 3, 3, 2, 1));
}

TEST(Race, DropsWhatIsSurelyWorseAndEndsOnceAllIsKnown) {
  Race race({Workers(1), Workers(2), Workers(4)}, {3, 9});
  std::mt19937 dice(1);
  std::normal_distribution<double> noise(1, 0.001);
  const auto order = Finish(
      race, [&](const Setting& setting, int32_t) { return noise(dice) * (setting.num_workers == 1 ? 50 : 100); });
  EXPECT_EQ(order.size(), 9u);
  ASSERT_NE(race.knee(), nullptr);
  EXPECT_EQ(race.knee()->setting.num_workers, 2);
}

TEST(Race, GoesOnWhileNoiseHidesWhichIsAsGood) {
  Race race({Workers(1), Workers(2)}, {3, 6});
  int turn = 0;
  const auto order = Finish(race, [&](const Setting&, int32_t) { return ++turn % 3 == 0 ? 120.0 : 100.0; });
  EXPECT_EQ(order.size(), 12u);
}

TEST(Race, ADriftOfTheMachineDoesNotDecide) {
  Race race({Workers(1), Workers(2)}, {3, 9});
  // All become a tenth slower from round to round; two workers are faster by half.
  const auto rate = [](const Setting& setting, int32_t round) {
    return (setting.num_workers == 2 ? 150 : 100) * std::pow(0.9, round);
  };
  EXPECT_EQ(Finish(race, rate).size(), 6u);
  EXPECT_EQ(race.best()->setting.num_workers, 2);
  EXPECT_NEAR(race.lanes()[0].against->mean, 2.0 / 3, 1e-9);
}

TEST(Race, AFailedSettingIsOut) {
  Race race({Workers(1), Workers(2)}, {2, 2});
  int failed = 0;
  while (const std::optional<Setting> next = race.Next()) {
    Measurement run = Ran(*next, race.round(), 100);
    if (next->num_workers == 2) {
      run.error = "no";
      ++failed;
    }
    race.Add(run);
  }
  EXPECT_EQ(failed, 1);
  EXPECT_EQ(race.best()->setting.num_workers, 1);
}

TEST(Race, WhereAllFailThereIsNoBest) {
  Race race({Workers(1)}, {3, 3});
  Measurement run = Ran(Workers(1), 0, 0);
  run.error = "no";
  race.Add(run);
  EXPECT_FALSE(race.Next().has_value());
  EXPECT_EQ(race.best(), nullptr);
  EXPECT_EQ(race.knee(), nullptr);
}

}  // namespace
}  // namespace stoker

#include "loader/tuning/model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace stoker {
namespace {

Measurement Ran(int32_t workers, double decode_ceiling, double consumer_ceiling = 0) {
  Measurement run;
  run.setting.num_workers = workers;
  run.ceilings[static_cast<size_t>(Stage::kDecode)] = decode_ceiling;
  run.ceilings[static_cast<size_t>(Stage::kConsumer)] = consumer_ceiling;
  run.images_per_second = std::min(decode_ceiling, consumer_ceiling > 0 ? consumer_ceiling : decode_ceiling);
  return run;
}

TEST(RateModel, GrowsWithTheWorkersUntilTheCallersStepLimits) {
  const RateModel model(Ran(1, 100, 450), Ran(8, 800, 450), 8);
  EXPECT_DOUBLE_EQ(model.Rate(1), 100);
  EXPECT_DOUBLE_EQ(model.Rate(4), 400);
  EXPECT_DOUBLE_EQ(model.Rate(6), 450);
  EXPECT_EQ(model.Knee(16), 5);
}

TEST(RateModel, WorkersBeyondTheCpusAddNothing) {
  const RateModel model(Ran(1, 100), Ran(4, 400), 4);
  EXPECT_DOUBLE_EQ(model.Rate(8), 400);
  EXPECT_EQ(model.Knee(8), 4);
}

TEST(RateModel, WorkersThatSlowEachOtherDownAreCountedForLess) {
  // A sample costs a worker 10 ms alone, 20 ms where there are four: so 15 ms in between.
  const RateModel model(Ran(1, 100), Ran(4, 200), 4);
  EXPECT_NEAR(model.Rate(2), 2 / 0.01333, 1);
}

TEST(RateModel, ARateThatWasMeasuredIsNoLessThanItsCeiling) {
  Measurement unknown = Ran(2, 0);
  unknown.images_per_second = 120;
  EXPECT_DOUBLE_EQ(RateModel(Ran(1, 60), unknown, 2).Rate(2), 120);
}

TEST(RateModel, CountsAllThatWorkersDoForASample) {
  // They decode 1,000 images a second, and read them as well: that takes a third of their time.
  Measurement few = Ran(1, 500), many = Ran(2, 1000);
  few.images_per_second = 330;
  many.images_per_second = 660;
  few.busy[static_cast<size_t>(Stage::kDecode)] = many.busy[static_cast<size_t>(Stage::kDecode)] = 0.99;
  EXPECT_NEAR(RateModel(few, many, 4).Rate(2), 667, 1);
}

TEST(ReadingMatters, NotWhereThePageCacheHasTheFiles) {
  Measurement run;
  run.shares[static_cast<size_t>(Stage::kIo)] = 0.3;
  EXPECT_TRUE(ReadingMatters(run));
  run.cached_share = 0.99;
  EXPECT_FALSE(ReadingMatters(run));
}

TEST(WorkersAround, TakesHalfToOneAndAHalf) {
  EXPECT_THAT(WorkersAround(8, 100), testing::ElementsAre(4, 6, 8, 10, 12));
  EXPECT_THAT(WorkersAround(8, 9), testing::ElementsAre(4, 6, 8, 9));
  EXPECT_THAT(WorkersAround(1, 4), testing::ElementsAre(1, 2));
}

TEST(DepthFor, IsRateTimesLatency) {
  Measurement run;
  run.images_per_second = 1000;
  run.read_ms = 20;
  EXPECT_EQ(DepthFor(run), 32);
  run.read_ms = 0;
  EXPECT_EQ(DepthFor(run), 4);
  run.read_ms = 1e9;
  EXPECT_EQ(DepthFor(run), 256);
}

TEST(PrefetchMatters, NotWhereAStageIsAlwaysBusyOrNobodyWaits) {
  Measurement run;
  run.stall_share = 0.5;
  run.busy[static_cast<size_t>(Stage::kDecode)] = 0.7;
  EXPECT_TRUE(PrefetchMatters(run));
  run.busy[static_cast<size_t>(Stage::kDecode)] = 0.99;
  EXPECT_FALSE(PrefetchMatters(run));
  run.busy[static_cast<size_t>(Stage::kDecode)] = 0.7;
  run.stall_share = 0.01;
  EXPECT_FALSE(PrefetchMatters(run));
}

}  // namespace
}  // namespace stoker

#include "loader/stall_totals.h"

#include <gtest/gtest.h>

#include <numeric>
#include <random>

namespace stoker {
namespace {

int64_t Sum(const StageTimes& times) { return std::accumulate(times.begin(), times.end(), int64_t{0}); }

TEST(Part, BelongsToTheStageOfItsName) {
  EXPECT_EQ(StageOf(Part::kOpen), Stage::kIo);
  EXPECT_EQ(StageOf(Part::kLateReap), Stage::kIo);
  EXPECT_EQ(StageOf(Part::kDecode), Stage::kDecode);
  EXPECT_EQ(StageOf(Part::kOffCpu), Stage::kDecode);
  EXPECT_EQ(StageOf(Part::kTransfer), Stage::kCopy);
  EXPECT_EQ(StageOf(Part::kForeignCopies), Stage::kCopy);
  EXPECT_EQ(StageOf(Part::kStep), Stage::kConsumer);
  EXPECT_EQ(StageOf(Part::kHostGap), Stage::kConsumer);
  EXPECT_EQ(StageOf(Part::kRuntime), Stage::kRuntime);
  EXPECT_EQ(StageOf(Part::kOther), Stage::kOther);
}

TEST(PathSums, KeepsTwentyToFortyWindowsOfEquallyManyBatches) {
  PathSums sums(1000);
  for (int64_t batch = 0; batch < 10'000; ++batch) {
    const int64_t end = 1000 + (batch + 1) * 10;
    sums.Add(Part::kDecode, end - 10, end - 4);
    sums.Add(Part::kStep, end - 4, end);
    sums.EndBatch(end);
    if (batch >= 20) {
      EXPECT_GE(sums.windows(), 20u);
    }
    EXPECT_LE(sums.windows(), PathSums::kMostWindows);
  }
  const int64_t width = sums.window(1).begin_ns - sums.window(0).begin_ns;
  for (size_t i = 0; i + 1 < sums.windows(); ++i) {
    EXPECT_EQ(sums.window(i + 1).begin_ns - sums.window(i).begin_ns, width);
    EXPECT_EQ(Sum(sums.window(i).times), width);
    EXPECT_EQ(sums.window(i).times[static_cast<size_t>(Stage::kDecode)], width * 6 / 10);
  }
  EXPECT_EQ(Sum(sums.stages()), 100'000);
}

// Folding adds segments long after their windows were closed and merged, the latest first.
TEST(PathSums, DividesSegmentsAmongTheWindowsThatTheyLieIn) {
  std::mt19937 random(5);
  PathSums late(1), at_once(1);
  std::vector<int64_t> ends = {1};
  for (int i = 0; i < 500; ++i) ends.push_back(ends.back() + 1 + static_cast<int64_t>(random() % 50));
  for (size_t i = 1; i < ends.size(); ++i) {
    at_once.Add(static_cast<Part>(i % kParts), ends[i - 1], ends[i]);
    at_once.EndBatch(ends[i]);
    late.EndBatch(ends[i]);
  }
  for (size_t i = ends.size() - 1; i > 0; --i) late.Add(static_cast<Part>(i % kParts), ends[i - 1], ends[i]);
  ASSERT_EQ(late.windows(), at_once.windows());
  for (size_t i = 0; i < late.windows(); ++i) EXPECT_EQ(late.window(i).times, at_once.window(i).times) << i;
  EXPECT_EQ(late.parts(), at_once.parts());
}

TEST(PathSums, LeavesOutWhatLiesBeforeItsBeginning) {
  PathSums sums(100);
  sums.Add(Part::kStorage, 50, 120);
  sums.Add(Part::kStorage, 20, 90);
  EXPECT_EQ(sums.parts()[static_cast<size_t>(Part::kStorage)], 20);
  EXPECT_EQ(Sum(sums.window(0).times), 20);
}

TEST(PathSums, MovesTheTimeOfAStageThatIsNotThere) {
  PathSums sums(1);
  sums.Add(Part::kDecode, 1, 31);
  sums.Move(Part::kDecode, Part::kRuntime);
  EXPECT_EQ(sums.stages(), (StageTimes{0, 0, 0, 0, 30, 0}));
  EXPECT_EQ(sums.window(0).times, (StageTimes{0, 0, 0, 0, 30, 0}));
}

TEST(StallTotals, SubtractsAnEarlierSnapshot) {
  StallTotals base, now;
  base.samples = 3;
  base.stall_ns = 5;
  base.on_cpu_ns = 1;
  now.samples = 10;
  now.stall_ns = 25;
  now.on_cpu_ns = 4;
  const StallTotals rest = now.Since(base);
  EXPECT_EQ(rest.samples, 7);
  EXPECT_EQ(rest.stall_ns, 20);
  EXPECT_EQ(rest.on_cpu_ns, 3);
}

}  // namespace
}  // namespace stoker

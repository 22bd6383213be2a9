#include "bench/sweep/measure.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "bench/sweep/page_cache.h"
#include "loader/file_source.h"
#include "tests/loader/picture_folder.h"

namespace stoker {
namespace {

using testing::HasSubstr;

// Its runs are forked, which a process whose workers have started cannot do: suites of this name come first.
class MeasureDeathTest : public testing::Test {
 protected:
  MeasureDeathTest() {
    WritePictures(folder_, 24);
    plan_.options.batch_size = 4;
    plan_.options.recipe = TrainRecipe(16, ElementType::kUint8);
    plan_.options.device = "cpu";
    plan_.seconds = 0.01;
    plan_.warm_up_seconds = 0;
  }
  Measurement Apart(const Setting& setting) {
    return MeasureApart(plan_, setting, OpenFolder(folder_.string()), stop_);
  }

  TempFolder folder_;
  RunPlan plan_;
  volatile std::sig_atomic_t stop_ = 0;
};

TEST_F(MeasureDeathTest, TellsRateCostAndVerdictOfARunInAProcessOfItsOwn) {
  const Measurement run = Apart({.num_workers = 2, .prefetch_factor = 3});
  ASSERT_EQ(run.error, "");
  EXPECT_EQ(run.setting, (Setting{.num_workers = 2, .prefetch_factor = 3}));
  EXPECT_GT(run.images_per_second, 0);
  EXPECT_GT(run.first_batch_seconds, 0);
  EXPECT_GT(run.seconds, 0);
  EXPECT_GT(run.memory_bytes, 0);
  EXPECT_GT(run.planned_bytes, 0);
  EXPECT_FALSE(run.verdict.empty());
}

TEST_F(MeasureDeathTest, ARunCannotTakeTheSweepWithIt) {
  plan_.options.memory_limit_bytes = 1;
  EXPECT_THAT(Apart({.num_workers = 1}).error, HasSubstr("memory"));
}

TEST_F(MeasureDeathTest, OnePassGivesEverySampleOnce) {
  plan_.one_pass = true;
  plan_.seconds = 60;
  const Measurement run = Apart({.num_workers = 1});
  ASSERT_EQ(run.error, "");
  EXPECT_LT(run.seconds, 60);
}

TEST_F(MeasureDeathTest, AStopEndsTheRun) {
  stop_ = 1;
  plan_.seconds = 60;
  EXPECT_EQ(Apart({.num_workers = 1}).error, "interrupted");
}

TEST_F(MeasureDeathTest, ReplayedBatchesCostNoLoading) {
  plan_.replay = 2;
  plan_.step_ms = 1;
  const Measurement run = Apart({.num_workers = 1});
  ASSERT_EQ(run.error, "");
  EXPECT_GT(run.images_per_second, 0);
  EXPECT_LE(run.images_per_second, 4000);  // batches of 4, a millisecond each
}

TEST_F(MeasureDeathTest, ASampleOfTheFilesIsSpreadOverAllWithTheirLabels) {
  std::unique_ptr<FileSource> all = OpenFolder(folder_.string());
  std::vector<int64_t> labels;
  for (uint64_t i = 0; i < 8; ++i) labels.push_back(all->Label(3 * i));
  const auto sample = SampleOf(std::move(all), 8);
  ASSERT_EQ(sample->size(), 8u);
  for (uint64_t i = 0; i < 8; ++i) EXPECT_EQ(sample->Label(i), labels[i]);
  EXPECT_EQ(SampleOf(OpenFolder(folder_.string()), 1000)->size(), 24u);
}

}  // namespace
}  // namespace stoker

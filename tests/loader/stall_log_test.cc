#include "loader/stall_log.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <numeric>
#include <random>
#include <vector>

#include "tests/loader/pipeline_model.h"

namespace stoker {
namespace {

int64_t Blamed(const StallTotals& totals, Stage stage) { return totals.path.stages()[static_cast<size_t>(stage)]; }
template <typename Times>
int64_t Sum(const Times& times) {
  return std::accumulate(times.begin(), times.end(), int64_t{0});
}

// Every sample and batch alike, one server each.
ModelConfig Uniform(int64_t batches, int64_t read, int64_t decode, int64_t copy, int64_t step) {
  ModelConfig config = {.batch_size = 1, .batches = batches, .queue_depth = 1, .buffers = 4, .workers = 1};
  config.read.assign(static_cast<size_t>(batches), read);
  config.decode.assign(static_cast<size_t>(batches), decode);
  config.copy.assign(static_cast<size_t>(batches), copy);
  config.step.assign(static_cast<size_t>(batches), step);
  return config;
}

StageTimes BlameOf(const ModelConfig& config) {
  StallLog log(config.batch_size, config.slots + config.device_slots + 1);
  PipelineModel model(config);
  const int64_t end = model.Run(log);
  const StallTotals totals = log.Totals(end);
  EXPECT_EQ(totals.wall_ns, end - model.begin_ns());
  EXPECT_EQ(Sum(totals.path.stages()), totals.wall_ns);
  return totals.path.stages();
}

TEST(StallLog, BlamesTheSlowestStageForAllButTheFirstOfEach) {
  EXPECT_EQ(BlameOf(Uniform(50, 100, 3, 5, 7)), (StageTimes{5000, 3, 5, 7, 0, 0}));
  EXPECT_EQ(BlameOf(Uniform(50, 3, 100, 5, 7)), (StageTimes{3, 5000, 5, 7, 0, 0}));
  EXPECT_EQ(BlameOf(Uniform(50, 3, 5, 100, 7)), (StageTimes{3, 5, 5000, 7, 0, 0}));
  EXPECT_EQ(BlameOf(Uniform(50, 3, 5, 7, 100)), (StageTimes{3, 5, 7, 5000, 0, 0}));
}

TEST(StallLog, DividesARunWhoseLimitChanges) {
  ModelConfig config = Uniform(100, 3, 11, 5, 7);
  for (size_t i = 0; i < 100; ++i) (i < 50 ? config.decode : config.step)[i] = 1000;
  const StageTimes blame = BlameOf(config);
  // The workers set the pace until the last slow picture is through, then the steps of the batches after it.
  EXPECT_EQ(blame, (StageTimes{3, 50'000 + 11, 5, 50'000, 0, 0}));
}

TEST(StallLog, BlamesTheConsumerThroughItsHostSlots) {
  ModelConfig config = Uniform(50, 3, 5, 0, 100);
  config.device_slots = 0;
  config.slots = 2;
  EXPECT_EQ(BlameOf(config), (StageTimes{3, 5, 0, 5000, 0, 0}));
}

TEST(StallLog, GivesGapsToTheRuntimeAndTheStartToNobody) {
  StallLog log(1, 2);
  log.Request(50);
  SampleRecord& sample = log.sample(0);
  sample = {.sequence = 0,
            .submit_ns = 100,
            .arrive_ns = 200,
            .start_ns = 230,
            .decoded_ns = 260,
            .end_ns = 300,
            .before_read = {},
            .before_decode = {200, 0, Cause::kRead},
            .bytes = 1234,
            .cached = true};
  BatchRecord batch;
  batch.batch = 0;
  batch.count = 1;
  batch.stamps.full_ns = 300;
  batch.returned_ns = 350;
  log.HandOver(batch);
  const StallTotals before = log.Totals(380);  // the caller is still at work
  EXPECT_EQ(before.wall_ns, 330);
  EXPECT_EQ(before.path.stages(), (StageTimes{100, 70, 0, 30, 30 + 50, 50}));
  log.Request(400);
  const StallTotals after = log.Totals(410);  // and now waits for what is not there
  EXPECT_EQ(after.path.stages(), (StageTimes{100, 70, 0, 50, 80, 60}));
  EXPECT_EQ(after.stall_ns, 310);
  EXPECT_EQ(after.read_ns, 100);
  EXPECT_EQ(after.decode_ns, 30);
  EXPECT_EQ(after.augment_ns, 40);
  EXPECT_EQ(after.consumer_ns, 50);
  EXPECT_EQ(after.copy_ns, 0);
  EXPECT_EQ(after.samples, 1);
  EXPECT_EQ(after.batches, 1);
  EXPECT_EQ(after.bytes, 1234u);
  EXPECT_EQ(after.cached_reads, 1);
}

// One sample and its batch, with everything that a reader, a worker and a device may tell of them.
StallLog LogOfOne(bool cached) {
  StallLog log(1, 2);
  log.Request(100);
  log.sample(0) = {.sequence = 0,
                   .submit_ns = 100,
                   .opened_ns = 130,
                   .arrive_ns = 200,
                   .start_ns = 200,
                   .decoded_ns = 260,
                   .end_ns = 300,
                   .late_ns = 25,
                   .on_cpu_ns = 80,
                   .before_read = {},
                   .before_decode = {200, 0, Cause::kRead},
                   .cached = cached};
  BatchRecord batch;
  batch.batch = 0;
  batch.count = 1;
  batch.stamps = {.full_ns = 300, .copy_start_ns = 300, .copy_end_ns = 340};
  batch.returned_ns = 340;
  batch.to_stream = true;
  log.HandOver(batch);
  return log;
}

TEST(StallLog, DividesEachStageIntoItsParts) {
  StallLog log = LogOfOne(false);
  log.DeviceDone(0, 400);
  PartTimes parts = log.Totals(450).path.parts();
  const auto part = [&](Part one) { return parts[static_cast<size_t>(one)]; };
  EXPECT_EQ(part(Part::kOpen), 30);
  EXPECT_EQ(part(Part::kStorage), 45);
  EXPECT_EQ(part(Part::kLateReap), 25);
  EXPECT_EQ(part(Part::kDecode), 60);
  EXPECT_EQ(part(Part::kAugment), 40);
  EXPECT_EQ(part(Part::kTransfer), 40);
  EXPECT_EQ(part(Part::kStep), 60);
  EXPECT_EQ(part(Part::kHostGap), 50);
  EXPECT_EQ(Sum(parts), 350);
  EXPECT_EQ(log.Totals(450).clocked_ns, 100);
  EXPECT_EQ(log.Totals(450).on_cpu_ns, 80);
  parts = LogOfOne(true).Totals(450).path.parts();
  EXPECT_EQ(part(Part::kPageCache), 45);
  EXPECT_EQ(part(Part::kStorage), 0);
}

TEST(StallLog, CallsForeignWhatACopyTakesBeyondTheFastest) {
  StallLog log = LogOfOne(false);
  log.Request(350);
  log.sample(1) = {.sequence = 1,
                   .submit_ns = 340,
                   .arrive_ns = 340,
                   .start_ns = 340,
                   .decoded_ns = 340,
                   .end_ns = 340,
                   .before_read = {},
                   .before_decode = {}};
  BatchRecord batch;
  batch.batch = 1;
  batch.count = 1;
  batch.stamps = {.full_ns = 340, .copy_start_ns = 340, .copy_end_ns = 440};
  batch.returned_ns = 440;
  log.HandOver(batch);
  const PartTimes parts = log.Totals(440).path.parts();
  EXPECT_EQ(parts[static_cast<size_t>(Part::kTransfer)], 40);
  EXPECT_EQ(parts[static_cast<size_t>(Part::kForeignCopies)], 60);
}

TEST(StallLog, CountsAWaitThatHasNotEndedAsFarAsItGoes) {
  StallLog log = LogOfOne(false);
  log.Request(400);
  EXPECT_EQ(log.Totals(1000).stall_ns, log.Totals(400).stall_ns + 600);
  EXPECT_EQ(log.LapTotals(Lap::kSteps, 1000).stall_ns, log.Totals(1000).stall_ns);
  log.EndWait();
  EXPECT_EQ(log.Totals(1000).stall_ns, log.Totals(400).stall_ns);
}

TEST(StallLog, SumsHowManyWorkersMightWorkOverTheTime) {
  StallLog log = LogOfOne(false);
  const int64_t begin = log.begin_ns();
  log.Restart(begin);
  log.SetWorkers(4, begin);
  EXPECT_EQ(log.Totals(begin + 100).workers_ns, 400);
  log.SetWorkers(1, begin + 100);
  log.StartLap(Lap::kSteps, begin + 150);
  EXPECT_EQ(log.Totals(begin + 200).workers_ns, 500);
  EXPECT_EQ(log.LapTotals(Lap::kSteps, begin + 200).workers_ns, 50);
  EXPECT_EQ(log.LapTotals(Lap::kEpoch, begin + 200).workers_ns, 500);
  log.Restart(begin + 200);
  EXPECT_EQ(log.Totals(begin + 230).workers_ns, 30);
}

TEST(StallLog, KeepsTheSumsOfALapBesideThoseOfTheWhole) {
  for (uint32_t seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE(seed);
    const ModelConfig config = RandomConfig(seed, 700);
    StallLog log(config.batch_size, config.slots + config.device_slots + 1);
    StallLog whole(config.batch_size, config.slots + config.device_slots + 1);
    std::vector<StallTotals> laps;
    PipelineModel model(config);
    const int64_t end = model.Run(log, [&](int64_t batch, int64_t now) {
      if (batch % 200 != 199) return;
      laps.push_back(log.LapTotals(Lap::kSteps, now));
      log.StartLap(Lap::kSteps, now);
    });
    laps.push_back(log.LapTotals(Lap::kSteps, end));
    EXPECT_EQ(PipelineModel(config).Run(whole), end);
    EXPECT_EQ(log.Totals(end).path.parts(), whole.Totals(end).path.parts());
    int64_t samples = 0, wall_ns = 0;
    for (const StallTotals& lap : laps) {
      EXPECT_EQ(Sum(lap.path.parts()), lap.wall_ns);
      EXPECT_GE(lap.path.windows(), 20u);
      samples += lap.samples;
      wall_ns += lap.wall_ns;
    }
    EXPECT_EQ(samples, 700 * config.batch_size);
    EXPECT_EQ(wall_ns, end - model.begin_ns());
  }
}

TEST(StallLog, CountsAStepOnceHoweverOftenTheEndIsAskedFor) {
  StallLog log(1, 2);
  log.Request(10);
  log.sample(0).sequence = 0;
  BatchRecord batch;
  batch.batch = 0;
  batch.count = 1;
  batch.returned_ns = 20;
  log.HandOver(batch);
  for (const int64_t now : {50, 60, 70}) log.Request(now);
  EXPECT_EQ(log.Totals(70).consumer_ns, 30);
}

TEST(StallLog, BlamesTheCopy) {
  StallLog log(1, 2);
  log.Request(10);
  log.sample(0) = {.sequence = 0,
                   .submit_ns = 10,
                   .arrive_ns = 20,
                   .start_ns = 20,
                   .decoded_ns = 30,
                   .end_ns = 30,
                   .before_read = {},
                   .before_decode = {20, 0, Cause::kRead}};
  BatchRecord batch;
  batch.batch = 0;
  batch.count = 1;
  batch.stamps.full_ns = 30;
  batch.returned_ns = 35;
  batch.stamps.copy_start_ns = 30;
  batch.stamps.copy_end_ns = 34;
  log.HandOver(batch);
  EXPECT_EQ(log.Totals(40).copy_ns, 4);
  EXPECT_EQ(log.Totals(40).path.stages(), (StageTimes{10, 10, 4, 5, 1, 0}));
}

TEST(StallLog, CountsFromTheRestart) {
  const ModelConfig config = Uniform(50, 3, 100, 5, 7);
  StallLog log(config.batch_size, config.slots + config.device_slots + 1);
  PipelineModel model(config);
  const int64_t end = model.Run(log);
  log.Restart(end);
  EXPECT_EQ(log.Totals(end + 5).samples, 0);
  EXPECT_EQ(log.Totals(end + 5).wall_ns, 5);
  EXPECT_EQ(Sum(log.Totals(end + 5).path.stages()), 5);
}

TEST(StallLog, HasNothingToSayBeforeTheFirstBatch) {
  StallLog log(4, 2);
  EXPECT_EQ(log.Totals(1000).wall_ns, 0);
  log.Request(2000);
  const StallTotals totals = log.Totals(2500);
  EXPECT_EQ(totals.wall_ns, 500);
  EXPECT_EQ(Blamed(totals, Stage::kOther), 500);
}

TEST(StallLog, FindsTheExactSharesOfRandomPipelines) {
  for (uint32_t seed = 0; seed < 2000; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    const ModelConfig config = RandomConfig(seed, 60);  // fewer batches than are folded at once
    StallLog log(config.batch_size, config.slots + config.device_slots + 1);
    PipelineModel model(config);
    const int64_t end = model.Run(log);
    const StallTotals totals = log.Totals(end);
    EXPECT_EQ(totals.wall_ns, end - model.begin_ns());
    EXPECT_EQ(Sum(totals.path.stages()), totals.wall_ns);
    EXPECT_EQ(totals.path.stages(), model.ExactBlame());
  }
}

TEST(StallLog, FindsTheSharesOfLongRunsByFolding) {
  double worst = 0;
  for (uint32_t seed = 0; seed < 25; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    const ModelConfig config = RandomConfig(seed, 1500);
    StallLog log(config.batch_size, config.slots + config.device_slots + 1);
    PipelineModel model(config);
    const int64_t end = model.Run(log);
    const StallTotals totals = log.Totals(end);
    EXPECT_EQ(Sum(totals.path.stages()), totals.wall_ns);
    EXPECT_EQ(totals.wall_ns, end - model.begin_ns());
    const StageTimes exact = model.ExactBlame();
    for (size_t stage = 0; stage < kStages; ++stage) {
      const double off = static_cast<double>(std::abs(totals.path.stages()[stage] - exact[stage])) /
                         static_cast<double>(totals.wall_ns);
      worst = std::max(worst, off);
    }
    EXPECT_EQ(totals.samples, 1500 * config.batch_size);
  }
  RecordProperty("worst", std::to_string(worst));
  EXPECT_EQ(worst, 0);
}

}  // namespace
}  // namespace stoker

#include "bench/validate/trial.h"

#include <gtest/gtest.h>

#include "tests/bench/virtual_trial.h"

namespace stoker {
namespace {

constexpr double kMs = 1e6;

double ShareOf(const StallReport& report, Stage stage) { return report.shares[static_cast<size_t>(stage)]; }
int64_t Sum(const ServiceTime& time, uint64_t seed, uint64_t stream, int64_t count) {
  int64_t sum = 0;
  for (int64_t i = 0; i < count; ++i) sum += time.Draw(seed, stream, i);
  return sum;
}

TrialConfig WithoutWarmUp() {
  TrialConfig config;
  config.warm_up = 0;
  config.batches = 20;
  config.workers = 1;
  return config;
}

TEST(Trial, TakesWhatOneWorkerDecodesTo) {
  TrialConfig config = WithoutWarmUp();
  config.decode = {10 * kMs};
  const StallReport report = RunVirtually(config).report;
  EXPECT_EQ(report.samples, 160);
  EXPECT_NEAR(report.seconds * 1e9, static_cast<double>(Sum(config.decode, 0, kDecodeDice, 160)), 1);
  EXPECT_NEAR(report.seconds, 1.6, 0.02);
  EXPECT_DOUBLE_EQ(ShareOf(report, Stage::kDecode), 1);
}

TEST(Trial, TakesHalfOfThatWithTwoWorkers) {
  TrialConfig config = WithoutWarmUp();
  config.workers = 2;
  config.decode = {10 * kMs};
  EXPECT_NEAR(RunVirtually(config).report.seconds, 0.8, 0.02);
}

TEST(Trial, TakesWhatTheLineBringsOneReadAfterTheOther) {
  TrialConfig config = WithoutWarmUp();
  config.bandwidth = {2 * kMs};
  const StallReport report = RunVirtually(config).report;
  EXPECT_NEAR(report.seconds * 1e9, static_cast<double>(Sum(config.bandwidth, 0, kBandwidthDice, 160)), 1);
  EXPECT_GT(ShareOf(report, Stage::kIo), 0.999);
}

TEST(Trial, ReadsAsManyAtOnceAsTheQueueIsDeep) {
  TrialConfig config = WithoutWarmUp();
  config.read = {8 * kMs};
  config.queue_depth = 4;
  EXPECT_NEAR(RunVirtually(config).report.seconds, 160 * 0.008 / 4, 0.02);
}

TEST(Trial, TakesWhatTheCopiesTake) {
  TrialConfig config = WithoutWarmUp();
  config.copy_ns = 5 * kMs;
  for (const bool waits : {false, true}) {
    config.copy_waits = waits;
    const StallReport report = RunVirtually(config).report;
    EXPECT_NEAR(report.seconds, 20 * 0.005, 0.0002);
    EXPECT_GT(ShareOf(report, Stage::kCopy), 0.98);
  }
}

TEST(Trial, TakesWhatTheCallersStepsTake) {
  TrialConfig config = WithoutWarmUp();
  config.step = {5 * kMs};
  EXPECT_NEAR(RunVirtually(config).report.seconds * 1e9, static_cast<double>(Sum(config.step, 0, kStepDice, 20)), 1);
}

TEST(Trial, TakesWhatTheDevicesStepsTake) {
  TrialConfig config = WithoutWarmUp();
  config.batches = 60;
  config.copy_ns = 1 * kMs;
  config.step = {5 * kMs};
  config.step_on_device = true;
  // The caller runs ahead of the device by as many batches as there is room for.
  EXPECT_NEAR(RunVirtually(config).report.seconds, (60 - config.prefetch_factor - 1) * 0.005, 0.01);
}

TEST(Trial, SpeedsUpOneStageAlone) {
  TrialConfig config = WithoutWarmUp();
  config.decode = {10 * kMs};
  const double before = RunVirtually(config).report.seconds;
  config.speed[static_cast<size_t>(Stage::kIo)] = 2;
  EXPECT_DOUBLE_EQ(RunVirtually(config).report.seconds, before);
  config.speed[static_cast<size_t>(Stage::kDecode)] = 1.25;
  EXPECT_NEAR(RunVirtually(config).report.seconds, before / 1.25, 1e-6);
}

TEST(Trial, IsTheSameEveryTime) {
  TrialConfig config;
  config.seed = 7;
  config.read = {4 * kMs, Spread::kWide};
  config.decode = {2 * kMs, Spread::kWide};
  config.copy_ns = 6 * kMs;
  config.step = {7 * kMs, Spread::kWide};
  const TrialResult first = RunVirtually(config);
  for (int i = 0; i < 5; ++i) {
    const TrialResult again = RunVirtually(config);
    EXPECT_DOUBLE_EQ(again.report.seconds, first.report.seconds);
    for (size_t stage = 0; stage < kStages; ++stage) {
      EXPECT_NEAR(again.report.shares[stage], first.report.shares[stage], 1e-6) << kStageNames[stage];
    }
    EXPECT_EQ(again.late, 0);
  }
}

TEST(Trial, MayEndInTheMidstOfAnything) {
  TrialConfig config = WithoutWarmUp();
  config.read = {30 * kMs, Spread::kTails};
  config.decode = {9 * kMs, Spread::kWide};
  config.copy_ns = 6 * kMs;
  config.foreign_copies_ns = 3 * kMs;
  config.step = {40 * kMs};
  config.step_on_device = true;
  for (config.batches = 1; config.batches < 8; ++config.batches) (void)RunVirtually(config);
}

}  // namespace
}  // namespace stoker

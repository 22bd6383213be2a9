#include "loader/worker_tuner.h"

#include <gtest/gtest.h>

namespace stoker {
namespace {

constexpr double kStep = 10e6;

// A caller that would keep `busy` workers busy, and gets what it asks for.
WorkerWindow Kept(double busy) { return {.worker_ns = busy * kStep, .step_ns = kStep}; }

// One that would keep `busy` workers busy, and has `workers`, who cannot.
WorkerWindow Starved(double busy, int32_t workers) {
  const double batch_ns = busy * kStep / workers;
  return {.worker_ns = busy * kStep, .step_ns = kStep, .stall_ns = batch_ns - kStep, .workers_lead = true};
}

int32_t After(WorkerTuner& tuner, const WorkerWindow& window, int times) {
  for (int i = 0; i < times; ++i) tuner.Decide(window);
  return tuner.active();
}

TEST(WorkerTuner, BeginsWithAll) { EXPECT_EQ(WorkerTuner(8).active(), 8); }

TEST(WorkerTuner, LowersOnceTwoWindowsAgree) {
  WorkerTuner tuner(8);
  EXPECT_EQ(tuner.Decide(Kept(1.5)), 8);
  EXPECT_EQ(tuner.Decide(Kept(1.5)), 2);
  EXPECT_EQ(After(tuner, Kept(1.5), 10), 2);
}

TEST(WorkerTuner, TakesTheLargerOfTwoAnswers) {
  WorkerTuner tuner(8);
  EXPECT_EQ(tuner.Decide(Kept(0.5)), 8);
  EXPECT_EQ(tuner.Decide(Kept(3)), 4);
}

TEST(WorkerTuner, KeepsWorkersBusyForFourFifthsOfTheirTime) {
  for (const auto& [busy, workers] : {std::pair{0.0, 1}, {0.8, 1}, {0.81, 2}, {3.2, 4}, {3.3, 5}, {12.8, 16}}) {
    WorkerTuner tuner(32);
    EXPECT_EQ(After(tuner, Kept(busy), 2), workers) << busy;
  }
}

TEST(WorkerTuner, NeverTakesMoreThanThereAre) {
  WorkerTuner tuner(4);
  EXPECT_EQ(After(tuner, Starved(12, 4), 10), 4);
  EXPECT_EQ(After(tuner, Kept(3.9), 10), 4);
  WorkerTuner one(1);
  EXPECT_EQ(After(one, Kept(0.1), 10), 1);
}

TEST(WorkerTuner, StaysWithAllForACallerWithoutAStepOfItsOwn) {
  WorkerTuner tuner(8);
  const WorkerWindow window = {.worker_ns = 24e6, .step_ns = 0, .stall_ns = 3e6, .workers_lead = true};
  EXPECT_EQ(After(tuner, window, 10), 8);
}

TEST(WorkerTuner, AsksForTheShorterStepsOfACallerThatJitters) {
  WorkerWindow window = Kept(4);
  window.spread_ns = 0.1 * kStep;
  WorkerTuner tuner(32);
  EXPECT_EQ(After(tuner, window, 2), 6);  // 4 / 0.9 / 0.8 = 5.6
  window.spread_ns = 3 * kStep;
  WorkerTuner wild(32);
  EXPECT_EQ(After(wild, window, 2), 7);  // 4 * 1.25 / 0.8 = 6.25
}

TEST(WorkerTuner, LeavesSmallDifferencesAlone) {
  WorkerTuner tuner(10);
  EXPECT_EQ(After(tuner, Kept(7.1), 4), 10);  // 9 would do
  EXPECT_EQ(After(tuner, Kept(6.3), 4), 8);
}

TEST(WorkerTuner, RaisesAtOnceWhereTheCallerWaitsForFullWorkers) {
  WorkerTuner tuner(8);
  ASSERT_EQ(After(tuner, Kept(1.5), 20), 2);
  EXPECT_EQ(tuner.Decide(Starved(6, 2)), 8);
  EXPECT_EQ(tuner.Decide(Kept(4.5)), 8);
  EXPECT_EQ(tuner.Decide(Kept(4.5)), 6);
}

TEST(WorkerTuner, DoesNotRaiseForAWaitThatIsNotForWorkers) {
  for (const bool lead : {false, true}) {
    WorkerTuner tuner(8);
    ASSERT_EQ(After(tuner, Kept(1.5), 20), 2);
    WorkerWindow window = Kept(1.5);  // which keeps two of them busy for less than half of the longer batch
    window.stall_ns = 0.7 * kStep;
    window.workers_lead = lead;
    EXPECT_LE(After(tuner, window, 5), 2);
  }
  WorkerTuner tuner(8);
  ASSERT_EQ(After(tuner, Kept(1.5), 20), 2);
  WorkerWindow full = Starved(2.2, 2);
  full.workers_lead = false;
  for (int i = 0; i < 5; ++i) EXPECT_EQ(tuner.Decide(full), 2);
}

TEST(WorkerTuner, DoesNotBlameALoweringForWhatAllCouldNotDo) {
  WorkerTuner tuner(8);
  ASSERT_EQ(After(tuner, Starved(12, 8), 10), 8);
  EXPECT_EQ(After(tuner, Kept(1.5), 2), 2);
}

TEST(WorkerTuner, BearsAWaitOfThreeInAHundred) {
  WorkerTuner tuner(8);
  ASSERT_EQ(After(tuner, Kept(1.5), 20), 2);
  EXPECT_EQ(After(tuner, Starved(2.05, 2), 5), 2);
  EXPECT_EQ(After(tuner, Starved(2.08, 2), 1), 8);
}

TEST(WorkerTuner, AsksForNoMoreThanStorageLetsThrough) {
  WorkerTuner tuner(8);
  const WorkerWindow window = {.worker_ns = 4 * kStep, .step_ns = kStep, .stall_ns = 3 * kStep};
  EXPECT_EQ(After(tuner, window, 2), 2);
}

TEST(WorkerTuner, DoesNotTryANumberAgainThatWasTooFew) {
  WorkerTuner tuner(16);
  ASSERT_EQ(After(tuner, Kept(4), 20), 5);
  EXPECT_EQ(tuner.Decide({4 * kStep, kStep, 0, 0.1 * kStep, true}), 5) << "not full";
  const WorkerWindow full = {4.7 * kStep, kStep, 0, 0.05 * kStep, true};
  EXPECT_EQ(tuner.Decide(full), 16);
  EXPECT_EQ(After(tuner, Kept(4), 20), 7);
}

TEST(WorkerTuner, GivesUpAfterThreeNumbersThatWereTooFew) {
  WorkerTuner tuner(32);
  for (const int32_t fewer : {5, 7, 8}) {
    ASSERT_EQ(After(tuner, Kept(3.9), 2), fewer);
    ASSERT_EQ(tuner.Decide(Starved(1.1 * fewer, fewer)), 32);
  }
  EXPECT_EQ(After(tuner, Kept(0.5), 100), 32);
}

TEST(WorkerTuner, FollowsADemandThatComesAndGoes) {
  WorkerTuner tuner(8);
  for (int i = 0; i < 10; ++i) {
    ASSERT_EQ(After(tuner, Kept(1.5), 20), 2);
    ASSERT_EQ(tuner.Decide(Starved(6, 2)), 8);
  }
}

TEST(WorkerTuner, DoesNotFollowADemandThatFlickers) {
  WorkerTuner tuner(8);
  for (int i = 0; i < 10; ++i) {
    After(tuner, Kept(0.4), 4);
    tuner.Decide(Starved(6, tuner.active()));
  }
  EXPECT_EQ(After(tuner, Kept(0.4), 4), 8);
}

}  // namespace
}  // namespace stoker

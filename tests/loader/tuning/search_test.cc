#include "loader/tuning/search.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace stoker {
namespace {

// A machine whose rates are known: what a run of it would say.
struct Machine {
  int32_t cpus = 8;
  double worker_seconds = 0.01;  // a sample
  double step_rate = 1e9;        // images a second that the caller takes
  double crowding = 0;           // by how much each worker beyond the CPUs slows all
  double read_seconds = 0;       // a sample, of a read
  double noise = 0.002;
  bool uring = true;

  Measurement Run(const Setting& setting, int32_t round, std::mt19937& dice) const {
    Measurement run;
    run.setting = setting;
    run.round = round;
    if (!uring && setting.reader == ReaderKind::kUring) {
      run.error = "io_uring is switched off";
      return run;
    }
    const int32_t beyond = std::max(setting.num_workers - cpus, 0);
    const double decode = std::min(setting.num_workers, cpus) / worker_seconds / (1 + crowding * beyond);
    const double reads = read_seconds > 0 ? setting.queue_depth / read_seconds : 0;
    double rate = std::min(decode, step_rate);
    if (reads > 0) rate = std::min(rate, reads);
    run.images_per_second = rate * std::normal_distribution<double>(1, noise)(dice);
    run.ceilings = {reads, decode, 0, step_rate};
    run.busy = {reads > 0 ? rate / reads : 0, rate / decode, 0, rate / step_rate};
    run.shares[static_cast<size_t>(Stage::kIo)] = reads > 0 && reads <= rate * 1.01 ? 0.9 : 0;
    run.read_ms = read_seconds * 1e3;
    run.stall_share = rate < step_rate ? 0.5 : 0;
    return run;
  }
};

Finding Sweep(const Machine& machine, SearchSpace space, unsigned seed = 1) {
  std::mt19937 dice(seed);
  Search search(std::move(space));
  while (const std::optional<Setting> next = search.Next()) {
    search.Add(machine.Run(*next, search.round(), dice));
  }
  return search.Found().value();
}

TEST(Search, FindsTheSmallestNumberOfWorkersThatIsAsGood) {
  Machine machine;
  machine.step_rate = 450;
  const Finding finding = Sweep(machine, DefaultSpace(8));
  EXPECT_EQ(finding.recommended.setting.num_workers, 5);
  EXPECT_GT(finding.best.rate().mean, 440);
  EXPECT_LT(finding.runs, finding.grid_runs / 5);
}

TEST(Search, PredictsWhatItThenMeasures) {
  Machine machine;
  machine.cpus = 16;
  machine.step_rate = 900;
  const Finding finding = Sweep(machine, DefaultSpace(16));
  ASSERT_FALSE(finding.predictions.empty());
  for (const Prediction& prediction : finding.predictions) {
    EXPECT_NEAR(prediction.predicted / prediction.measured, 1, 0.02) << prediction.num_workers;
  }
}

TEST(Search, AgreesWithTheWholeGrid) {
  for (const double step_rate : {150.0, 320.0, 500.0, 5000.0}) {
    Machine machine;
    machine.step_rate = step_rate;
    SearchSpace grid = DefaultSpace(8);
    grid.full = true;
    const Finding quick = Sweep(machine, DefaultSpace(8)), full = Sweep(machine, grid);
    EXPECT_EQ(full.runs >= full.grid_runs, true);
    EXPECT_NEAR(quick.recommended.rate().mean / full.recommended.rate().mean, 1, kAsGood) << step_rate;
    EXPECT_LE(quick.recommended.setting.num_workers, full.recommended.setting.num_workers + 1) << step_rate;
  }
}

TEST(Search, SaysWhereMoreWorkersAreSlower) {
  Machine machine;
  machine.crowding = 0.05;
  const Finding finding = Sweep(machine, DefaultSpace(8));
  EXPECT_TRUE(finding.falls_beyond);
  EXPECT_EQ(finding.recommended.setting.num_workers, 8);
  EXPECT_FALSE(Sweep(Machine(), DefaultSpace(8)).falls_beyond);
}

TEST(Search, DeepensTheQueueWhereReadsHoldThePath) {
  Machine machine;
  machine.read_seconds = 0.08;  // 400 images a second at depth 32
  const Finding finding = Sweep(machine, DefaultSpace(8));
  EXPECT_EQ(finding.recommended.setting.queue_depth, 64);
  EXPECT_GT(finding.recommended.rate().mean, 780);
}

TEST(Search, LeavesTheQueueAloneWhereReadsDoNot) {
  const Finding finding = Sweep(Machine(), DefaultSpace(8));
  for (const Lane& lane : finding.lanes) EXPECT_EQ(lane.setting.queue_depth, 32);
}

TEST(Search, ComparesWithTheUsualSettings) {
  const Finding finding = Sweep(Machine(), DefaultSpace(8));
  std::vector<std::string> names;
  for (const Finding::Beside& beside : finding.baselines) {
    names.push_back(beside.name);
    ASSERT_TRUE(beside.lane.against.has_value());
  }
  EXPECT_THAT(names,
              testing::ElementsAre("0.5 workers a CPU", "0.8 workers a CPU",
                                   "PyTorch's usual start, 4 workers and prefetch 2", "the default, a worker a CPU"));
  EXPECT_NEAR(finding.baselines[2].lane.against->mean, 0.5, 0.01);
}

TEST(Search, GoesOnWithoutWhatFails) {
  Machine machine;
  machine.uring = false;
  machine.read_seconds = 0.08;
  const Finding finding = Sweep(machine, DefaultSpace(8));
  ASSERT_EQ(finding.failures.size(), 1u);
  EXPECT_THAT(finding.failures[0], testing::HasSubstr("io_uring is switched off"));
  EXPECT_NE(finding.recommended.setting.reader, ReaderKind::kUring);
}

TEST(Search, OneThatWasBrokenOffAsksTheSameAgain) {
  Machine machine;
  machine.step_rate = 450;
  std::mt19937 dice(1);
  Search whole(DefaultSpace(8));
  std::vector<Measurement> runs;
  while (const std::optional<Setting> next = whole.Next()) {
    runs.push_back(machine.Run(*next, whole.round(), dice));
    whole.Add(runs.back());
  }
  Search resumed(DefaultSpace(8));
  for (const Measurement& run : runs) {
    ASSERT_EQ(resumed.Next(), run.setting);
    ASSERT_EQ(resumed.round(), run.round);
    resumed.Add(run);
  }
  EXPECT_FALSE(resumed.Next().has_value());
}

TEST(Search, TellsWhatItKnowsBeforeTheEnd) {
  std::mt19937 dice(1);
  Search search(DefaultSpace(8));
  EXPECT_FALSE(search.Found().has_value());
  for (int i = 0; i < 3; ++i) search.Add(Machine().Run(search.Next().value(), search.round(), dice));
  ASSERT_TRUE(search.Found().has_value());
  EXPECT_EQ(search.Found()->runs, 3);
  EXPECT_GT(search.runs_left(), 0);
}

TEST(Search, OfRunsThatAllFailNothingIsFound) {
  Search search(DefaultSpace(2));
  while (const std::optional<Setting> next = search.Next()) {
    Measurement run;
    run.setting = *next;
    run.error = "no";
    search.Add(run);
  }
  EXPECT_FALSE(search.Found().has_value());
}

TEST(Search, OnOneCpuOneWorkerIsEnough) {
  Machine machine;
  machine.cpus = 1;
  EXPECT_EQ(Sweep(machine, DefaultSpace(1)).recommended.setting.num_workers, 1);
}

TEST(GridWorkers, GrowsByHalfAndEndsAtTheMost) {
  EXPECT_THAT(GridWorkers(16), testing::ElementsAre(1, 2, 3, 4, 6, 8, 12, 16));
  EXPECT_THAT(GridWorkers(5), testing::ElementsAre(1, 2, 3, 4, 5));
}

}  // namespace
}  // namespace stoker

#include "bench/sweep/sweep.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>

#include "bench/sweep/sweep_text.h"
#include "tests/loader/picture_folder.h"

namespace stoker {
namespace {

using testing::HasSubstr;

// A machine with 4 CPUs: 100 images a second for each worker, to 300.
Measurement RunOf(const Scenario& scenario, const Setting& setting) {
  Measurement run;
  run.setting = setting;
  const double decode = 100.0 * std::min(setting.num_workers, 4) * (scenario.decode == DecodeMode::kFast ? 2 : 1);
  run.images_per_second = std::min(decode, scenario.cold ? 150.0 : 300.0);
  run.ceilings = {0, decode, 0, scenario.cold ? 150.0 : 300.0};
  run.verdict = "a verdict";
  return run;
}

class SweepTest : public testing::Test {
 protected:
  SweepTest() {
    plan_.scenarios = {Scenario()};
    plan_.space = DefaultSpace(4);
    plan_.alternatives = false;
  }
  SweepResult Run(const RunOnce& run, bool resume = false) {
    RunLog log(folder_.path() / "runs.jsonl", {{"of", "a test"}}, resume);
    const SweepListener listener = {[this](double done, const std::string&) {
                                      EXPECT_GE(done, 0);
                                      EXPECT_LE(done, 1);
                                      ++shown_;
                                    },
                                    [this](const std::string& line) { remarks_.push_back(line); }};
    return Sweep(plan_, run, log, listener, [this] { return stop_; }).Run();
  }

  TempFolder folder_;
  SweepPlan plan_;
  int shown_ = 0;
  bool stop_ = false;
  std::vector<std::string> remarks_;
};

TEST_F(SweepTest, SearchesForEachScenario) {
  plan_.scenarios.push_back({.cold = true});
  const SweepResult result = Run(RunOf);
  ASSERT_EQ(result.scenarios.size(), 2u);
  EXPECT_EQ(result.scenarios[0].finding->recommended.setting.num_workers, 3);
  EXPECT_EQ(result.scenarios[1].finding->recommended.setting.num_workers, 2);
  EXPECT_EQ(result.runs, static_cast<int32_t>(result.scenarios[0].runs.size() + result.scenarios[1].runs.size()));
  EXPECT_EQ(shown_, result.runs);
  EXPECT_FALSE(result.interrupted);
}

TEST_F(SweepTest, ComparesOtherChoicesAtTheRecommendedSetting) {
  plan_.alternatives = true;
  int32_t fast_workers = 0;
  const SweepResult result = Run([&](const Scenario& scenario, const Setting& setting) {
    if (scenario.decode == DecodeMode::kFast) fast_workers = setting.num_workers;
    return RunOf(scenario, setting);
  });
  EXPECT_EQ(fast_workers, 3);
  ASSERT_EQ(result.alternatives.size(), 6u);
  EXPECT_EQ(result.alternatives[0].name, "as it is");
  EXPECT_EQ(result.alternatives[1].name, "decode fast");
  EXPECT_NEAR(result.alternatives[1].lane.against->mean, 1, 1e-9);
}

TEST_F(SweepTest, MakesARunAgainDuringWhichTheMachineWasBusy) {
  int runs = 0;
  const SweepResult result = Run([&](const Scenario& scenario, const Setting& setting) {
    Measurement run = RunOf(scenario, setting);
    if (++runs == 6) {
      run.foreign_cpus = 2;
      run.images_per_second = 1;
    }
    return run;
  });
  EXPECT_EQ(result.repeated, 1);
  EXPECT_EQ(result.restarts, 0);
  ASSERT_EQ(remarks_.size(), 1u);
  EXPECT_THAT(remarks_[0], HasSubstr("2.0 CPUs busy with it"));
  for (const Measurement& run : result.scenarios[0].runs) EXPECT_GE(run.images_per_second, 100);
}

TEST_F(SweepTest, BeginsAgainWhereTheMachineStaysBusy) {
  int runs = 0;
  const SweepResult result = Run([&](const Scenario& scenario, const Setting& setting) {
    Measurement run = RunOf(scenario, setting);
    if (++runs > 6) run.foreign_cpus = 2;
    return run;
  });
  EXPECT_EQ(result.restarts, 1);
  EXPECT_FALSE(result.unsteady);
  for (const Measurement& run : result.scenarios[0].runs) EXPECT_EQ(run.foreign_cpus, 2);
  EXPECT_EQ(result.scenarios[0].finding->recommended.setting.num_workers, 3);
}

TEST_F(SweepTest, SaysThatAMachineWhichNeverSettlesIsUnsteady) {
  int runs = 0;
  const SweepResult result = Run([&](const Scenario& scenario, const Setting& setting) {
    Measurement run = RunOf(scenario, setting);
    run.foreign_cpus = ++runs / 8 % 2 == 0 ? 0 : 3;
    return run;
  });
  EXPECT_TRUE(result.unsteady);
  EXPECT_TRUE(result.scenarios[0].finding.has_value());
  EXPECT_THAT(FormatSweep(result, {}), HasSubstr("do not trust small differences"));
}

TEST_F(SweepTest, KeepsWhatWasMeasuredAndGoesOnThere) {
  int runs = 0;
  const auto counted = [&](const Scenario& scenario, const Setting& setting) {
    stop_ = ++runs == 8;
    return RunOf(scenario, setting);
  };
  const SweepResult broken = Run(counted);
  EXPECT_TRUE(broken.interrupted);
  EXPECT_EQ(broken.scenarios[0].runs.size(), 7u);
  EXPECT_TRUE(broken.scenarios[0].finding.has_value());
  stop_ = false;
  const SweepResult whole = Run(counted, true);
  EXPECT_FALSE(whole.interrupted);
  EXPECT_EQ(runs, whole.runs + 1);  // but for the one that was cut short, each was made once
  EXPECT_EQ(whole.scenarios[0].finding->recommended.setting.num_workers, 3);
}

TEST_F(SweepTest, GoesOnWhereItsRunsCannotBeKeptAnyMore) {
  const auto old_handler = std::signal(SIGXFSZ, SIG_IGN);
  rlimit before = {};
  getrlimit(RLIMIT_FSIZE, &before);
  rlimit small = before;
  small.rlim_cur = 2000;
  setrlimit(RLIMIT_FSIZE, &small);
  const SweepResult result = Run(RunOf);
  setrlimit(RLIMIT_FSIZE, &before);
  (void)std::signal(SIGXFSZ, old_handler);
  EXPECT_EQ(result.scenarios[0].finding->recommended.setting.num_workers, 3);
  ASSERT_EQ(remarks_.size(), 1u);
  EXPECT_THAT(remarks_[0], HasSubstr("cannot be resumed"));
}

TEST_F(SweepTest, WhereEveryRunFailsItSaysWhy) {
  const SweepResult result = Run([](const Scenario&, const Setting& setting) {
    Measurement run;
    run.setting = setting;
    run.error = "the disk is gone";
    return run;
  });
  EXPECT_FALSE(result.scenarios[0].finding.has_value());
  EXPECT_THAT(FormatSweep(result, {}), HasSubstr("the disk is gone"));
}

TEST_F(SweepTest, TellsTheAnswerInWords) {
  const std::string text =
      FormatSweep(Run(RunOf), {.data = "photos", .pictures = 10, .pictures_in_all = 20, .cpus = 4});
  EXPECT_THAT(text, HasSubstr("photos: 10 of 20 pictures, 4 CPUs"));
  EXPECT_THAT(text, HasSubstr("take          3 workers, prefetch 1"));
  EXPECT_THAT(text, HasSubstr("PyTorch's usual start, 4 workers and prefetch 2"));
  EXPECT_THAT(text, HasSubstr(".num_workers = 3"));
  EXPECT_THAT(text, HasSubstr("num_workers=3"));
  EXPECT_THAT(text, HasSubstr("fewer than the whole grid"));
}

}  // namespace
}  // namespace stoker

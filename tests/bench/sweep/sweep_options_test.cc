#include "bench/sweep/sweep_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <stdexcept>

#include "tests/loader/picture_folder.h"

namespace stoker {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

SweepOptions Parse(const std::string& line) {
  CLI::App app;
  SweepCommandLine command;
  command.AddTo(app);
  app.parse(line);
  return command.Finish();
}

std::string Refusal(const std::string& line) {
  try {
    (void)Parse(line);
  } catch (const std::exception& error) {
    return error.what();
  }
  return "";
}

TEST(SweepOptions, WithoutAnyAreWarmAndCold) {
  const SweepOptions options = Parse("photos");
  ASSERT_EQ(options.plan.scenarios.size(), 2u);
  EXPECT_FALSE(options.plan.scenarios[0].cold);
  EXPECT_TRUE(options.plan.scenarios[1].cold);
  EXPECT_TRUE(options.plan.alternatives);
  EXPECT_EQ(options.plan.space.cpus, DefaultWorkers());
}

TEST(SweepOptions, ListsMakeAScenarioForEachCombination) {
  const SweepOptions options = Parse("photos --cache warm --try-step-ms 0,20 --try-dtype float32,uint8 --batch-size 8");
  ASSERT_EQ(options.plan.scenarios.size(), 4u);
  EXPECT_EQ(options.plan.scenarios[1], (Scenario{.batch_size = 8, .element = ElementType::kFloat32, .step_ms = 20}));
  EXPECT_FALSE(options.plan.alternatives);
}

TEST(SweepOptions, KnobsAreLimitedToWhatWasGiven) {
  const SearchSpace space = Parse("photos --try-workers 4,1,4 --try-prefetch 8 --try-reader pread").plan.space;
  EXPECT_THAT(space.workers, ElementsAre(1, 4));
  EXPECT_EQ(space.start.prefetch_factor, 8);
  EXPECT_EQ(space.start.reader, ReaderKind::kPread);
  EXPECT_EQ(space.start.queue_depth, 32);
}

TEST(SweepOptions, RefusalsNameTheOption) {
  EXPECT_THAT(Refusal("photos --try-workers 0"), HasSubstr("--try-workers has 0 (allowed: 1 to 1024)"));
  EXPECT_THAT(Refusal("photos --try-step-ms -1"), HasSubstr("--try-step-ms has -1"));
  EXPECT_THAT(Refusal("photos --try-batch-size 70000"), HasSubstr("--try-batch-size"));
  EXPECT_THAT(Refusal("photos --num-workers 3"), HasSubstr("--num-workers"));
  EXPECT_THAT(Refusal("photos --step-ms 3 --step-from x"), HasSubstr("exclude each other"));
  EXPECT_THAT(Refusal(""), HasSubstr("give a folder"));
}

TEST(SweepOptions, WhatFollowsIsForPeersAlone) {
  CLI::App app;
  SweepCommandLine command;
  command.AddTo(app);
  app.parse("photos --peers");
  EXPECT_THAT(command.Finish({"--rounds", "1"}).peers_arguments, ElementsAre("--rounds", "1"));
  CLI::App other;
  SweepCommandLine without;
  without.AddTo(other);
  other.parse("photos");
  EXPECT_THROW((void)without.Finish({"--rounds"}), std::invalid_argument);
}

TEST(SweepOptions, TheStepOfARealJobIsTheMedianWithoutItsStalls) {
  const TempFolder folder;
  const std::string file = folder.string() + "/report.jsonl";
  std::ofstream(file) << R"({"step_ms": 40, "stalls": {"stall_share": 0.5}})"
                      << "\nno report\n"
                      << R"({"step_ms": 30, "stalls": {"stall_share": 0.1}})"
                      << "\n"
                      << R"({"step_ms": 90, "stalls": {"stall_share": 0.0}})"
                      << "\n";
  EXPECT_NEAR(StepOfReports(file), 27, 1e-9);
  std::ofstream(file, std::ios::trunc) << "{}\n";
  EXPECT_THAT(Refusal("photos --step-from " + file), HasSubstr("no report of a job is in it"));
}

}  // namespace
}  // namespace stoker

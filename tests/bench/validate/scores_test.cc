#include "bench/validate/scores.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace stoker {
namespace {

using testing::HasSubstr;
using testing::Not;

Experiment CopySlowed() {
  Experiment experiment;
  experiment.name = "copy bandwidth";
  experiment.factor = 2;
  experiment.stage = Stage::kCopy;
  experiment.bounds = {Bound::kCapacity};
  return experiment;
}

StallReport Naming(Stage stage, Bound bound = Bound::kCapacity) {
  StallReport report;
  report.shares[static_cast<size_t>(stage)] = 1;
  report.leader = stage;
  report.bound = bound;
  report.seconds = 1;
  return report;
}

TEST(Scores, PassWhereEveryBarIs) {
  Scores scores;
  for (int i = 0; i < 3; ++i) scores.Add(CopySlowed(), Judged(CopySlowed(), Naming(Stage::kCopy)));
  EXPECT_TRUE(scores.passed());
  EXPECT_THAT(scores.text(), HasSubstr("100 %"));
  EXPECT_THAT(scores.text(), Not(HasSubstr("FAIL")));
}

TEST(Scores, FailByOneWrongVerdictWhereAllMustBeRight) {
  Scores scores;
  for (int i = 0; i < 99; ++i) scores.Add(CopySlowed(), Judged(CopySlowed(), Naming(Stage::kCopy)));
  scores.Add(CopySlowed(), Judged(CopySlowed(), Naming(Stage::kDecode)));
  EXPECT_FALSE(scores.passed());
  EXPECT_THAT(scores.text(), HasSubstr("[1 x decode capacity]"));
  const nlohmann::json row = scores.json()["experiments"][0];
  EXPECT_EQ(row["named"]["copy"], 99);
  EXPECT_EQ(row["named"]["decode"], 1);
  EXPECT_EQ(row["right"], 99);
  EXPECT_EQ(row["passed"], false);
}

TEST(Scores, AllowAsManyAsTheBarDoes) {
  Experiment experiment = CopySlowed();
  experiment.bar = 0.95;
  Scores scores;
  for (int i = 0; i < 19; ++i) scores.Add(experiment, Judged(experiment, Naming(Stage::kCopy)));
  scores.Add(experiment, Judged(experiment, Naming(Stage::kIo)));
  EXPECT_TRUE(scores.passed());
  scores.Add(experiment, Judged(experiment, Naming(Stage::kIo)));
  EXPECT_FALSE(scores.passed());
}

TEST(Scores, FailWhereSharesDoNotSumToTheWallTime) {
  StallReport report = Naming(Stage::kCopy);
  report.shares[static_cast<size_t>(Stage::kCopy)] = 0.994;
  Scores scores;
  scores.Add(CopySlowed(), Judged(CopySlowed(), report));
  EXPECT_FALSE(scores.passed());
}

TEST(Scores, FailWhereAGainIsMoreThanThreePointsOff) {
  Outcome outcome = Judged(CopySlowed(), Naming(Stage::kCopy));
  outcome.gain_measured = true;
  Scores scores;
  outcome.gain_error = -0.029;
  scores.Add(CopySlowed(), outcome);
  EXPECT_TRUE(scores.passed());
  outcome.gain_error = -0.031;
  scores.Add(CopySlowed(), outcome);
  EXPECT_FALSE(scores.passed());
  EXPECT_THAT(scores.text(), HasSubstr("3.1 points"));
}

TEST(Scores, FailWhereTheMachineLeftNoRunToJudge) {
  Scores scores;
  scores.AddDisturbed(CopySlowed());
  EXPECT_FALSE(scores.passed());
  scores.Add(CopySlowed(), Judged(CopySlowed(), Naming(Stage::kCopy)));
  EXPECT_TRUE(scores.passed());
}

TEST(Scores, MeasureTheGainByARerunWithTheLeadingStageFaster) {
  TrialConfig config;
  std::vector<double> speeds;
  const auto run = [&](const TrialConfig& trial) {
    const double speed = trial.speed[static_cast<size_t>(Stage::kCopy)];
    speeds.push_back(speed);
    StallReport report = Naming(Stage::kCopy);
    report.gains[static_cast<size_t>(Stage::kCopy)] = 0.08;
    report.seconds = speed > 1 ? 1 / 1.05 : 1;
    return TrialResult{report, 0};
  };
  const Outcome outcome = RunOutcome(CopySlowed(), config, run, true);
  EXPECT_NEAR(outcome.gain_error, 0.03, 1e-9);
  EXPECT_EQ(speeds, (std::vector<double>{1, 1.1}));
}

TEST(Scores, FindTheStageThatHelpsMostByReruns) {
  Experiment experiment;
  experiment.truth = Truth::kElasticity;
  const auto run = [](const TrialConfig& trial) {
    StallReport report = Naming(Stage::kIo);
    report.seconds = 1 - (trial.speed[static_cast<size_t>(Stage::kIo)] - 1) * 0.3 -
                     (trial.speed[static_cast<size_t>(Stage::kDecode)] - 1) * 0.7;
    return TrialResult{report, 0};
  };
  EXPECT_FALSE(RunOutcome(experiment, {}, run, false).right);  // decode helps most
}

}  // namespace
}  // namespace stoker

// The bars of the verdict: bottlenecks injected into the real loader in virtual time, 100 runs each where nothing less
// than all of them will do.
#include "bench/validate/experiments.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "bench/validate/scores.h"
#include "tests/bench/virtual_trial.h"

namespace stoker {
namespace {

#if defined(__has_feature)
#define STOKER_SANITIZED (__has_feature(address_sanitizer) || __has_feature(thread_sanitizer))
#else
#define STOKER_SANITIZED 0
#endif
// A sanitizer takes ten times as long and looks for other things than wrong verdicts: a few runs of each show it all.
constexpr int kRunsDividedBy = STOKER_SANITIZED ? 20 : 1;

TrialScale Small() {
  TrialScale scale;
  scale.batch_size = 4;
  scale.batches = 40;
  return scale;
}

// `runs` of each experiment of a class; of every `gain_every`-th the predicted gain is measured, too.
void ExpectPassed(std::string_view of_class, int runs, int gain_every) {
  runs = std::max(runs / kRunsDividedBy, 1);
  Scores scores;
  int found = 0;
  for (const Experiment& experiment : AllExperiments()) {
    if (ClassOf(experiment) != of_class) continue;
    ++found;
    for (int run = 0; run < runs; ++run) {
      const TrialConfig config = MakeTrial(experiment, static_cast<uint64_t>(run), Small());
      scores.Add(experiment, RunOutcome(experiment, config, RunVirtually, run % gain_every == 0));
    }
  }
  EXPECT_GT(found, 0);
  EXPECT_TRUE(scores.passed()) << scores.text();
  if (testing::Test::HasFailure()) return;
  testing::Test::RecordProperty("confusion_matrix", scores.text());
}

TEST(Experiments, NameAStageSlowedTwice) { ExpectPassed("even times, slowed 2 times", 100, 5); }
TEST(Experiments, NameAStageSlowedByAThird) { ExpectPassed("even times, slowed 1.3 times", 100, 5); }
TEST(Experiments, NameAStageSlowedByATenth) { ExpectPassed("even times, slowed 1.1 times", 40, 5); }
TEST(Experiments, SayThatNoStageLeads) { ExpectPassed("all stages within 2 %", 100, 5); }
TEST(Experiments, TellSlowReadsFromSlowStorage) { ExpectPassed("slow reads among fast ones", 40, 5); }
// By five runs each; the model of the pipeline makes more of them.
TEST(Experiments, NameWhatHelpsMostWhereTimesDiffer) { ExpectPassed("wide times, by measured elasticity", 5, 5); }

TEST(Experiments, HaveStorageWorkAtFortyPercentWhereReadsAreSlowNowAndThen) {
  for (const Experiment& experiment : AllExperiments()) {
    if (experiment.injection != Injection::kTailReads) continue;
    for (uint64_t seed = 0; seed < 10; ++seed) {
      const StallReport report = RunVirtually(MakeTrial(experiment, seed, Small())).report;
      EXPECT_NEAR(report.busy[static_cast<size_t>(Stage::kIo)], 0.4, 0.15);
    }
  }
}

TEST(Experiments, AreJudgedByTheStageAndTheKind) {
  Experiment experiment;
  experiment.stage = Stage::kIo;
  experiment.bounds = {Bound::kLatency};
  StallReport report;
  report.leader = Stage::kIo;
  report.bound = Bound::kLatency;
  EXPECT_TRUE(IsRight(experiment, report));
  report.bound = Bound::kCapacity;
  EXPECT_FALSE(IsRight(experiment, report));
  report.bound = Bound::kLatency;
  report.leader = Stage::kCopy;
  EXPECT_FALSE(IsRight(experiment, report));
}

TEST(Experiments, AreJudgedByWhatWasMeasured) {
  Experiment experiment;
  experiment.truth = Truth::kElasticity;
  StallReport report;
  report.leader = Stage::kDecode;
  report.bound = Bound::kCapacity;
  report.shares = {0.4, 0.5, 0.1, 0, 0, 0};
  EXPECT_TRUE(IsRight(experiment, report, Stage::kDecode));
  EXPECT_FALSE(IsRight(experiment, report, Stage::kIo));
  report.bound = Bound::kMixed;
  EXPECT_TRUE(IsRight(experiment, report, Stage::kIo));
  EXPECT_FALSE(IsRight(experiment, report, Stage::kCopy));
}

}  // namespace
}  // namespace stoker

#include "bench/sweep/scenario.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace stoker {
namespace {

bool Normalises(const LoaderOptions& options) {
  for (const Op& op : options.recipe.ops) {
    if (std::holds_alternative<Normalize>(op)) return true;
  }
  return false;
}

TEST(Scenario, FloatsAreNormalisedAndBytesAreNot) {
  LoaderOptions job;
  job.recipe = TrainRecipe(32, ElementType::kUint8);
  const LoaderOptions floats = WithScenario(job, {.element = ElementType::kFloat32});
  EXPECT_TRUE(Normalises(floats));
  EXPECT_FALSE(Normalises(WithScenario(floats, {.element = ElementType::kUint8})));
  EXPECT_EQ(WithScenario(floats, {.element = ElementType::kBfloat16}).recipe.ops.size(), floats.recipe.ops.size());
}

TEST(Scenario, AlternativesAreOneStepAway) {
  std::vector<std::string> words;
  const Scenario scenario = {.batch_size = 1};
  for (const Scenario& other : Alternatives(scenario)) words.push_back(DifferenceWords(scenario, other));
  EXPECT_THAT(words, testing::ElementsAre("decode fast", "bfloat16", "float32", "batch 2"));
}

TEST(Scenario, SaysWhatItIs) {
  EXPECT_EQ(ScenarioWords({.batch_size = 8, .step_ms = 12.5, .cold = true}),
            "batch 8, uint8, decode exact, step 12.5 ms, cold page cache");
}

}  // namespace
}  // namespace stoker

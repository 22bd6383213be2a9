#include "bench/budget/advice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace stoker {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

Model Llm() {
  Model model;
  model.parameters = 1e9;
  model.precision = Precision::kFp32;
  model.batch_size = 8;
  model.world_size = 4;
  model.layers = Layers{.layers = 24, .hidden = 2048, .heads = 16, .sequence = 2048};
  return model;
}

double Total(const Model& model) { return SumOf(ModelTerms(model)); }

std::vector<std::string> Words(const std::vector<Advice>& advice) {
  std::vector<std::string> words;
  for (const Advice& each : advice) words.push_back(each.what);
  return words;
}

TEST(Advise, SaysNothingWhereItFits) {
  EXPECT_TRUE(Advise(Llm(), 0, Total(Llm())).empty());
  EXPECT_FALSE(Advise(Llm(), 1, Total(Llm())).empty()) << "what others take counts, too";
}

TEST(Advise, KeepsTheOrderFromCheapToDear) {
  const std::vector<std::string> words = Words(Advise(Llm(), 0, 10e9));
  EXPECT_THAT(words, ElementsAre(StartsWith("--batch-size 1, and gradients of 8"), StartsWith("--precision mixed"),
                                 StartsWith("--checkpointing"), StartsWith("--flash-attention"),
                                 StartsWith("--optimizer adamw8bit"), StartsWith("--zero 1"), StartsWith("--zero 2"),
                                 StartsWith("--zero 3"), StartsWith("all of these"), StartsWith("offload")));
}

TEST(Advise, LeavesOutWhatIsDoneAlready) {
  Model model = Llm();
  model.precision = Precision::kMixed;
  model.checkpointing = true;
  model.flash_attention = true;
  model.optimizer = Optimizer::kSgd;
  model.zero_stage = 3;
  model.batch_size = 1;
  EXPECT_THAT(Words(Advise(model, 0, 1e9)), ElementsAre(StartsWith("offload")));
}

TEST(Advise, TheBatchIsTheLargestThatFits) {
  Model model = Llm();
  Model fitting = model;
  fitting.batch_size = 3;
  const double vram = Total(fitting) + 1;
  const std::vector<Advice> advice = Advise(model, 0, vram);
  EXPECT_THAT(advice.front().what, StartsWith("--batch-size 3, and gradients of 3 batches"));
  EXPECT_DOUBLE_EQ(*advice.front().total_bytes, Total(fitting));
}

TEST(Advise, OffloadsOnlyALackOf2Gb) {
  EXPECT_THAT(Advise(Llm(), 0, Total(Llm()) - 1.9e9).back().what, StartsWith("last:"));
  EXPECT_THAT(Advise(Llm(), 0, Total(Llm()) - 2.1e9).back().what, HasSubstr("no remedy"));
}

TEST(Advise, InferenceGetsFewerBitsAndNoTrainingSteps) {
  Model model;
  model.parameters = 7e9;
  model.optimizer = Optimizer::kNone;
  model.precision = Precision::kHalf;
  const std::vector<Advice> advice = Advise(model, 0, 8e9);
  EXPECT_THAT(Words(advice),
              ElementsAre("--weights int8", "--weights int4", StartsWith("all of"), StartsWith("offload")));
  EXPECT_DOUBLE_EQ(*advice[0].total_bytes, 7.5e9);
}

}  // namespace
}  // namespace stoker

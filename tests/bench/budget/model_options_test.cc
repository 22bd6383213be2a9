#include "bench/budget/model_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

namespace stoker {
namespace {

using testing::AllOf;
using testing::HasSubstr;

Model Parse(const std::string& words, ModelCommandLine::Shared shared = {}) {
  CLI::App command;
  ModelCommandLine line;
  line.AddTo(command);
  command.parse(words);
  EXPECT_TRUE(line.given());
  return line.Finish(shared);
}

std::string Refusal(const std::string& words, ModelCommandLine::Shared shared = {}) {
  try {
    Parse(words, shared);
  } catch (const CLI::ParseError& error) {
    return error.what();
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "accepted";
}

TEST(ModelOptions, TakeEveryOption) {
  const Model model = Parse(
      "--parameters 7B --precision mixed --optimizer adamw8bit --gradients half --lora-parameters 20M --weights "
      "int4 --zero 2 --layers 32 --hidden 4096 --heads 32 --sequence 2048 --vocabulary 128256 --checkpointing "
      "--flash-attention --cuda-context 300MB",
      {.batch_size = 4, .world_size = 8});
  EXPECT_EQ(model.parameters, 7e9);
  EXPECT_EQ(model.lora_parameters, 20e6);
  EXPECT_EQ(model.precision, Precision::kMixed);
  EXPECT_EQ(model.optimizer, Optimizer::kAdamw8bit);
  EXPECT_EQ(model.half_gradients, true);
  EXPECT_EQ(model.weights, WeightType::kInt4);
  EXPECT_EQ(model.zero_stage, 2);
  EXPECT_EQ(model.world_size, 8);
  EXPECT_EQ(model.batch_size, 4);
  EXPECT_TRUE(model.checkpointing);
  EXPECT_TRUE(model.flash_attention);
  EXPECT_EQ(model.cuda_context_bytes, 300e6);
  ASSERT_TRUE(model.layers);
  EXPECT_EQ(model.layers->heads, 32);
  EXPECT_EQ(model.layers->vocabulary, 128256);
}

TEST(ModelOptions, HaveTheDefaultsOfTheHelp) {
  const Model model = Parse("--parameters 1e9");
  EXPECT_EQ(model.precision, Precision::kMixed);
  EXPECT_EQ(model.optimizer, Optimizer::kAdamw);
  EXPECT_EQ(model.batch_size, 64);
  EXPECT_EQ(model.cuda_context_bytes, 500e6);
  EXPECT_FALSE(model.layers);
  EXPECT_FALSE(model.kv_cache);
}

TEST(ModelOptions, APatchGivesTheSequenceOfAViT) {
  EXPECT_EQ(Parse("--parameters 86M --layers 12 --hidden 768 --heads 12 --patch 16").layers->sequence, 197);
  EXPECT_EQ(
      Parse("--parameters 86M --layers 12 --hidden 768 --heads 12 --patch 14", {.picture_size = 518}).layers->sequence,
      1370);
}

TEST(ModelOptions, AKvCacheTakesItsHeadsFromTheModelsUnlessGiven) {
  const std::string llama = "--parameters 8B --optimizer none --layers 32 --context 8192 ";
  const Model given = Parse(llama + "--kv-heads 8 --head-dim 128");
  EXPECT_EQ(KvBytesPerToken(*given.kv_cache, 2), 131'072);
  const Model plain = Parse(llama + "--hidden 4096 --heads 32");
  EXPECT_EQ(plain.kv_cache->kv_heads, 32);
  EXPECT_EQ(plain.kv_cache->head_dim, 128);
  EXPECT_FALSE(plain.layers) << "no --sequence: no activations are asked for";
}

TEST(ModelOptions, AreNothingWithoutTheParameters) {
  CLI::App command;
  ModelCommandLine line;
  line.AddTo(command);
  command.parse("");
  EXPECT_FALSE(line.given());
  command.parse("--zero 2");
  EXPECT_THROW(line.given(), std::invalid_argument);
}

TEST(ModelOptions, RefuseAbsurdValuesNamingOptionValueAndWhatIsAllowed) {
  const std::string model = "--parameters 1e9 --layers 4 --hidden 64 --heads 4 --sequence 16 ";
  EXPECT_THAT(Refusal("--parameters 1e30"), AllOf(HasSubstr("--parameters \"1e30\""), HasSubstr("1 to 1e+15")));
  EXPECT_THAT(Refusal("--parameters nan"), HasSubstr("--parameters \"nan\""));
  EXPECT_THAT(Refusal("--parameters -5"), HasSubstr("--parameters"));
  EXPECT_THAT(Refusal("--parameters 1e9 --lora-parameters 0"), HasSubstr("--lora-parameters \"0\""));
  EXPECT_THAT(Refusal("--parameters 1e9 --layers 0 --hidden 64 --heads 4 --sequence 16"),
              AllOf(HasSubstr("--layers 0"), HasSubstr("1 to 10000")));
  EXPECT_THAT(Refusal("--parameters 1e9 --layers -3 --hidden 64 --heads 4 --sequence 16"), HasSubstr("--layers -3"));
  EXPECT_THAT(Refusal("--parameters 1e9 --layers 4 --hidden 64 --heads 0 --sequence 16"), HasSubstr("--heads 0"));
  EXPECT_THAT(Refusal("--parameters 1e9 --layers 4 --hidden 64 --heads 5 --sequence 16"),
              AllOf(HasSubstr("--heads 5"), HasSubstr("divisor of --hidden 64")));
  EXPECT_THAT(Refusal("--parameters 1e9 --layers nan"), HasSubstr("--layers"));
  EXPECT_THAT(Refusal(model + "--vocabulary 99999999999"), HasSubstr("--vocabulary 99999999999"));
  EXPECT_THAT(Refusal(model + "--zero 4"), AllOf(HasSubstr("--zero 4"), HasSubstr("0 to 3")));
  EXPECT_THAT(Refusal(model, {.batch_size = 0}), AllOf(HasSubstr("--batch-size 0"), HasSubstr("65536")));
  EXPECT_THAT(Refusal(model, {.world_size = -1}), HasSubstr("--world-size -1"));
  EXPECT_THAT(Refusal("--parameters 1e9 --precision fp8"), AllOf(HasSubstr("--precision \"fp8\""), HasSubstr("bf16")));
  EXPECT_THAT(Refusal("--parameters 1e9 --optimizer best"), AllOf(HasSubstr("--optimizer"), HasSubstr("adamw8bit")));
  EXPECT_THAT(Refusal("--parameters 1e9 --cuda-context -1"), HasSubstr("--cuda-context"));
  for (const char* value : {"0", "-1", "nan", "inf", "1e30"}) {
    EXPECT_THAT(Refusal(std::string("--parameters 1e9 --activation-mb-per-sample ") + value),
                HasSubstr("--activation-mb-per-sample"))
        << value;
  }
  EXPECT_THAT(Refusal("--parameters 1e9 --optimizer none --layers 4 --context 9 --hidden 64 --heads 6"),
              HasSubstr("--heads 6"));
  EXPECT_THAT(Refusal("--parameters 1e9 --optimizer none --layers 4 --context 9 --hidden 64 --heads 4 --kv-heads 3"),
              AllOf(HasSubstr("--kv-heads 3"), HasSubstr("divisor of --heads 4")));
  EXPECT_THAT(Refusal("--parameters 1e9 --layers 4 --hidden 64 --heads 4 --patch 0"), HasSubstr("--patch 0"));
}

TEST(ModelOptions, SayWhatIsMissing) {
  EXPECT_THAT(Refusal("--parameters 1e9 --layers 4"), HasSubstr("--sequence is missing"));
  EXPECT_THAT(Refusal("--parameters 1e9 --sequence 4"), HasSubstr("--layers is missing"));
  EXPECT_THAT(Refusal("--parameters 1e9 --vocabulary 4"), HasSubstr("--sequence is missing"));
  EXPECT_THAT(Refusal("--parameters 1e9 --optimizer none --context 4"), HasSubstr("--layers is missing"));
  EXPECT_THAT(Refusal("--parameters 1e9 --optimizer none --kv-heads 4"), HasSubstr("--context"));
}

TEST(ModelOptions, RefuseWhatMeansNothingTogether) {
  const std::string layers = " --layers 4 --hidden 64 --heads 4 ";
  EXPECT_THAT(Refusal("--parameters 1e9 --weights int4"), HasSubstr("--lora-parameters"));
  EXPECT_THAT(Refusal("--parameters 1e9 --context 9" + layers), HasSubstr("--optimizer none"));
  EXPECT_THAT(Refusal("--parameters 1e9 --optimizer none --checkpointing"), HasSubstr("--checkpointing"));
  EXPECT_THAT(Refusal("--parameters 1e9 --precision fp32 --gradients half"), HasSubstr("--gradients half"));
  EXPECT_THAT(Refusal("--parameters 1e9 --sequence 9 --activation-mb-per-sample 5" + layers), HasSubstr("not both"));
  EXPECT_THAT(Refusal("--parameters 1e9 --sequence 9 --patch 16" + layers), HasSubstr("not both"));
}

}  // namespace
}  // namespace stoker

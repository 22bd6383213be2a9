#include "bench/budget/model.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

namespace stoker {
namespace {

// Without the CUDA context, so that sums are round.
Model Bare(double parameters, Precision precision, Optimizer optimizer) {
  Model model;
  model.parameters = parameters;
  model.precision = precision;
  model.optimizer = optimizer;
  model.cuda_context_bytes = 0;
  return model;
}

double Total(const Model& model) { return SumOf(ModelTerms(model)); }

double TermOf(const Model& model, const std::string& name) {
  for (const Term& term : ModelTerms(model)) {
    if (term.name == name) return term.bytes;
  }
  return 0;
}

TEST(Model, Fp32AdamwTakes16BytesAParameter) { EXPECT_EQ(Total(Bare(1e9, Precision::kFp32, Optimizer::kAdamw)), 16e9); }

TEST(Model, MixedAdamwTakes18BytesAParameterAnd16WithHalfGradients) {
  Model model = Bare(1e9, Precision::kMixed, Optimizer::kAdamw);
  EXPECT_EQ(Total(model), 18e9);
  model.half_gradients = true;
  EXPECT_EQ(Total(model), 16e9);
}

TEST(Model, HalfPrecisionInferenceTakes2BytesAParameter) {
  EXPECT_EQ(Total(Bare(7e9, Precision::kHalf, Optimizer::kNone)), 14e9);
  EXPECT_EQ(Total(Bare(7e9, Precision::kFp32, Optimizer::kNone)), 28e9);
}

TEST(Model, QuantisedInferenceTakesAByteOrAHalfAndScales) {
  Model model = Bare(64e9, Precision::kHalf, Optimizer::kNone);
  model.weights = WeightType::kInt8;
  EXPECT_EQ(Total(model), 64e9);
  model.weights = WeightType::kInt4;
  EXPECT_EQ(TermOf(model, "weights"), 32e9);
  EXPECT_EQ(TermOf(model, "scales"), 4e9);
}

TEST(Model, OptimizersKeepWhatTheyAreKnownFor) {
  EXPECT_EQ(Total(Bare(1e9, Precision::kFp32, Optimizer::kSgd)), 8e9);
  EXPECT_EQ(Total(Bare(1e9, Precision::kFp32, Optimizer::kMomentum)), 12e9);
  EXPECT_EQ(Total(Bare(1e9, Precision::kFp32, Optimizer::kLion)), 12e9);
  EXPECT_EQ(TermOf(Bare(1e9, Precision::kMixed, Optimizer::kAdamw), "optimizer state"), 8e9);
  EXPECT_EQ(TermOf(Bare(1e9, Precision::kMixed, Optimizer::kAdamw8bit), "optimizer state"), 2e9);
  EXPECT_EQ(Total(Bare(1e9, Precision::kHalf, Optimizer::kAdamw)), 8e9) << "weights, gradients and both moments in 2 B";
}

// arXiv 1910.02054, figure 1: 7.5e9 parameters on 64 GPUs, with gradients of 2 B: 120, 31.4, 16.6 and 1.9 GB.
TEST(Model, ZeroDividesAsThePaperSays) {
  Model model = Bare(7.5e9, Precision::kMixed, Optimizer::kAdamw);
  model.half_gradients = true;
  model.world_size = 64;
  EXPECT_NEAR(Total(model), 120e9, 0.05e9);
  model.zero_stage = 1;
  EXPECT_NEAR(Total(model), 31.4e9, 0.05e9);
  model.zero_stage = 2;
  EXPECT_NEAR(Total(model), 16.6e9, 0.05e9);
  model.zero_stage = 3;
  EXPECT_NEAR(Total(model), 1.9e9, 0.05e9);
  model.world_size = 1;
  EXPECT_NEAR(Total(model), 120e9, 0.05e9) << "nobody to share with";
}

TEST(Model, LoraTrainsTheAdaptersAlone) {
  Model model = Bare(70e9, Precision::kMixed, Optimizer::kAdamw);
  model.lora_parameters = 1e8;
  EXPECT_EQ(TermOf(model, "frozen weights"), 140e9);
  EXPECT_NEAR(Total(model) - TermOf(model, "frozen weights"), 18e8, 1);
  model.weights = WeightType::kInt4;
  EXPECT_EQ(TermOf(model, "frozen weights"), 35e9);
  EXPECT_LT(Total(model), 48e9) << "QLoRA: 70e9 on 48 GB";
}

TEST(Model, ActivationsAreThoseOfThePaper) {
  Model model = Bare(1e9, Precision::kMixed, Optimizer::kAdamw);
  model.batch_size = 3;
  model.layers = Layers{.layers = 7, .hidden = 1024, .heads = 16, .sequence = 512};
  const double s = 512, b = 3, h = 1024, a = 16;
  EXPECT_DOUBLE_EQ(TermOf(model, "activations") + TermOf(model, "attention"), 7 * s * b * h * (34 + 5 * a * s / h));
  model.flash_attention = true;
  EXPECT_EQ(TermOf(model, "attention"), 0);
  EXPECT_DOUBLE_EQ(TermOf(model, "activations"), 7 * s * b * h * 34);
  model.flash_attention = false;
  model.checkpointing = true;
  EXPECT_DOUBLE_EQ(TermOf(model, "checkpoints"), 7 * 2 * s * b * h);
  EXPECT_DOUBLE_EQ(TermOf(model, "activations"), s * b * h * (34 + 5 * a * s / h)) << "of one layer";
  model.precision = Precision::kFp32;
  EXPECT_DOUBLE_EQ(TermOf(model, "checkpoints"), 7 * 4 * s * b * h);
  EXPECT_DOUBLE_EQ(TermOf(model, "activations"), s * b * h * (66 + 9 * a * s / h));
}

TEST(Model, ASequenceTwiceAsLongDoublesAllButTheAttentionMatrix) {
  Model model = Bare(1e9, Precision::kMixed, Optimizer::kAdamw);
  model.layers = Layers{.layers = 24, .hidden = 1024, .heads = 16, .sequence = 512, .vocabulary = 1000};
  Model longer = model;
  longer.layers->sequence = 1024;
  EXPECT_DOUBLE_EQ(TermOf(longer, "activations"), 2 * TermOf(model, "activations"));
  EXPECT_DOUBLE_EQ(TermOf(longer, "attention"), 4 * TermOf(model, "attention"));
  EXPECT_DOUBLE_EQ(TermOf(longer, "logits"), 2 * TermOf(model, "logits"));
  EXPECT_DOUBLE_EQ(TermOf(model, "logits"), 4.0 * 64 * 512 * 1000);
}

TEST(Model, KnownModelsHaveTheOrderOfMagnitudeThatIsToldOfThem) {
  Model vit = Bare(86e6, Precision::kMixed, Optimizer::kAdamw);
  vit.batch_size = 32;
  vit.layers = Layers{.layers = 12, .hidden = 768, .heads = 12, .sequence = 197};
  EXPECT_GT(Total(vit), 2e9) << "ViT-B/16 at 224: several GB";
  EXPECT_LT(Total(vit), 10e9);
  Model llm = Bare(7e9, Precision::kMixed, Optimizer::kAdamw);
  llm.batch_size = 4;
  llm.flash_attention = true;
  llm.layers = Layers{.layers = 32, .hidden = 4096, .heads = 32, .sequence = 4096};
  EXPECT_GT(TermOf(llm, "activations"), 20e9) << "sequence 4096, batch 4";
}

TEST(Model, InferenceKeepsOneLayerOfActivations) {
  Model model = Bare(1e9, Precision::kHalf, Optimizer::kNone);
  model.batch_size = 1;
  model.flash_attention = true;
  model.layers = Layers{.layers = 32, .hidden = 1000, .heads = 10, .sequence = 100};
  EXPECT_DOUBLE_EQ(TermOf(model, "activations"), 34.0 * 100 * 1000);
}

TEST(Model, KvCacheOfLlama31IsAnEighthOfAMegabyteAToken) {
  const KvCache llama = {.layers = 32, .kv_heads = 8, .head_dim = 128, .context = 8192};
  EXPECT_EQ(KvBytesPerToken(llama, 2), 131'072);
  Model model = Bare(8e9, Precision::kHalf, Optimizer::kNone);
  model.batch_size = 16;
  model.kv_cache = llama;
  EXPECT_EQ(TermOf(model, "KV cache"), 131'072.0 * 8192 * 16);
}

TEST(Model, MeasuredActivationsGrowWithTheBatch) {
  Model model = Bare(25e6, Precision::kMixed, Optimizer::kMomentum);
  model.activation_bytes_per_sample = 90e6;
  model.batch_size = 128;
  EXPECT_DOUBLE_EQ(TermOf(model, "activations"), 128 * 90e6);
}

TEST(Model, EveryTermIsAnEstimateWithItsFormula) {
  Model model;
  model.parameters = 1e9;
  model.layers = Layers{.layers = 24, .hidden = 1024, .heads = 16, .sequence = 512, .vocabulary = 1000};
  EXPECT_EQ(TermOf(model, "CUDA context"), 500e6);
  for (const Term& term : ModelTerms(model)) {
    EXPECT_TRUE(term.estimate) << term.name;
    EXPECT_EQ(term.place, Place::kVram) << term.name;
    EXPECT_FALSE(term.formula.empty()) << term.name;
  }
}

TEST(Model, TheLargestNumbersDoNotWrap) {
  Model model = Bare(1e15, Precision::kFp32, Optimizer::kAdamw);
  model.batch_size = 65536;
  model.layers = Layers{.layers = 1e4, .hidden = 1e6, .heads = 1e4, .sequence = 1e8, .vocabulary = 1e8};
  for (const Term& term : ModelTerms(model)) EXPECT_GT(term.bytes, 0) << term.name;
  EXPECT_TRUE(std::isfinite(Total(model)));
  EXPECT_GT(Total(model), 1e20);
}

}  // namespace
}  // namespace stoker

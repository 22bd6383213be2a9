#include "augment/recipe.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <stdexcept>

namespace stoker {
namespace {

using ::testing::HasSubstr;

Recipe Ops(std::vector<Op> ops, ElementType element = ElementType::kUint8) {
  Recipe recipe;
  recipe.ops = std::move(ops);
  recipe.element = element;
  return recipe;
}

std::string Refusal(const Recipe& recipe, std::optional<ImageSize> fixed_size = std::nullopt) {
  try {
    CompiledRecipe compiled(recipe, fixed_size);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "accepted";
}

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr float kNanF = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

TEST(CompiledRecipe, TrainRecipeIsTorchvisions) {
  const CompiledRecipe recipe(TrainRecipe(224, ElementType::kFloat32));
  EXPECT_EQ(recipe.spec().size, (ImageSize{224, 224}));
  EXPECT_EQ(recipe.spec().channels, 3);
  EXPECT_EQ(recipe.spec().mean, kImageNetMean);
  EXPECT_EQ(recipe.spec().std, kImageNetStd);
  EXPECT_TRUE(recipe.random());
  EXPECT_EQ(Describe(recipe.recipe()),
            "RandomResizedCrop(224x224, scale 0.08-1, ratio 0.75-1.33333, bilinear) > RandomHorizontalFlip(0.5) > "
            "Normalize(mean (0.485, 0.456, 0.406), std (0.229, 0.224, 0.225))");
}

TEST(CompiledRecipe, EvalRecipeIsTorchvisions) {
  const CompiledRecipe recipe(EvalRecipe(224, ElementType::kBfloat16, Interpolation::kBicubic));
  EXPECT_EQ(recipe.spec().size, (ImageSize{224, 224}));
  EXPECT_FALSE(recipe.random());
  EXPECT_THAT(Describe(recipe.recipe()), HasSubstr("Resize(256, bicubic) > CenterCrop(224x224) > Normalize"));
  EXPECT_THAT(Describe(EvalRecipe(288, ElementType::kUint8)), HasSubstr("Resize(329,"));
}

TEST(CompiledRecipe, BytesAreNotNormalized) {
  const CompiledRecipe recipe(TrainRecipe(64, ElementType::kUint8));
  EXPECT_EQ(recipe.spec().mean, (std::array<float, 3>{0, 0, 0}));
  EXPECT_EQ(recipe.spec().std, (std::array<float, 3>{1, 1, 1}));
  EXPECT_EQ(recipe.recipe().ops.size(), 2u);
}

TEST(CompiledRecipe, RefusalNamesOpValueAndWhatIsAllowed) {
  const std::string text = Refusal(Ops({CenterCrop{{8, 8}}, RandomHorizontalFlip{1.5}}));
  EXPECT_THAT(text, HasSubstr("op 2"));
  EXPECT_THAT(text, HasSubstr("RandomHorizontalFlip(1.5)"));
  EXPECT_THAT(text, HasSubstr("0 to 1"));
}

TEST(CompiledRecipe, ChecksSizes) {
  for (const ImageSize size : {ImageSize{0, 8}, {8, 0}, {-1, 8}, {65536, 8}, {8, 65536}}) {
    EXPECT_THAT(Refusal(Ops({CenterCrop{size}})), HasSubstr("1 to 65535"));
    EXPECT_THAT(Refusal(Ops({RandomCrop{size}})), HasSubstr("1 to 65535"));
    EXPECT_THAT(Refusal(Ops({RandomResizedCrop{size}})), HasSubstr("1 to 65535"));
    EXPECT_THAT(Refusal(Ops({}), size), HasSubstr("1 to 65535"));
  }
  EXPECT_EQ(Refusal(Ops({CenterCrop{{65535, 1}}})), "accepted");
  EXPECT_THAT(Refusal(Ops({Resize{{0, 0}}}), ImageSize{8, 8}), HasSubstr("1 to 65535"));
  EXPECT_THAT(Refusal(Ops({Resize{{8, -1}}})), HasSubstr("1 to 65535"));
  EXPECT_THAT(Refusal(Ops({RandomCrop{{8, 8}, -1}})), HasSubstr("padding"));
  EXPECT_THAT(Refusal(Ops({RandomCrop{{8, 8}, 65536}})), HasSubstr("padding"));
}

TEST(CompiledRecipe, ChecksRanges) {
  const auto crop = [](double scale_low, double scale_high, double ratio_low, double ratio_high) {
    return Refusal(Ops({RandomResizedCrop{{8, 8}, scale_low, scale_high, ratio_low, ratio_high}}));
  };
  EXPECT_EQ(crop(0.5, 0.5, 1, 1), "accepted");
  EXPECT_THAT(crop(0, 1, 1, 1), HasSubstr("scale"));
  EXPECT_THAT(crop(0.6, 0.5, 1, 1), HasSubstr("scale"));
  EXPECT_THAT(crop(kNan, 1, 1, 1), HasSubstr("scale"));
  EXPECT_THAT(crop(0.1, kNan, 1, 1), HasSubstr("scale"));
  EXPECT_THAT(crop(0.1, 1e9, 1, 1), HasSubstr("scale"));
  EXPECT_THAT(crop(0.1, 1, 0, 1), HasSubstr("ratio"));
  EXPECT_THAT(crop(0.1, 1, 2, 1), HasSubstr("ratio"));
  EXPECT_THAT(crop(0.1, 1, 1, kNan), HasSubstr("ratio"));
  EXPECT_THAT(crop(0.1, 1, -1, 1), HasSubstr("ratio"));
}

TEST(CompiledRecipe, ChecksProbabilities) {
  for (const double bad : {-0.1, 1.1, kNan}) {
    EXPECT_THAT(Refusal(Ops({CenterCrop{{8, 8}}, RandomVerticalFlip{bad}})), HasSubstr("probability"));
  }
  const CompiledRecipe never(Ops({CenterCrop{{8, 8}}, RandomVerticalFlip{0}}));
  EXPECT_FALSE(never.random());
}

TEST(CompiledRecipe, ChecksNormalize) {
  const auto normalize = [](Normalize op, ElementType element = ElementType::kFloat32) {
    return Refusal(Ops({CenterCrop{{8, 8}}, op}, element));
  };
  EXPECT_EQ(normalize({kImageNetMean, kImageNetStd}), "accepted");
  EXPECT_THAT(normalize({kImageNetMean, kImageNetStd}, ElementType::kUint8), HasSubstr("uint8"));
  EXPECT_THAT(normalize({kImageNetMean, {1, 0, 1}}), HasSubstr("std"));
  EXPECT_THAT(normalize({kImageNetMean, {1, kNanF, 1}}), HasSubstr("std"));
  EXPECT_THAT(normalize({kImageNetMean, {kInf, 1, 1}}), HasSubstr("std"));
  EXPECT_THAT(normalize({{0, kNanF, 0}, kImageNetStd}), HasSubstr("mean"));
  EXPECT_THAT(Refusal(Ops({Normalize{kImageNetMean, kImageNetStd}, CenterCrop{{8, 8}}}, ElementType::kFloat32)),
              HasSubstr("last"));
}

TEST(CompiledRecipe, ResamplesAtMostOnce) {
  EXPECT_THAT(Refusal(Ops({Resize{{8, 8}}, RandomResizedCrop{{8, 8}}})), HasSubstr("at most one"));
  EXPECT_THAT(Refusal(Ops({Resize{{8, 8}}, CenterCrop{{4, 4}}, Resize{{8, 8}}})), HasSubstr("at most one"));
}

TEST(CompiledRecipe, PadsOnlyAfterResampling) {
  EXPECT_THAT(Refusal(Ops({RandomCrop{{8, 8}, 2}, Resize{{8, 8}}})), HasSubstr("padding"));
  EXPECT_THAT(Refusal(Ops({CenterCrop{{8, 8}}, CenterCrop{{9, 9}}, Resize{{8, 8}}})), HasSubstr("padding"));
  EXPECT_EQ(Refusal(Ops({Resize{{8, 8}}, RandomCrop{{8, 8}, 2}})), "accepted");
  EXPECT_EQ(Refusal(Ops({RandomCrop{{8, 8}}, Resize{{9, 9}}})), "accepted");
}

TEST(CompiledRecipe, RefusesACropThatCanNeverFit) {
  EXPECT_THAT(Refusal(Ops({Resize{{8, 8}}, RandomCrop{{11, 8}, 1}})), HasSubstr("8x8"));
  EXPECT_EQ(Refusal(Ops({Resize{{8, 8}}, RandomCrop{{10, 8}, 1}})), "accepted");
}

TEST(CompiledRecipe, NeedsAFixedSizeWhereThePictureDecides) {
  EXPECT_THAT(Refusal(Ops({RandomHorizontalFlip{}})), HasSubstr("fixed_size"));
  EXPECT_THAT(Refusal(Ops({})), HasSubstr("fixed_size"));
  EXPECT_THAT(Refusal(Ops({Resize{{8, 0}}})), HasSubstr("fixed_size"));
  const CompiledRecipe recipe(Ops({RandomHorizontalFlip{}}), ImageSize{32, 16});
  EXPECT_EQ(recipe.spec().size, (ImageSize{32, 16}));
  EXPECT_THAT(Refusal(Ops({CenterCrop{{8, 8}}}), ImageSize{9, 9}), HasSubstr("agree"));
}

TEST(CompiledRecipe, RefusesMoreThan64Ops) {
  std::vector<Op> ops(65, CenterCrop{{8, 8}});
  EXPECT_THAT(Refusal(Ops(ops)), HasSubstr("64"));
  ops.pop_back();
  EXPECT_EQ(Refusal(Ops(ops)), "accepted");
}

}  // namespace
}  // namespace stoker

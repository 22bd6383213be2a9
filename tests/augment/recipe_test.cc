#include "augment/recipe.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <limits>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

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
  EXPECT_THAT(Refusal(Ops({RandomCrop{{8, 8}, {-1, -1, -1, -1}}})), HasSubstr("padding"));
  EXPECT_THAT(Refusal(Ops({RandomCrop{{8, 8}, {65536, 65536, 65536, 65536}}})), HasSubstr("padding"));
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
  EXPECT_THAT(Refusal(Ops({RandomCrop{{8, 8}, {2, 2, 2, 2}}, Resize{{8, 8}}})), HasSubstr("padding"));
  EXPECT_THAT(Refusal(Ops({CenterCrop{{8, 8}}, CenterCrop{{9, 9}}, Resize{{8, 8}}})), HasSubstr("padding"));
  EXPECT_EQ(Refusal(Ops({Resize{{8, 8}}, RandomCrop{{8, 8}, {2, 2, 2, 2}}})), "accepted");
  EXPECT_EQ(Refusal(Ops({RandomCrop{{8, 8}}, Resize{{9, 9}}})), "accepted");
}

TEST(CompiledRecipe, PadsWithOneColorOrModeAndFirst) {
  const Pad zeros{{1, 1, 1, 1}};
  const Pad reflect{{1, 1, 1, 1}, PaddingMode::kReflect};
  const Pad red{{1, 1, 1, 1}, PaddingMode::kConstant, {255, 0, 0}};
  const Pad nothing{{}, PaddingMode::kEdge};
  RandomCrop if_needed{{9, 9}};
  if_needed.pad_if_needed = true;
  if_needed.mode = PaddingMode::kEdge;
  for (const Op& op : {Op(reflect), Op(red), Op(if_needed)}) {
    EXPECT_EQ(Refusal(Ops({CenterCrop{{8, 8}}, nothing, op, zeros, CenterCrop{{20, 20}}})), "accepted");
    for (const Op& earlier : {Op(zeros), Op(red), Op(CenterCrop{{10, 10}})}) {
      EXPECT_THAT(Refusal(Ops({CenterCrop{{8, 8}}, earlier, op})), HasSubstr("pad once, or with zeros"));
    }
    EXPECT_THAT(Refusal(Ops({op, Resize{{8, 8}}})), HasSubstr("only after the op that resamples"));
  }
}

TEST(CompiledRecipe, KnowsThePaddedSize) {
  EXPECT_EQ(CompiledRecipe(Ops({Resize{{8, 9}}, Pad{{1, 2, 3, 4}}})).spec().size, (ImageSize{12, 15}));
  EXPECT_THAT(Refusal(Ops({Resize{{8, 8}}, Pad{{65535, 0, 0, 0}}})), HasSubstr("65543x8"));
  EXPECT_THAT(Refusal(Ops({CenterCrop{{8, 8}}, Pad{{0, 0, 0, -1}}})), HasSubstr("padding must be 0 to 65535"));
  EXPECT_THAT(Refusal(Ops({CenterCrop{{8, 8}}, Pad{{1, 0, 0, 0}, static_cast<PaddingMode>(4)}})),
              HasSubstr("constant, edge, reflect or symmetric"));
}

TEST(CompiledRecipe, ChecksResize) {
  const auto resize = [](ImageSize size, int32_t max_size, Interpolation filter = Interpolation::kLanczos) {
    return Refusal(Ops({Resize{size, max_size, filter}, CenterCrop{{8, 8}}}));
  };
  EXPECT_EQ(resize({8, 0}, 9), "accepted");
  EXPECT_THAT(resize({8, 0}, 8), HasSubstr("max_size"));
  EXPECT_THAT(resize({8, 0}, 65536), HasSubstr("max_size"));
  EXPECT_THAT(resize({8, 0}, -1), HasSubstr("max_size"));
  EXPECT_THAT(resize({8, 8}, 9), HasSubstr("shorter side"));
  EXPECT_THAT(resize({8, 8}, 0, static_cast<Interpolation>(6)), HasSubstr("hamming or lanczos"));
}

TEST(CompiledRecipe, CountsChannelsFromDecodingToTheSample) {
  const auto channels = [](Channels decoded, std::vector<Op> ops) {
    Recipe recipe = Ops(std::move(ops));
    recipe.channels = decoded;
    return CompiledRecipe(recipe, ImageSize{8, 8}).spec().channels;
  };
  EXPECT_EQ(channels(Channels::kRgb, {}), 3);
  EXPECT_EQ(channels(Channels::kGray, {}), 1);
  EXPECT_EQ(channels(Channels::kRgb, {Grayscale{}}), 1);
  EXPECT_EQ(channels(Channels::kRgb, {Grayscale{3}}), 3);
  EXPECT_EQ(channels(Channels::kGray, {Grayscale{3}}), 3);
  EXPECT_EQ(channels(Channels::kRgb, {RandomGrayscale{1}}), 3);
  EXPECT_THAT(Refusal(Ops({CenterCrop{{8, 8}}, Grayscale{2}})), HasSubstr("1 or 3"));
}

TEST(CompiledRecipe, ChecksColorJitter) {
  using Range = std::optional<std::array<double, 2>>;
  const auto jitter = [](const Range& brightness, const Range& hue = std::nullopt) {
    return Refusal(Ops({CenterCrop{{8, 8}}, ColorJitter{brightness, std::nullopt, std::nullopt, hue}}));
  };
  EXPECT_EQ(jitter({{0, 2}}, {{-0.5, 0.5}}), "accepted");
  for (const Range& bad : {Range({-0.1, 1}), {{1, 0.5}}, {{kNan, 1}}, {{0, kNan}}, {{0, double{kInf}}}, {{0, 1e39}}}) {
    EXPECT_THAT(jitter(bad), HasSubstr("0 <= low <= high"));
  }
  for (const Range& bad : {Range({-0.6, 0}), {{0, 0.6}}, {{0.1, 0}}, {{kNan, 0}}, {{0, kNan}}}) {
    EXPECT_THAT(jitter(std::nullopt, bad), HasSubstr("-0.5 <= low <= high <= 0.5"));
  }
  EXPECT_FALSE(CompiledRecipe(Ops({CenterCrop{{8, 8}}, ColorJitter{}})).random());
  EXPECT_TRUE(CompiledRecipe(Ops({CenterCrop{{8, 8}}, ColorJitter{.hue = {{0, 0.1}}}})).random());
}

TEST(CompiledRecipe, JittersLast) {
  const std::vector<Op> geometry = {RandomResizedCrop{{8, 8}}, Resize{{8, 8}}, CenterCrop{{8, 8}}, RandomCrop{{8, 8}},
                                    Pad{{1, 1, 1, 1}}};
  for (const Op& op : geometry) {
    EXPECT_THAT(Refusal(Ops({ColorJitter{}, op}), ImageSize{8, 8}), HasSubstr("before ColorJitter"));
  }
  EXPECT_THAT(Refusal(Ops({ColorJitter{}, ColorJitter{}}), ImageSize{8, 8}), HasSubstr("one ColorJitter"));
  EXPECT_EQ(Refusal(Ops({ColorJitter{}, RandomHorizontalFlip{}, Grayscale{}}), ImageSize{8, 8}), "accepted");
}

TEST(CompiledRecipe, DescribesEveryArgument) {
  RandomResizedCrop crop{{8, 8}};
  crop.random_interpolation = true;
  EXPECT_THAT(Describe(Ops({crop})), HasSubstr("bilinear or bicubic"));
  EXPECT_EQ(Describe(Ops({Resize{{8, 0}, 12, Interpolation::kHamming}, Resize{{8, 9}, 0, Interpolation::kBox}})),
            "Resize(8, at most 12, hamming) > Resize(8x9, box)");
  EXPECT_EQ(Describe(Ops({Pad{{2, 2, 2, 2}}, Pad{{1, 2, 3, 4}, PaddingMode::kSymmetric}})),
            "Pad(padding 2) > Pad(padding 1,2,3,4, symmetric)");
  EXPECT_EQ(Describe(Ops({RandomCrop{{8, 8}, {}, true, PaddingMode::kConstant, {1, 2, 3}}, RandomCrop{{8, 8}}})),
            "RandomCrop(8x8, padding 0, fill (1, 2, 3), padded if needed) > RandomCrop(8x8)");
  EXPECT_EQ(Describe(Ops({Grayscale{3}, RandomGrayscale{}, ColorJitter{}})),
            "Grayscale(3) > RandomGrayscale(0.1) > ColorJitter()");
  EXPECT_EQ(Describe(Ops({ColorJitter{{{0.5, 1.5}}, std::nullopt, std::nullopt, {{-0.1, 0.1}}}})),
            "ColorJitter(brightness 0.5 to 1.5, hue -0.1 to 0.1)");
}

TEST(CompiledRecipe, RefusesACropThatCanNeverFit) {
  EXPECT_THAT(Refusal(Ops({Resize{{8, 8}}, RandomCrop{{11, 8}, {1, 1, 1, 1}}})), HasSubstr("8x8"));
  EXPECT_EQ(Refusal(Ops({Resize{{8, 8}}, RandomCrop{{10, 8}, {1, 1, 1, 1}}})), "accepted");
  EXPECT_EQ(Refusal(Ops({Resize{{8, 8}}, RandomCrop{{11, 8}, {}, true}})), "accepted");
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

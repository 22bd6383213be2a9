// What the ops become together, by way of MakePlan.
#include "augment/composer.h"

#include <gtest/gtest.h>

#include <array>
#include <set>
#include <utility>
#include <vector>

#include "tests/augment/make_plan.h"

namespace stoker {
namespace {

TEST(MakePlan, TwoFlipsCancel) {
  const CompiledRecipe recipe =
      Compiled({RandomHorizontalFlip{1}, RandomHorizontalFlip{1}, RandomVerticalFlip{1}}, ImageSize{8, 8});
  const Plan plan = Make(recipe, {8, 8});
  EXPECT_FALSE(plan.flip_horizontal);
  EXPECT_TRUE(plan.flip_vertical);
}

TEST(CenterCrop, BehindAFlipIsMirrored) {
  const CompiledRecipe recipe = Compiled({RandomHorizontalFlip{1}, RandomVerticalFlip{1}, CenterCrop{{4, 4}}});
  EXPECT_EQ(Make(recipe, {5, 7}).window, (Rect{1, 1, 4, 4}));
}

// torchvision adds what is missing on both sides, so the crop still has somewhere to go.
TEST(RandomCrop, PadsBothSidesByWhatIsMissing) {
  RandomCrop crop{{32, 16}};
  crop.pad_if_needed = true;
  crop.fill = {1, 2, 3};
  const CompiledRecipe recipe = Compiled({crop});
  std::set<int32_t> xs;
  for (uint64_t i = 0; i < 500; ++i) {
    const Plan plan = Make(recipe, {30, 40}, {3, 0, i});
    EXPECT_EQ(plan.unpadded, (Rect{0, 0, 30, 40}));
    EXPECT_EQ(plan.padded_once, (Rect{-2, 0, 34, 40}));
    EXPECT_EQ(plan.padded, plan.window);
    xs.insert(plan.window.x);
  }
  EXPECT_EQ(xs, (std::set<int32_t>{-2, -1, 0}));
}

TEST(RandomCrop, PadsIfNeededWhatItHasPaddedAlready) {
  RandomCrop crop{{20, 8}, {1, 0, 2, 0}, true, PaddingMode::kReflect};
  const Plan plan = Make(Compiled({crop}), {8, 8});
  EXPECT_EQ(plan.unpadded, (Rect{0, 0, 8, 8}));
  EXPECT_EQ(plan.padded_once, (Rect{-1, 0, 11, 8}));
  EXPECT_GE(plan.padded.x, -1 - 9);
  EXPECT_EQ(plan.padded, plan.window);
}

TEST(Pad, BehindAFlipIsMirrored) {
  const Pad pad{{1, 2, 3, 4}, PaddingMode::kSymmetric};
  const CompiledRecipe recipe = Compiled({RandomHorizontalFlip{1}, pad, RandomVerticalFlip{1}}, ImageSize{14, 16});
  EXPECT_EQ(Make(recipe, {10, 10}).window, (Rect{-3, -2, 14, 16}));
}

TEST(Pad, ContentHoldsThePixelsThatOnlyThePaddingShows) {
  const auto content = [](int32_t left, int32_t width) {
    const Pad pad{{left, 0, 0, 0}, PaddingMode::kReflect};
    return Make(Compiled({Resize{{40, 40}}, pad, CenterCrop{{width, 40}}}), {40, 40}).content;
  };
  EXPECT_EQ(content(39, 9), (Rect{0, 0, 5, 40}));    // columns -4 to 4
  EXPECT_EQ(content(200, 10), (Rect{0, 0, 8, 40}));  // columns -85 to -76; -78 is the first pixel again
}

TEST(Pad, BehindZerosIsRefused) {
  Plan plan;
  const CompiledRecipe recipe = Compiled({CenterCrop{{16, 16}}, Pad{{1, 1, 1, 1}, PaddingMode::kEdge}});
  EXPECT_EQ(MakePlan(recipe, {16, 16}, {}, plan), PlanError::kNone);
  EXPECT_EQ(MakePlan(recipe, {16, 15}, {}, plan), PlanError::kTooSmall);
}

TEST(Pad, FillFollowsTheGray) {
  const Pad pad{{1, 1, 1, 1}, PaddingMode::kConstant, {255, 0, 0}};
  EXPECT_EQ(Make(Compiled({Grayscale{3}, pad}, ImageSize{6, 6}), {4, 4}).fill, (std::array<uint8_t, 3>{255, 0, 0}));
  EXPECT_EQ(Make(Compiled({pad, Grayscale{3}}, ImageSize{6, 6}), {4, 4}).fill, (std::array<uint8_t, 3>{76, 76, 76}));
  EXPECT_EQ(Make(Compiled({Grayscale{1}, pad}, ImageSize{6, 6}), {4, 4}).fill, (std::array<uint8_t, 3>{255, 255, 255}));
}

TEST(Grayscale, ComesBeforeTheFilterThatFollowsIt) {
  const auto stage = [](std::vector<Op> ops) { return Make(Compiled(std::move(ops)), {9, 9}).gray; };
  EXPECT_EQ(stage({Grayscale{}, Resize{{4, 4}}}), GrayStage::kBeforeResampling);
  EXPECT_EQ(stage({Grayscale{}, Resize{{4, 4}, 0, Interpolation::kNearest}}), GrayStage::kAfterResampling);
  EXPECT_EQ(stage({Resize{{4, 4}}, Grayscale{}}), GrayStage::kAfterResampling);
  EXPECT_EQ(stage({Grayscale{}, Resize{{4, 4}}, Grayscale{3}}), GrayStage::kBeforeResampling);
  EXPECT_EQ(stage({Resize{{4, 4}}}), GrayStage::kNever);
}

TEST(MakePlan, RefusesPaddingThatWouldBeResampled) {
  Plan plan;
  const CompiledRecipe recipe = Compiled({CenterCrop{{16, 16}}, Resize{{8, 8}}});
  EXPECT_EQ(MakePlan(recipe, {16, 16}, {}, plan), PlanError::kNone);
  EXPECT_EQ(MakePlan(recipe, {15, 16}, {}, plan), PlanError::kTooSmall);
}

TEST(MakePlan, RegionOfAnUnresampledCropIsTheCrop) {
  const Plan plan = Make(Compiled({CenterCrop{{100, 50}}}), {300, 200});
  EXPECT_EQ(plan.region, (Rect{100, 75, 100, 50}));
  EXPECT_EQ(plan.region_at_least, (ImageSize{100, 50}));
}

TEST(MakePlan, RegionHoldsTheFiltersReach) {
  const Plan plan = Make(Compiled({Resize{{100, 100}}, CenterCrop{{50, 50}}}), {400, 50});
  // Outputs 25..74. Across: scale 4, centers 102..298, support 4. Down: scale 0.5, centers 12.75..37.25, support 1.
  EXPECT_EQ(plan.region, (Rect{98, 12, 204, 26}));
  EXPECT_EQ(plan.region_at_least, (ImageSize{51, 26}));  // a quarter; enlarged, so nothing to spare
}

TEST(MakePlan, RegionKeepsItsShareOfTheSizeRoundedUp) {
  const Plan plan = Make(Compiled({Resize{{100, 100}}, CenterCrop{{50, 50}}}), {301, 100});
  // Outputs 25..74: centers 76.755 to 224.245, support 3.01, both ends rounded.
  EXPECT_EQ(plan.region.width, 227 - 74);
  EXPECT_EQ(plan.region_at_least, (ImageSize{51, 50}));  // 153 x 100 / 301 = 50.8
}

TEST(MakePlan, NearestIsNeverDecodedSmaller) {
  const Plan plan = Make(Compiled({Resize{{10, 10}, 0, Interpolation::kNearest}}), {1000, 1000});
  EXPECT_EQ(plan.region, (Rect{50, 50, 901, 901}));
  EXPECT_EQ(plan.region_at_least, (ImageSize{901, 901}));
}

TEST(MakePlan, RegionIsNeverEmpty) {
  // A window that shows nothing but padding: every sample of this crop that misses the picture.
  const CompiledRecipe recipe = Compiled({RandomCrop{{2, 2}, {9, 9, 9, 9}}});
  int empty = 0;
  for (uint64_t i = 0; i < 500; ++i) {
    const Plan plan = Make(recipe, {1, 1}, {1, 0, i});
    EXPECT_EQ(plan.region, (Rect{0, 0, 1, 1}));
    empty += plan.content.width == 0;
  }
  EXPECT_GT(empty, 400);
}

}  // namespace
}  // namespace stoker

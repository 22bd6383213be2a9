#include "augment/plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <random>
#include <set>
#include <tuple>
#include <vector>

#include "tests/augment/make_plan.h"

namespace stoker {
namespace {

bool Inside(const Rect& inner, const Rect& outer) {
  return inner.x >= outer.x && inner.y >= outer.y && inner.x + inner.width <= outer.x + outer.width &&
         inner.y + inner.height <= outer.y + outer.height;
}

TEST(MakePlan, IsPure) {
  const CompiledRecipe recipe(TrainRecipe(224, ElementType::kUint8));
  for (uint64_t position = 0; position < 100; ++position) {
    const Plan a = Make(recipe, {500, 375}, {1, 2, position});
    const Plan b = Make(recipe, {500, 375}, {1, 2, position});
    EXPECT_EQ(a.crop, b.crop);
    EXPECT_EQ(a.flip_horizontal, b.flip_horizontal);
  }
}

// The numbers are part of the interface: the same seed gives the same training after an update.
TEST(MakePlan, DrawsWhatItDrewBefore) {
  Recipe ops = TrainRecipe(224, ElementType::kUint8);
  ops.ops.push_back(RandomVerticalFlip{});
  ops.ops.push_back(RandomCrop{{200, 180}});
  const CompiledRecipe recipe(ops);
  struct Drawn {
    Rect crop;
    bool flip;
    int32_t x, y;
  };
  const std::vector<Drawn> drawn = {{{191, 11, 183, 205}, false, 8, 31},
                                    {{39, 6, 396, 350}, false, 21, 41},
                                    {{86, 21, 324, 338}, true, 22, 35},
                                    {{31, 78, 390, 296}, true, 13, 14}};
  for (size_t i = 0; i < drawn.size(); ++i) {
    const Plan plan = Make(recipe, {500, 375}, {9, 1, i});
    EXPECT_EQ(plan.crop, drawn[i].crop);
    EXPECT_EQ(plan.flip_horizontal, drawn[i].flip);
    EXPECT_FALSE(plan.flip_vertical);
    EXPECT_EQ(plan.window, (Rect{drawn[i].x, drawn[i].y, 200, 180}));
  }
}

TEST(MakePlan, DrawsDifferInEverySampleAndEpoch) {
  const CompiledRecipe recipe(TrainRecipe(224, ElementType::kUint8));
  std::set<std::tuple<int32_t, int32_t, int32_t, int32_t>> crops;
  for (uint64_t epoch = 0; epoch < 4; ++epoch) {
    for (uint64_t position = 0; position < 500; ++position) {
      const Rect crop = Make(recipe, {4000, 3000}, {0, epoch, position}).crop;
      crops.insert({crop.x, crop.y, crop.width, crop.height});
    }
  }
  EXPECT_EQ(crops.size(), 2000u);
}

TEST(MakePlan, OpsDrawIndependently) {
  const CompiledRecipe recipe = Compiled({RandomHorizontalFlip{}, RandomVerticalFlip{}}, ImageSize{8, 8});
  int both[2][2] = {};
  for (uint64_t position = 0; position < 4000; ++position) {
    const Plan plan = Make(recipe, {8, 8}, {5, 0, position});
    ++both[plan.flip_horizontal][plan.flip_vertical];
  }
  for (const auto& row : both) {
    for (const int count : row) EXPECT_NEAR(count, 1000, 140);  // 5 standard deviations
  }
}

TEST(MakePlan, FlipsAsOftenAsTheirProbability) {
  for (const double probability : {0.0, 0.1, 0.5, 0.9, 1.0}) {
    const CompiledRecipe recipe = Compiled({RandomHorizontalFlip{probability}}, ImageSize{8, 8});
    int flips = 0;
    for (uint64_t i = 0; i < 10000; ++i) flips += Make(recipe, {8, 8}, {5, 1, i}).flip_horizontal;
    EXPECT_NEAR(flips, 10000 * probability, 5 * std::sqrt(10000 * probability * (1 - probability)));
  }
}

// Kolmogorov and Smirnov's distance of two samples.
double Distance(std::vector<double> a, std::vector<double> b) {
  std::sort(a.begin(), a.end());
  std::sort(b.begin(), b.end());
  double distance = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    const auto below = static_cast<double>(std::upper_bound(b.begin(), b.end(), a[i]) - b.begin());
    distance = std::max(distance, std::fabs(static_cast<double>(i + 1) / static_cast<double>(a.size()) -
                                            below / static_cast<double>(b.size())));
  }
  return distance;
}

// Against the same distribution from the standard library's generator: nothing of ours in it.
TEST(RandomResizedCrop, DrawsTorchvisionsDistribution) {
  constexpr int32_t kWidth = 1600, kHeight = 1200;
  constexpr size_t kDraws = 20000;
  const CompiledRecipe recipe(TrainRecipe(224, ElementType::kUint8));
  std::vector<double> areas, ratios, xs, expected_areas, expected_ratios, expected_xs;
  std::mt19937_64 generator(1);
  for (uint64_t i = 0; i < kDraws; ++i) {
    const Rect crop = Make(recipe, {kWidth, kHeight}, {2, 0, i}).crop;
    areas.push_back(static_cast<double>(crop.width) * crop.height);
    ratios.push_back(static_cast<double>(crop.width) / crop.height);
    xs.push_back(static_cast<double>(crop.x) / (kWidth - crop.width + 1));
    for (;;) {  // 10 attempts all but always suffice for this shape
      std::uniform_real_distribution<double> scale(0.08, 1), log_ratio(std::log(3.0 / 4), std::log(4.0 / 3));
      const double area = scale(generator) * kWidth * kHeight;
      const double ratio = std::exp(log_ratio(generator));
      const double w = std::nearbyint(std::sqrt(area * ratio)), h = std::nearbyint(std::sqrt(area / ratio));
      if (w > kWidth || h > kHeight) continue;
      expected_areas.push_back(w * h);
      expected_ratios.push_back(w / h);
      std::uniform_int_distribution<int> x(0, static_cast<int>(kWidth - w));
      expected_xs.push_back(x(generator) / (kWidth - w + 1));
      break;
    }
  }
  // 1.95 * sqrt(2 / n) is exceeded once in a thousand; the seeds are fixed.
  const double limit = 1.95 * std::sqrt(2.0 / kDraws);
  EXPECT_LT(Distance(areas, expected_areas), limit);
  EXPECT_LT(Distance(ratios, expected_ratios), limit);
  EXPECT_LT(Distance(xs, expected_xs), limit);
}

TEST(RandomResizedCrop, TakesTheCentralCropOfThinPictures) {
  const CompiledRecipe recipe(TrainRecipe(224, ElementType::kUint8));
  EXPECT_EQ(Make(recipe, {65500, 1}).crop, (Rect{32749, 0, 1, 1}));
  EXPECT_EQ(Make(recipe, {1, 65500}).crop, (Rect{0, 32749, 1, 1}));
  EXPECT_EQ(Make(recipe, {1000, 10}).crop, (Rect{493, 0, 13, 10}));
  EXPECT_EQ(Make(recipe, {1, 1}).crop, (Rect{0, 0, 1, 1}));
}

TEST(RandomResizedCrop, KeepsAtLeastOnePixelOfAnyPicture) {
  const CompiledRecipe tiny = Compiled({RandomResizedCrop{{4, 4}, 1e-9, 1e-6, 1e-3, 1e3}});
  for (const ImageSize size : {ImageSize{1, 1}, {2, 1}, {1, 3}, {4000, 1}, {65535, 65535}}) {
    for (uint64_t i = 0; i < 200; ++i) {
      const Rect crop = Make(tiny, size, {1, 0, i}).crop;
      EXPECT_GE(crop.width, 1);
      EXPECT_GE(crop.height, 1);
      EXPECT_TRUE(Inside(crop, {0, 0, size.width, size.height}));
    }
  }
}

TEST(RandomResizedCrop, DrawsItsFilterBesidesItsCrop) {
  Recipe ops = TrainRecipe(224, ElementType::kUint8, Interpolation::kLanczos);
  const CompiledRecipe fixed(ops);
  std::get<RandomResizedCrop>(ops.ops[0]).random_interpolation = true;
  const CompiledRecipe random(ops);
  int bicubic = 0;
  for (uint64_t i = 0; i < 1000; ++i) {
    const Plan plan = Make(random, {500, 375}, {4, 0, i});
    EXPECT_TRUE(plan.interpolation == Interpolation::kBilinear || plan.interpolation == Interpolation::kBicubic);
    EXPECT_EQ(plan.crop, Make(fixed, {500, 375}, {4, 0, i}).crop);
    bicubic += plan.interpolation == Interpolation::kBicubic;
  }
  EXPECT_NEAR(bicubic, 500, 80);  // 5 standard deviations
}

// torchvision's _compute_resized_output_size.
TEST(Resize, CutsTheLongerSideToItsMaximum) {
  const auto resized = [](int32_t side, int32_t max_size, ImageSize size) {
    return Make(Compiled({Resize{{side, 0}, max_size}, CenterCrop{{1, 1}}}), size).resized;
  };
  EXPECT_EQ(resized(256, 300, {500, 375}), (ImageSize{300, 225}));
  EXPECT_EQ(resized(256, 300, {375, 500}), (ImageSize{225, 300}));
  EXPECT_EQ(resized(256, 341, {500, 375}), (ImageSize{341, 256}));
  EXPECT_EQ(resized(256, 340, {500, 375}), (ImageSize{340, 255}));
  EXPECT_EQ(resized(100, 1000, {2000, 4}), (ImageSize{1000, 2}));
  EXPECT_EQ(resized(256, 257, {333, 333}), (ImageSize{256, 256}));
  Plan plan;
  EXPECT_EQ(MakePlan(Compiled({Resize{{64, 0}, 100}, CenterCrop{{1, 1}}}), {1000, 7}, {}, plan), PlanError::kWrongSize);
}

TEST(Resize, KeepsTheRatioAsPythonDivides) {
  const auto resized = [](int32_t side, ImageSize size) {
    Plan plan;
    const CompiledRecipe recipe = Compiled({Resize{{side, 0}}, CenterCrop{{1, 1}}});
    EXPECT_EQ(MakePlan(recipe, size, {}, plan), PlanError::kNone);
    return plan.resized;
  };
  EXPECT_EQ(resized(256, {500, 375}), (ImageSize{341, 256}));
  EXPECT_EQ(resized(256, {375, 500}), (ImageSize{256, 341}));
  EXPECT_EQ(resized(256, {333, 333}), (ImageSize{256, 256}));
  EXPECT_EQ(resized(100, {2000, 4}), (ImageSize{50000, 100}));
  EXPECT_EQ(resized(256, {65500, 1}), (ImageSize{16768000, 256}));
  EXPECT_EQ(resized(1, {3, 2}), (ImageSize{1, 1}));
}

TEST(Resize, RefusesASideBeyond28Bits) {
  Plan plan;
  const CompiledRecipe recipe = Compiled({Resize{{65535, 0}}, CenterCrop{{1, 1}}});
  EXPECT_EQ(MakePlan(recipe, {2147483647, 1}, {}, plan), PlanError::kWrongSize);
  EXPECT_EQ(MakePlan(recipe, {100000, 10}, {}, plan), PlanError::kWrongSize);
  EXPECT_EQ(MakePlan(recipe, {40000, 10}, {}, plan), PlanError::kNone);
}

TEST(CenterCrop, RoundsAsPython) {
  const auto window = [](ImageSize size) { return Make(Compiled({CenterCrop{{4, 4}}}), size).window; };
  EXPECT_EQ(window({5, 7}), (Rect{0, 2, 4, 4}));   // 0.5 -> 0, 1.5 -> 2
  EXPECT_EQ(window({9, 11}), (Rect{2, 4, 4, 4}));  // 2.5 -> 2, 3.5 -> 4
  EXPECT_EQ(window({3, 1}), (Rect{0, -1, 4, 4}));  // one missing goes behind, three are split 1 and 2
}

TEST(RandomCrop, ReachesEveryOffset) {
  const CompiledRecipe recipe = Compiled({RandomCrop{{32, 32}, {4, 4, 4, 4}}});
  std::set<std::pair<int32_t, int32_t>> offsets;
  for (uint64_t i = 0; i < 2000; ++i) {
    const Plan plan = Make(recipe, {32, 32}, {3, 0, i});
    offsets.insert({plan.window.x, plan.window.y});
    EXPECT_TRUE(Inside(plan.content, plan.window));
    EXPECT_TRUE(Inside(plan.content, {0, 0, 32, 32}));
  }
  EXPECT_EQ(offsets.size(), 81u);  // -4..4 in both directions
  EXPECT_EQ(offsets.begin()->first, -4);
  EXPECT_EQ(offsets.rbegin()->first, 4);
}

TEST(RandomCrop, RefusesPicturesThatAreTooSmall) {
  Plan plan;
  EXPECT_EQ(MakePlan(Compiled({RandomCrop{{150, 150}}}), {131, 105}, {}, plan), PlanError::kTooSmall);
  EXPECT_EQ(MakePlan(Compiled({RandomCrop{{150, 150}, {23, 23, 23, 23}}}), {131, 105}, {}, plan), PlanError::kNone);
  EXPECT_EQ(MakePlan(Compiled({RandomCrop{{150, 150}, {22, 22, 22, 22}}}), {131, 105}, {}, plan), PlanError::kTooSmall);
}

TEST(RandomGrayscale, IsDrawnAsOftenAsItsProbability) {
  const CompiledRecipe recipe = Compiled({RandomGrayscale{}}, ImageSize{8, 8});
  int gray = 0;
  for (uint64_t i = 0; i < 10000; ++i) gray += Make(recipe, {8, 8}, {5, 1, i}).gray != GrayStage::kNever;
  EXPECT_NEAR(gray, 1000, 150);  // 5 standard deviations
}

TEST(ColorJitter, DrawsEveryOrderAndTheWholeRange) {
  ColorJitter jitter;
  jitter.brightness = {0.6, 1.4};
  jitter.contrast = {0.5, 0.5};
  jitter.saturation = {0, 2};
  jitter.hue = {-0.1, 0.3};
  const CompiledRecipe recipe = Compiled({jitter}, ImageSize{8, 8});
  std::map<std::vector<ColorOp>, int> orders;
  std::array<double, 4> lowest{9, 9, 9, 9}, highest{-9, -9, -9, -9};
  for (uint64_t i = 0; i < 4800; ++i) {
    const Plan plan = Make(recipe, {8, 8}, {5, 1, i});
    ASSERT_EQ(plan.color_count, 4);
    std::vector<ColorOp> order;
    for (const ColorStep& step : plan.colors) {
      const auto op = static_cast<size_t>(step.op);
      order.push_back(step.op);
      lowest[op] = std::min(lowest[op], step.factor);
      highest[op] = std::max(highest[op], step.factor);
    }
    ++orders[order];
  }
  EXPECT_EQ(orders.size(), 24u);
  for (const auto& [order, count] : orders) EXPECT_NEAR(count, 200, 70);  // 5 standard deviations
  const std::array<std::array<double, 2>, 4> ranges = {{{0.6, 1.4}, {0.5, 0.5}, {0, 2}, {-0.1, 0.3}}};
  for (size_t op = 0; op < 4; ++op) {
    const double width = ranges[op][1] - ranges[op][0];
    EXPECT_GE(lowest[op], ranges[op][0]);
    EXPECT_LE(lowest[op], ranges[op][0] + width / 100);
    EXPECT_LE(highest[op], ranges[op][1]);
    EXPECT_GE(highest[op], ranges[op][1] - width / 100);
  }
}

TEST(ColorJitter, LeavesOutWhatHasNoRange) {
  ColorJitter jitter;
  jitter.hue = {0.1, 0.1};
  const Plan plan = Make(Compiled({jitter, Grayscale{}}, ImageSize{8, 8}), {8, 8});
  ASSERT_EQ(plan.color_count, 1);
  EXPECT_EQ(plan.colors[0].op, ColorOp::kHue);
  EXPECT_EQ(plan.colors[0].factor, 0.1);
  EXPECT_TRUE(plan.gray_after_colors);
  EXPECT_EQ(plan.gray, GrayStage::kNever);
}

TEST(MakePlan, RefusesTheWrongSize) {
  Plan plan;
  const CompiledRecipe recipe = Compiled({RandomHorizontalFlip{}}, ImageSize{32, 32});
  EXPECT_EQ(MakePlan(recipe, {32, 32}, {}, plan), PlanError::kNone);
  EXPECT_EQ(MakePlan(recipe, {33, 32}, {}, plan), PlanError::kWrongSize);
}

}  // namespace
}  // namespace stoker

#include "augment/augment.h"

#include <gtest/gtest.h>

#include <cstring>
#include <optional>
#include <random>
#include <span>
#include <stdexcept>
#include <vector>

#include "augment/plan.h"
#include "augment/recipe.h"
#include "tests/augment/oracle.h"
#include "tests/augment/recipe_oracle.h"
#include "tests/augment/targets.h"

namespace stoker {
namespace {

// Only the region is given, as the decoder would: what lies outside is not there to be read.
std::vector<std::byte> RunOnRegion(const CompiledRecipe& recipe, const oracle::Picture& picture, const Plan& plan) {
  Image image;
  oracle::CopyTo(oracle::Crop(picture, plan.region), image);
  Augmenter augmenter(recipe.spec());
  std::vector<std::byte> out(recipe.spec().bytes() + 1, std::byte{0x5a});
  const SourceBox box{0, 0, static_cast<double>(plan.region.width), static_cast<double>(plan.region.height)};
  EXPECT_TRUE(augmenter.Run(image.view(), box, plan, std::span(out).first(recipe.spec().bytes())));
  EXPECT_EQ(out.back(), std::byte{0x5a});
  out.pop_back();
  return out;
}

std::vector<std::byte> RunOnWhole(const CompiledRecipe& recipe, const oracle::Picture& picture, const Plan& plan) {
  Image image;
  oracle::CopyTo(picture, image);
  Augmenter augmenter(recipe.spec());
  std::vector<std::byte> out(recipe.spec().bytes());
  const Rect& r = plan.region;
  const SourceBox box{static_cast<double>(r.x), static_cast<double>(r.y), static_cast<double>(r.x + r.width),
                      static_cast<double>(r.y + r.height)};
  EXPECT_TRUE(augmenter.Run(image.view(), box, plan, out));
  return out;
}

std::vector<std::byte> Bytes(const oracle::Picture& picture) {
  std::vector<std::byte> bytes(picture.pixels.size());
  std::memcpy(bytes.data(), picture.pixels.data(), bytes.size());
  return bytes;
}

// Random lists of ops, cropping before and after resampling. A flip comes before resampling only with a
// symmetric filter.
class RecipeMaker {
 public:
  explicit RecipeMaker(std::mt19937& generator) : generator_(generator) {}

  Recipe Make() {
    recipe_.layout = Layout::kNhwc;
    recipe_.channels = Below(3) == 0 ? Channels::kGray : Channels::kRgb;
    const auto filter = static_cast<Interpolation>(Below(6));
    const int kind = Below(3);  // nothing, RandomResizedCrop, Resize
    for (int32_t i = kind == 0 ? 0 : Below(3); i > 0; --i) AddAny(false);
    const bool symmetric = filter != Interpolation::kNearest && filter != Interpolation::kBox;
    if (kind != 0 && flips_before_ && !symmetric) recipe_.ops.clear();
    if (kind == 0 || recipe_.ops.empty()) flips_before_ = false;
    if (kind == 1) recipe_.ops.push_back(RandomResizedCrop{Size(), 0.08, 1.0, 0.75, 4.0 / 3, filter, Below(4) == 0});
    if (kind == 2) {
      const int32_t shorter = 1 + Below(40);
      const bool whole = Below(2) == 0;
      recipe_.ops.push_back(
          Resize{whole ? Size() : ImageSize{shorter, 0}, whole || Below(2) == 0 ? 0 : shorter + 1 + Below(40), filter});
    }
    for (int32_t i = Below(4); i > 0; --i) AddAny(true);
    if (recipe_.ops.empty() || Below(2) == 0) recipe_.ops.push_back(CenterCrop{Size()});
    // Where flips come before the filter it may round apart, and these steps make more of it.
    if (!flips_before_ && Below(2) == 0) recipe_.ops.push_back(Jitter());
    if (Below(4) == 0) recipe_.ops.push_back(RandomVerticalFlip{0.5});
    if (Below(4) == 0) AddGray();
    return recipe_;
  }
  bool flips_before() const { return flips_before_; }

 private:
  int32_t Below(int n) { return static_cast<int32_t>(generator_() % static_cast<uint32_t>(n)); }
  ImageSize Size() {
    const int32_t width = 1 + Below(40);
    return {width, 1 + Below(40)};
  }
  Padding Sides() {
    const int n = Below(3) == 0 ? 60 : 9;
    const int32_t left = Below(n), top = Below(n), right = Below(n);
    return {left, top, right, Below(n)};
  }
  std::array<uint8_t, 3> Fill() {
    if (Below(2) == 0) return {};
    const auto red = static_cast<uint8_t>(Below(256));
    return {red, static_cast<uint8_t>(Below(256)), 77};
  }
  ColorJitter Jitter() {
    ColorJitter jitter;
    for (auto* range : {&jitter.brightness, &jitter.contrast, &jitter.saturation}) {
      if (Below(2) == 0) *range = {0.5, 1.9};
    }
    if (Below(2) == 0) jitter.hue = {-0.5, 0.5};
    return jitter;
  }
  void AddGray() {
    if (Below(2) == 0) recipe_.ops.push_back(Grayscale{Below(2) == 0 ? 1 : 3});
    if (Below(2) == 0) recipe_.ops.push_back(RandomGrayscale{0.5});
  }
  void AddAny(bool resampled) {
    switch (Below(resampled ? 6 : 5)) {
      case 0:
        recipe_.ops.push_back(RandomHorizontalFlip{0.5});
        flips_before_ = flips_before_ || !resampled;
        break;
      case 1:
        recipe_.ops.push_back(RandomVerticalFlip{0.5});
        flips_before_ = flips_before_ || !resampled;
        break;
      case 2:
        recipe_.ops.push_back(CenterCrop{Size()});
        break;
      case 3:
        AddGray();
        break;
      case 4:
        if (resampled) {
          const auto mode = static_cast<PaddingMode>(Below(4));
          recipe_.ops.push_back(RandomCrop{Size(), Below(2) == 0 ? Sides() : Padding{}, Below(2) == 0, mode, Fill()});
        } else {
          recipe_.ops.push_back(RandomCrop{Size()});
        }
        break;
      default:
        recipe_.ops.push_back(Pad{Sides(), static_cast<PaddingMode>(Below(4)), Fill()});
    }
  }

  std::mt19937& generator_;
  Recipe recipe_;
  bool flips_before_ = false;
};

// The composition of every op into one plan, against one op after the other on the whole picture.
TEST(Augmenter, EqualsOneOpAfterTheOther) {
  std::mt19937 generator(1);
  int compared = 0, failed = 0;
  for (uint64_t i = 0; i < 4000; ++i) {
    RecipeMaker maker(generator);
    const Recipe ops = maker.Make();
    const ImageSize size{1 + static_cast<int32_t>(generator() % 60), 1 + static_cast<int32_t>(generator() % 60)};
    std::optional<CompiledRecipe> recipe;
    try {
      recipe.emplace(ops);
    } catch (const std::invalid_argument&) {
      continue;
    }
    SCOPED_TRACE(testing::Message() << Describe(ops) << " on " << size.width << "x" << size.height);
    const oracle::Picture picture =
        oracle::RandomPicture(size.width, size.height, static_cast<int32_t>(ops.channels), generator());
    Plan plan;
    const SampleKey key{7, 1, i};
    if (MakePlan(*recipe, size, key, plan) != PlanError::kNone) {
      ++failed;
      continue;
    }
    const std::optional<oracle::Picture> expected = oracle::Run(ops, picture, key);
    ASSERT_TRUE(expected);
    ASSERT_EQ(expected->width, recipe->spec().size.width);
    ASSERT_EQ(expected->channels, recipe->spec().channels);
    const std::vector<std::byte> out = RunOnRegion(*recipe, picture, plan);
    ++compared;
    if (!maker.flips_before()) {
      ASSERT_EQ(out, Bytes(*expected));
    } else {  // the filter meets the pixels in the other direction, and its double precision sums may round apart
      for (size_t b = 0; b < out.size(); ++b) {
        ASSERT_NEAR(static_cast<int>(out[b]), static_cast<int>(expected->pixels[b]), 1);
      }
    }
    ASSERT_EQ(out, RunOnWhole(*recipe, picture, plan)) << "region and whole picture differ";
  }
  EXPECT_GT(compared, 1500);
  EXPECT_GT(failed, 50);
}

TEST(Augmenter, EveryTargetWritesTheSameBytes) {
  for (const Interpolation filter : {Interpolation::kNearest, Interpolation::kBilinear, Interpolation::kBicubic}) {
    for (const ElementType element : {ElementType::kUint8, ElementType::kFloat16, ElementType::kFloat32}) {
      const CompiledRecipe recipe(TrainRecipe(61, element, filter));
      const oracle::Picture picture = oracle::RandomPicture(150, 190, 3, 5);
      for (uint64_t i = 0; i < 8; ++i) {
        Plan plan;
        ASSERT_EQ(MakePlan(recipe, {150, 190}, {1, 1, i}, plan), PlanError::kNone);
        std::vector<std::byte> first;
        ForEachTarget([&] {
          const std::vector<std::byte> out = RunOnRegion(recipe, picture, plan);
          if (first.empty()) first = out;
          EXPECT_EQ(out, first);
        });
      }
    }
  }
}

TEST(Augmenter, TrainAndEvalEqualTheOracleOnThinAndTinyPictures) {
  for (const ImageSize size : {ImageSize{1, 1}, {2, 1}, {1, 2}, {3, 3}, {700, 1}, {1, 700}, {400, 2}, {255, 257}}) {
    const oracle::Picture picture = oracle::RandomPicture(size.width, size.height, 3, 6);
    for (const bool train : {true, false}) {
      Recipe ops = train ? TrainRecipe(32, ElementType::kUint8) : EvalRecipe(32, ElementType::kUint8);
      ops.layout = Layout::kNhwc;
      const CompiledRecipe recipe(ops);
      for (uint64_t i = 0; i < 5; ++i) {
        Plan plan;
        ASSERT_EQ(MakePlan(recipe, size, {2, 0, i}, plan), PlanError::kNone);
        EXPECT_EQ(RunOnRegion(recipe, picture, plan), Bytes(*oracle::Run(ops, picture, {2, 0, i})))
            << size.width << "x" << size.height << (train ? " train" : " eval");
      }
    }
  }
}

TEST(Augmenter, PaddingIsBlackBeforeNormalization) {
  Recipe ops;
  ops.ops = {CenterCrop{{4, 4}}, Normalize{kImageNetMean, kImageNetStd}};
  ops.element = ElementType::kFloat32;
  const CompiledRecipe recipe(ops);
  oracle::Picture white(2, 2, 3);
  std::fill(white.pixels.begin(), white.pixels.end(), uint8_t{255});
  Plan plan;
  ASSERT_EQ(MakePlan(recipe, {2, 2}, {}, plan), PlanError::kNone);
  const std::vector<std::byte> out = RunOnRegion(recipe, white, plan);
  for (size_t c = 0; c < 3; ++c) {
    for (size_t i = 0; i < 16; ++i) {
      float value = 0;
      std::memcpy(&value, &out[(c * 16 + i) * 4], 4);
      const bool inside = i / 4 >= 1 && i / 4 <= 2 && i % 4 >= 1 && i % 4 <= 2;
      EXPECT_EQ(value, ((inside ? 1.0f : 0.0f) - kImageNetMean[c]) / kImageNetStd[c]);
    }
  }
}

}  // namespace
}  // namespace stoker

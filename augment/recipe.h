// The list of transforms as data: made by a caller (C++, the command, Python), checked and compiled once.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "augment/spec.h"

namespace stoker {

enum class Interpolation : uint8_t { kNearest, kBilinear, kBicubic };  // the last two antialiased, as Pillow's

// torchvision.transforms of the same names, with the same meaning and defaults. Sizes in pixels.
struct RandomResizedCrop {
  ImageSize size;
  double scale_low = 0.08, scale_high = 1.0;             // share of the picture's area
  double ratio_low = 3.0 / 4.0, ratio_high = 4.0 / 3.0;  // width / height
  Interpolation interpolation = Interpolation::kBilinear;
};
struct Resize {
  // height == 0: the shorter side becomes `width`, the longer keeps the ratio. Otherwise exactly width x height.
  ImageSize size;
  Interpolation interpolation = Interpolation::kBilinear;
};
struct CenterCrop {
  ImageSize size;  // larger than the picture: padded with zeros on both sides
};
struct RandomCrop {
  ImageSize size;
  int32_t padding = 0;  // zeros on all four sides before the crop; a picture that is still smaller is an error
};
struct RandomHorizontalFlip {
  double probability = 0.5;
};
struct RandomVerticalFlip {
  double probability = 0.5;
};
struct Normalize {
  std::array<float, 3> mean;
  std::array<float, 3> std;
};

using Op = std::variant<RandomResizedCrop, Resize, CenterCrop, RandomCrop, RandomHorizontalFlip, RandomVerticalFlip,
                        Normalize>;

struct Recipe {
  std::vector<Op> ops;
  ElementType element = ElementType::kUint8;
  Layout layout = Layout::kNchw;
  Channels channels = Channels::kRgb;
};

inline constexpr std::array<float, 3> kImageNetMean = {0.485f, 0.456f, 0.406f};
inline constexpr std::array<float, 3> kImageNetStd = {0.229f, 0.224f, 0.225f};

// torchvision's ImageNet recipes: RandomResizedCrop(size), RandomHorizontalFlip; Resize(size * 256 / 224),
// CenterCrop(size); each with Normalize(ImageNet) where the element type is a float.
Recipe TrainRecipe(int32_t size, ElementType element, Interpolation interpolation = Interpolation::kBilinear);
Recipe EvalRecipe(int32_t size, ElementType element, Interpolation interpolation = Interpolation::kBilinear);

// A recipe that was checked. Immutable, so safe from any thread.
// At most one op resamples (RandomResizedCrop or Resize); crops may come before and after it, padding only after it.
// A recipe whose output size depends on the picture needs `fixed_size`, what every picture must come out as.
class CompiledRecipe {
 public:
  // Throws std::invalid_argument naming the op, its value and what is allowed.
  explicit CompiledRecipe(Recipe recipe, std::optional<ImageSize> fixed_size = std::nullopt);

  const Recipe& recipe() const noexcept { return recipe_; }
  const SampleSpec& spec() const noexcept { return spec_; }
  // True where any op draws random numbers.
  bool random() const noexcept { return random_; }

 private:
  Recipe recipe_;
  SampleSpec spec_;
  bool random_ = false;
};

// "RandomResizedCrop(224x224, scale 0.08-1, ...) > RandomHorizontalFlip(0.5) > ..." for the report.
std::string Describe(const Recipe& recipe);

}  // namespace stoker

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

// Pillow's; all but nearest antialiased.
enum class Interpolation : uint8_t { kNearest, kBilinear, kBicubic, kBox, kHamming, kLanczos };

// numpy.pad's modes; reflect leaves the edge pixel single, symmetric doubles it. Both go on however wide the padding.
enum class PaddingMode : uint8_t { kConstant, kEdge, kReflect, kSymmetric };

// Pixels on each side, 0 to 65535.
struct Padding {
  int32_t left = 0, top = 0, right = 0, bottom = 0;
  friend bool operator==(const Padding&, const Padding&) = default;
};

// torchvision.transforms of the same names, with the same meaning and defaults. Sizes in pixels.
struct RandomResizedCrop {
  ImageSize size;
  double scale_low = 0.08, scale_high = 1.0;             // share of the picture's area
  double ratio_low = 3.0 / 4.0, ratio_high = 4.0 / 3.0;  // width / height
  Interpolation interpolation = Interpolation::kBilinear;
  // timm's "random": bilinear or bicubic with equal odds; `interpolation` is not used.
  bool random_interpolation = false;
};
struct Resize {
  // height == 0: the shorter side becomes `width`, the longer keeps the ratio. Otherwise exactly width x height.
  ImageSize size;
  int32_t max_size = 0;  // with height == 0 only: a longer side than this becomes this, the shorter follows; 0: none
  Interpolation interpolation = Interpolation::kBilinear;
};
struct CenterCrop {
  ImageSize size;  // larger than the picture: padded with zeros on both sides
};
struct Pad {
  Padding padding = {};
  PaddingMode mode = PaddingMode::kConstant;
  std::array<uint8_t, 3> fill = {0, 0, 0};  // kConstant: R, G, B, or the first where the picture has one channel
};
struct RandomCrop {
  ImageSize size;
  Padding padding = {};        // before the crop
  bool pad_if_needed = false;  // a side that is still too small grows by what is missing on both ends; else: an error
  PaddingMode mode = PaddingMode::kConstant;
  std::array<uint8_t, 3> fill = {0, 0, 0};
};
struct RandomHorizontalFlip {
  double probability = 0.5;
};
struct RandomVerticalFlip {
  double probability = 0.5;
};
// Gray is Pillow's: (19595 R + 38470 G + 7471 B + 32768) / 65536.
struct Grayscale {
  int32_t channels = 1;  // that the picture has from here on: 1, or 3 equal ones
};
struct RandomGrayscale {
  double probability = 0.1;  // of equal channels, as many as before
};
// Ranges [low, high] of factors, each drawn uniformly; a range that is missing leaves its property alone. The order of
// the four is drawn as well. Pixels are those of Pillow's ImageEnhance and torchvision's adjust_hue on its images.
struct ColorJitter {
  std::optional<std::array<double, 2>> brightness = {}, contrast = {}, saturation = {};  // from 0; 1 changes nothing
  std::optional<std::array<double, 2>> hue = {};                                         // in turns, -0.5 to 0.5
};
struct Normalize {
  std::array<float, 3> mean;
  std::array<float, 3> std;
};

using Op = std::variant<RandomResizedCrop, Resize, CenterCrop, Pad, RandomCrop, RandomHorizontalFlip,
                        RandomVerticalFlip, Grayscale, RandomGrayscale, ColorJitter, Normalize>;

struct Recipe {
  std::vector<Op> ops;
  ElementType element = ElementType::kUint8;
  Layout layout = Layout::kNchw;
  Channels channels = Channels::kRgb;  // that the picture is decoded to, before the first op
};

inline constexpr std::array<float, 3> kImageNetMean = {0.485f, 0.456f, 0.406f};
inline constexpr std::array<float, 3> kImageNetStd = {0.229f, 0.224f, 0.225f};

// torchvision's ImageNet recipes: RandomResizedCrop(size), RandomHorizontalFlip; Resize(size * 256 / 224),
// CenterCrop(size); each with Normalize(ImageNet) where the element type is a float.
Recipe TrainRecipe(int32_t size, ElementType element, Interpolation interpolation = Interpolation::kBilinear);
Recipe EvalRecipe(int32_t size, ElementType element, Interpolation interpolation = Interpolation::kBilinear);

// A recipe that was checked. Immutable, so safe from any thread.
// At most one op resamples (RandomResizedCrop or Resize); crops may come before and after it, padding only after it.
// At most one op pads with anything but zeros, and no op pads before that one. ColorJitter comes at most once and
// behind every crop, padding and resampling: contrast is relative to the mean of what the sample shows. A recipe whose
// output size depends on the picture needs `fixed_size`, what every picture must come out as.
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

#include "augment/recipe.h"

#include <cmath>
#include <span>
#include <sstream>
#include <stdexcept>
#include <utility>

namespace stoker {

namespace {

constexpr int32_t kMaxSide = 65535;  // JPEG's own limit; also keeps every sum of offsets inside 32 bits
constexpr size_t kMaxOps = 64;       // the same
constexpr int32_t kMaxScale = 1000;  // RandomResizedCrop: far beyond what any picture can satisfy

template <class... Visitors>
struct Overloaded : Visitors... {
  using Visitors::operator()...;
};
template <class... Visitors>
Overloaded(Visitors...) -> Overloaded<Visitors...>;

std::string_view InterpolationName(Interpolation interpolation) {
  switch (interpolation) {
    case Interpolation::kNearest:
      return "nearest";
    case Interpolation::kBilinear:
      return "bilinear";
    case Interpolation::kBicubic:
      break;
  }
  return "bicubic";
}

std::string Text(ImageSize size) { return std::to_string(size.width) + "x" + std::to_string(size.height); }

std::string Text(std::span<const float> values) {
  std::ostringstream text;
  for (size_t i = 0; i < values.size(); ++i) text << (i == 0 ? "(" : ", ") << values[i];
  text << ")";
  return text.str();
}

std::string DescribeOp(const Op& op) {
  std::ostringstream text;
  std::visit(
      Overloaded{
          [&](const RandomResizedCrop& o) {
            text << "RandomResizedCrop(" << Text(o.size) << ", scale " << o.scale_low << "-" << o.scale_high
                 << ", ratio " << o.ratio_low << "-" << o.ratio_high << ", " << InterpolationName(o.interpolation)
                 << ")";
          },
          [&](const Resize& o) {
            text << "Resize(" << (o.size.height == 0 ? std::to_string(o.size.width) : Text(o.size)) << ", "
                 << InterpolationName(o.interpolation) << ")";
          },
          [&](const CenterCrop& o) { text << "CenterCrop(" << Text(o.size) << ")"; },
          [&](const RandomCrop& o) {
            text << "RandomCrop(" << Text(o.size);
            if (o.padding != 0) text << ", padding " << o.padding;
            text << ")";
          },
          [&](const RandomHorizontalFlip& o) { text << "RandomHorizontalFlip(" << o.probability << ")"; },
          [&](const RandomVerticalFlip& o) { text << "RandomVerticalFlip(" << o.probability << ")"; },
          [&](const Normalize& o) { text << "Normalize(mean " << Text(o.mean) << ", std " << Text(o.std) << ")"; },
      },
      op);
  return text.str();
}

// Walks the ops in order and keeps what is known about the picture between them.
class Checker {
 public:
  Checker(const Recipe& recipe, SampleSpec& spec, bool& random) : recipe_(recipe), spec_(spec), random_(random) {}

  void Check(std::optional<ImageSize> fixed_size);

 private:
  [[noreturn]] void Fail(const std::string& allowed) const {
    throw std::invalid_argument("recipe: op " + std::to_string(index_ + 1) + ", " + DescribeOp(recipe_.ops[index_]) +
                                ": " + allowed);
  }
  void Require(bool holds, const char* allowed) const {
    if (!holds) Fail(allowed);
  }

  void RequireSize(ImageSize size) const {
    Require(size.width >= 1 && size.width <= kMaxSide && size.height >= 1 && size.height <= kMaxSide,
            "width and height must be 1 to 65535");
  }
  // Resampling takes the picture's place: what was padded before would be resampled with it.
  void StartResampling() {
    for (size_t i = 0; i < index_; ++i) {
      const Op& earlier = recipe_.ops[i];
      Require(!std::holds_alternative<RandomResizedCrop>(earlier) && !std::holds_alternative<Resize>(earlier),
              "at most one op of a recipe may resample (RandomResizedCrop or Resize)");
      const auto* crop = std::get_if<RandomCrop>(&earlier);
      Require(crop == nullptr || crop->padding == 0, "padding is allowed only after the op that resamples");
      const auto* center = std::get_if<CenterCrop>(&earlier);
      Require(center == nullptr || !center_pads_,
              "padding (a CenterCrop larger than its input) is allowed only after "
              "the op that resamples");
    }
  }
  void RequireProbability(double probability) {
    Require(probability >= 0 && probability <= 1, "the probability must be 0 to 1");
    random_ = random_ || probability > 0;
  }
  void RequireInterpolation(Interpolation interpolation) const {
    Require(interpolation <= Interpolation::kBicubic, "the interpolation must be nearest, bilinear or bicubic");
  }

  void Visit(const RandomResizedCrop& op);
  void Visit(const Resize& op);
  void Visit(const CenterCrop& op);
  void Visit(const RandomCrop& op);
  void Visit(const RandomHorizontalFlip& op) { RequireProbability(op.probability); }
  void Visit(const RandomVerticalFlip& op) { RequireProbability(op.probability); }
  void Visit(const Normalize& op);

  const Recipe& recipe_;
  SampleSpec& spec_;
  bool& random_;
  size_t index_ = 0;               // of the op that is checked
  std::optional<ImageSize> size_;  // of the picture after the ops so far, where it does not depend on the input
  bool center_pads_ = false;       // a CenterCrop was larger than a known size
  bool normalized_ = false;
};

void Checker::Visit(const RandomResizedCrop& op) {
  RequireSize(op.size);
  RequireInterpolation(op.interpolation);
  Require(op.scale_low > 0 && op.scale_low <= op.scale_high && op.scale_high <= kMaxScale,
          "the scale range must be 0 < low <= high <= 1000");
  Require(op.ratio_low >= 1.0 / kMaxSide && op.ratio_low <= op.ratio_high && op.ratio_high <= kMaxSide,
          "the ratio range must be 1/65535 <= low <= high <= 65535");
  StartResampling();
  size_ = op.size;
  random_ = true;
}

void Checker::Visit(const Resize& op) {
  RequireInterpolation(op.interpolation);
  StartResampling();
  if (op.size.height != 0) {
    RequireSize(op.size);
    size_ = op.size;
    return;
  }
  Require(op.size.width >= 1 && op.size.width <= kMaxSide, "the shorter side must be 1 to 65535");
  // A square stays one; for the rest the size after this op is left open, even where it could be known.
  if (size_ && size_->width == size_->height) {
    size_ = ImageSize{op.size.width, op.size.width};
  } else {
    size_.reset();
  }
}

void Checker::Visit(const CenterCrop& op) {
  RequireSize(op.size);
  center_pads_ = center_pads_ || (size_ && (op.size.width > size_->width || op.size.height > size_->height));
  size_ = op.size;
}

void Checker::Visit(const RandomCrop& op) {
  RequireSize(op.size);
  Require(op.padding >= 0 && op.padding <= kMaxSide, "the padding must be 0 to 65535");
  if (size_) {
    const bool fits =
        op.size.width <= size_->width + 2 * op.padding && op.size.height <= size_->height + 2 * op.padding;
    if (!fits) Fail("the size must fit into the picture before it, " + Text(*size_) + " and its padding");
    random_ =
        random_ || op.size.width != size_->width + 2 * op.padding || op.size.height != size_->height + 2 * op.padding;
  } else {
    random_ = true;
  }
  size_ = op.size;
}

void Checker::Visit(const Normalize& op) {
  Require(!normalized_, "a recipe may normalise once");
  Require(index_ + 1 == recipe_.ops.size(), "Normalize must be the last op");
  Require(recipe_.element != ElementType::kUint8, "the element type must be float16, bfloat16 or float32, not uint8");
  for (size_t c = 0; c < 3; ++c) {
    Require(std::isfinite(op.mean[c]), "every mean must be finite");
    Require(std::isfinite(op.std[c]) && op.std[c] != 0, "every std must be finite and not 0");
  }
  spec_.mean = op.mean;
  spec_.std = op.std;
  normalized_ = true;
}

void Checker::Check(std::optional<ImageSize> fixed_size) {
  if (recipe_.element > ElementType::kFloat32 || recipe_.layout > Layout::kNhwc ||
      (recipe_.channels != Channels::kGray && recipe_.channels != Channels::kRgb)) {
    throw std::invalid_argument("recipe: element, layout and channels must be named values of their types");
  }
  if (recipe_.ops.size() > kMaxOps) {
    throw std::invalid_argument("recipe: " + std::to_string(recipe_.ops.size()) + " ops; at most 64 are allowed");
  }
  for (const Op& op : recipe_.ops) {
    std::visit([this](const auto& o) { Visit(o); }, op);
    ++index_;
  }
  if (fixed_size && (fixed_size->width < 1 || fixed_size->width > kMaxSide || fixed_size->height < 1 ||
                     fixed_size->height > kMaxSide)) {
    throw std::invalid_argument("recipe: fixed_size " + Text(*fixed_size) + "; each side must be 1 to 65535");
  }
  if (!size_ && !fixed_size) {
    throw std::invalid_argument("recipe: the size that " + (recipe_.ops.empty() ? "no op" : Describe(recipe_)) +
                                " gives depends on the picture: end with a crop, resize to width x height, or give "
                                "fixed_size where all pictures have one size");
  }
  if (size_ && fixed_size && *size_ != *fixed_size) {
    throw std::invalid_argument("recipe: fixed_size " + Text(*fixed_size) + ", but the ops give " + Text(*size_) +
                                "; they must agree");
  }
  spec_.size = size_ ? *size_ : *fixed_size;
  spec_.channels = static_cast<int32_t>(recipe_.channels);
  spec_.element = recipe_.element;
  spec_.layout = recipe_.layout;
}

Recipe Normalized(Recipe recipe) {
  if (recipe.element != ElementType::kUint8) recipe.ops.push_back(Normalize{kImageNetMean, kImageNetStd});
  return recipe;
}

}  // namespace

Recipe TrainRecipe(int32_t size, ElementType element, Interpolation interpolation) {
  Recipe recipe;
  RandomResizedCrop crop;
  crop.size = {size, size};
  crop.interpolation = interpolation;
  recipe.ops = {crop, RandomHorizontalFlip{}};
  recipe.element = element;
  return Normalized(std::move(recipe));
}

Recipe EvalRecipe(int32_t size, ElementType element, Interpolation interpolation) {
  Recipe recipe;
  const auto shorter = static_cast<int32_t>(std::lround(size * (256.0 / 224.0)));
  recipe.ops = {Resize{{shorter, 0}, interpolation}, CenterCrop{{size, size}}};
  recipe.element = element;
  return Normalized(std::move(recipe));
}

CompiledRecipe::CompiledRecipe(Recipe recipe, std::optional<ImageSize> fixed_size) : recipe_(std::move(recipe)) {
  Checker(recipe_, spec_, random_).Check(fixed_size);
}

std::string Describe(const Recipe& recipe) {
  std::string text;
  for (const Op& op : recipe.ops) {
    if (!text.empty()) text += " > ";
    text += DescribeOp(op);
  }
  return text;
}

}  // namespace stoker

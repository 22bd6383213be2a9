#include "augment/recipe_checker.h"

#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>

namespace stoker {

namespace {

constexpr int32_t kMaxSide = 65535;  // JPEG's own limit; also keeps every sum of offsets inside 32 bits
constexpr size_t kMaxOps = 64;       // the same
constexpr int32_t kMaxScale = 1000;  // RandomResizedCrop: far beyond what any picture can satisfy

std::string Text(ImageSize size) { return std::to_string(size.width) + "x" + std::to_string(size.height); }

bool IsSide(int32_t side) { return side >= 1 && side <= kMaxSide; }

ImageSize Padded(ImageSize size, const Padding& padding) {
  return {size.width + padding.left + padding.right, size.height + padding.top + padding.bottom};
}

// torchvision's pad_if_needed: what is missing is added twice, once on each end.
int32_t PaddedIfNeeded(int32_t side, int32_t wanted) { return side < wanted ? side + 2 * (wanted - side) : side; }

// Walks the ops in order and keeps what is known about the picture between them.
class Checker {
 public:
  explicit Checker(const Recipe& recipe) : recipe_(recipe) {}

  CheckedRecipe Check(std::optional<ImageSize> fixed_size);

 private:
  [[noreturn]] void Fail(const std::string& allowed) const {
    throw std::invalid_argument("recipe: op " + std::to_string(index_ + 1) + ", " +
                                Describe({.ops = {recipe_.ops[index_]}}) + ": " + allowed);
  }
  void Require(bool holds, const char* allowed) const {
    if (!holds) Fail(allowed);
  }

  void RequireSize(ImageSize size) const {
    Require(IsSide(size.width) && IsSide(size.height), "width and height must be 1 to 65535");
  }
  void RequireProbability(double probability) {
    Require(probability >= 0 && probability <= 1, "the probability must be 0 to 1");
    random_ = random_ || probability > 0;
  }
  void RequireInterpolation(Interpolation interpolation) const {
    Require(interpolation <= Interpolation::kLanczos,
            "the interpolation must be nearest, bilinear, bicubic, box, hamming or lanczos");
  }
  // Contrast is relative to the mean of what the sample shows.
  void RequireNoJitterBefore() const {
    Require(!jittered_, "crops, padding and resampling must come before ColorJitter; move it behind this op");
  }
  void StartResampling();
  void StartPadding(const Padding& padding, bool if_needed, PaddingMode mode, const std::array<uint8_t, 3>& fill);

  void Visit(const RandomResizedCrop& op);
  void Visit(const Resize& op);
  void Visit(const CenterCrop& op);
  void Visit(const Pad& op);
  void Visit(const RandomCrop& op);
  void Visit(const RandomHorizontalFlip& op) { RequireProbability(op.probability); }
  void Visit(const RandomVerticalFlip& op) { RequireProbability(op.probability); }
  void Visit(const Grayscale& op);
  void Visit(const RandomGrayscale& op) { RequireProbability(op.probability); }
  void Visit(const ColorJitter& op);
  void Visit(const Normalize& op);

  const Recipe& recipe_;
  SampleSpec spec_;
  bool random_ = false;
  size_t index_ = 0;               // of the op that is checked
  std::optional<ImageSize> size_;  // of the picture after the ops so far, where it does not depend on the input
  bool resampled_ = false;
  bool pads_ = false;         // an op may have padded
  bool center_pads_ = false;  // it was a CenterCrop larger than a known size
  bool jittered_ = false;
  bool normalized_ = false;
};

// Resampling takes the picture's place: what was padded before would be resampled with it.
void Checker::StartResampling() {
  RequireNoJitterBefore();
  Require(!resampled_, "at most one op of a recipe may resample (RandomResizedCrop or Resize)");
  Require(!center_pads_, "padding (a CenterCrop larger than its input) is allowed only after the op that resamples");
  Require(!pads_, "padding is allowed only after the op that resamples");
  resampled_ = true;
}

void Checker::StartPadding(const Padding& padding, bool if_needed, PaddingMode mode,
                           const std::array<uint8_t, 3>& fill) {
  for (const int32_t side : {padding.left, padding.top, padding.right, padding.bottom}) {
    Require(side >= 0 && side <= kMaxSide, "the padding must be 0 to 65535 on every side");
  }
  Require(mode <= PaddingMode::kSymmetric, "the padding's mode must be constant, edge, reflect or symmetric");
  if (padding == Padding{} && !if_needed) return;
  const bool zeros = mode == PaddingMode::kConstant && fill == std::array<uint8_t, 3>{};
  Require(zeros || (!pads_ && !center_pads_),
          "padding with anything but zeros is allowed only where no op before it pads; pad once, or with zeros");
  pads_ = true;
}

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
    Require(op.max_size == 0, "max_size is allowed only where the size is that of the shorter side");
    size_ = op.size;
    return;
  }
  Require(IsSide(op.size.width), "the shorter side must be 1 to 65535");
  Require(op.max_size == 0 || (op.max_size > op.size.width && op.max_size <= kMaxSide),
          "max_size must be larger than the shorter side, and at most 65535");
  // A square stays one; for the rest the size after this op is left open, even where it could be known.
  if (size_ && size_->width == size_->height) {
    size_ = ImageSize{op.size.width, op.size.width};
  } else {
    size_.reset();
  }
}

void Checker::Visit(const CenterCrop& op) {
  RequireNoJitterBefore();
  RequireSize(op.size);
  center_pads_ = center_pads_ || (size_ && (op.size.width > size_->width || op.size.height > size_->height));
  size_ = op.size;
}

void Checker::Visit(const Pad& op) {
  RequireNoJitterBefore();
  StartPadding(op.padding, false, op.mode, op.fill);
  if (!size_) return;
  size_ = Padded(*size_, op.padding);
  if (!IsSide(size_->width) || !IsSide(size_->height)) {
    Fail("the padded picture would be " + Text(*size_) + "; width and height must be 1 to 65535");
  }
}

void Checker::Visit(const RandomCrop& op) {
  RequireNoJitterBefore();
  RequireSize(op.size);
  StartPadding(op.padding, op.pad_if_needed, op.mode, op.fill);
  bool one_place = false;
  if (size_) {
    ImageSize padded = Padded(*size_, op.padding);
    if (op.pad_if_needed) {
      padded = {PaddedIfNeeded(padded.width, op.size.width), PaddedIfNeeded(padded.height, op.size.height)};
    }
    if (op.size.width > padded.width || op.size.height > padded.height) {
      Fail("the size must fit into the picture before it, " + Text(*size_) + " and its padding");
    }
    one_place = op.size == padded;
  }
  random_ = random_ || !one_place;
  size_ = op.size;
}

void Checker::Visit(const Grayscale& op) {
  Require(op.channels == 1 || op.channels == 3, "the channels must be 1 or 3");
  spec_.channels = op.channels;
}

void Checker::Visit(const ColorJitter& op) {
  Require(!jittered_, "a recipe may have one ColorJitter");
  for (const auto& range : {op.brightness, op.contrast, op.saturation}) {
    // Factors are used in single precision, as in Pillow: one that is infinite there times a difference of 0 is NaN.
    Require(
        !range || ((*range)[0] >= 0 && (*range)[0] <= (*range)[1] && (*range)[1] <= std::numeric_limits<float>::max()),
        "the ranges of brightness, contrast and saturation must be 0 <= low <= high, and finite as float32");
    random_ = random_ || range;
  }
  Require(!op.hue || ((*op.hue)[0] >= -0.5 && (*op.hue)[0] <= (*op.hue)[1] && (*op.hue)[1] <= 0.5),
          "the range of hue must be -0.5 <= low <= high <= 0.5");
  random_ = random_ || op.hue;
  jittered_ = true;
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

CheckedRecipe Checker::Check(std::optional<ImageSize> fixed_size) {
  if (recipe_.element > ElementType::kFloat32 || recipe_.layout > Layout::kNhwc ||
      (recipe_.channels != Channels::kGray && recipe_.channels != Channels::kRgb)) {
    throw std::invalid_argument("recipe: element, layout and channels must be named values of their types");
  }
  if (recipe_.ops.size() > kMaxOps) {
    throw std::invalid_argument("recipe: " + std::to_string(recipe_.ops.size()) + " ops; at most 64 are allowed");
  }
  spec_.channels = static_cast<int32_t>(recipe_.channels);
  for (const Op& op : recipe_.ops) {
    std::visit([this](const auto& o) { Visit(o); }, op);
    ++index_;
  }
  if (fixed_size && (!IsSide(fixed_size->width) || !IsSide(fixed_size->height))) {
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
  spec_.element = recipe_.element;
  spec_.layout = recipe_.layout;
  return {spec_, random_};
}

}  // namespace

CheckedRecipe CheckRecipe(const Recipe& recipe, std::optional<ImageSize> fixed_size) {
  return Checker(recipe).Check(fixed_size);
}

}  // namespace stoker

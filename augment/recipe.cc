#include "augment/recipe.h"

#include <array>
#include <cmath>
#include <optional>
#include <sstream>
#include <string_view>
#include <utility>

#include "augment/recipe_checker.h"

namespace stoker {

namespace {

std::string_view Name(Interpolation interpolation) {
  switch (interpolation) {
    case Interpolation::kNearest:
      return "nearest";
    case Interpolation::kBilinear:
      return "bilinear";
    case Interpolation::kBicubic:
      return "bicubic";
    case Interpolation::kBox:
      return "box";
    case Interpolation::kHamming:
      return "hamming";
    case Interpolation::kLanczos:
      return "lanczos";
  }
  return "no interpolation";
}

std::string_view Name(PaddingMode mode) {
  switch (mode) {
    case PaddingMode::kConstant:
      return "constant";
    case PaddingMode::kEdge:
      return "edge";
    case PaddingMode::kReflect:
      return "reflect";
    case PaddingMode::kSymmetric:
      return "symmetric";
  }
  return "no mode";
}

std::ostream& operator<<(std::ostream& text, ImageSize size) { return text << size.width << "x" << size.height; }

template <class T, size_t kCount>
std::ostream& operator<<(std::ostream& text, const std::array<T, kCount>& values) {
  for (size_t i = 0; i < kCount; ++i) text << (i == 0 ? "(" : ", ") << +values[i];
  return text << ")";
}

// "padding 1,2,3,4, reflect", in the order of Padding; one number where all are the same.
void WritePadding(std::ostream& text, const Padding& padding, PaddingMode mode, const std::array<uint8_t, 3>& fill) {
  text << "padding " << padding.left;
  if (padding != Padding{padding.left, padding.left, padding.left, padding.left}) {
    text << "," << padding.top << "," << padding.right << "," << padding.bottom;
  }
  if (mode != PaddingMode::kConstant) text << ", " << Name(mode);
  if (mode == PaddingMode::kConstant && fill != std::array<uint8_t, 3>{}) text << ", fill " << fill;
}

void Write(std::ostream& text, const RandomResizedCrop& op) {
  text << "RandomResizedCrop(" << op.size << ", scale " << op.scale_low << "-" << op.scale_high << ", ratio "
       << op.ratio_low << "-" << op.ratio_high << ", "
       << (op.random_interpolation ? "bilinear or bicubic" : Name(op.interpolation)) << ")";
}

void Write(std::ostream& text, const Resize& op) {
  text << "Resize(" << op.size.width;
  if (op.size.height != 0) text << "x" << op.size.height;
  if (op.max_size != 0) text << ", at most " << op.max_size;
  text << ", " << Name(op.interpolation) << ")";
}

void Write(std::ostream& text, const CenterCrop& op) { text << "CenterCrop(" << op.size << ")"; }

void Write(std::ostream& text, const Pad& op) {
  text << "Pad(";
  WritePadding(text, op.padding, op.mode, op.fill);
  text << ")";
}

void Write(std::ostream& text, const RandomCrop& op) {
  text << "RandomCrop(" << op.size;
  if (op.padding != Padding{} || op.pad_if_needed) {
    text << ", ";
    WritePadding(text, op.padding, op.mode, op.fill);
  }
  text << (op.pad_if_needed ? ", padded if needed)" : ")");
}

void Write(std::ostream& text, const RandomHorizontalFlip& op) {
  text << "RandomHorizontalFlip(" << op.probability << ")";
}

void Write(std::ostream& text, const RandomVerticalFlip& op) { text << "RandomVerticalFlip(" << op.probability << ")"; }

void Write(std::ostream& text, const Grayscale& op) { text << "Grayscale(" << op.channels << ")"; }

void Write(std::ostream& text, const RandomGrayscale& op) { text << "RandomGrayscale(" << op.probability << ")"; }

void Write(std::ostream& text, const ColorJitter& op) {
  const char* separator = "ColorJitter(";
  const auto range = [&](const char* name, const std::optional<std::array<double, 2>>& bounds) {
    if (!bounds) return;
    text << std::exchange(separator, ", ") << name << " " << (*bounds)[0] << " to " << (*bounds)[1];
  };
  range("brightness", op.brightness);
  range("contrast", op.contrast);
  range("saturation", op.saturation);
  range("hue", op.hue);
  text << (op.brightness || op.contrast || op.saturation || op.hue ? ")" : "ColorJitter()");
}

void Write(std::ostream& text, const Normalize& op) {
  text << "Normalize(mean " << op.mean << ", std " << op.std << ")";
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
  recipe.ops = {Resize{{shorter, 0}, 0, interpolation}, CenterCrop{{size, size}}};
  recipe.element = element;
  return Normalized(std::move(recipe));
}

CompiledRecipe::CompiledRecipe(Recipe recipe, std::optional<ImageSize> fixed_size) : recipe_(std::move(recipe)) {
  const CheckedRecipe checked = CheckRecipe(recipe_, fixed_size);
  spec_ = checked.spec;
  random_ = checked.random;
}

std::string Describe(const Recipe& recipe) {
  std::ostringstream text;
  const char* separator = "";
  for (const Op& op : recipe.ops) {
    text << std::exchange(separator, " > ");
    std::visit([&](const auto& o) { Write(text, o); }, op);
  }
  return text.str();
}

}  // namespace stoker

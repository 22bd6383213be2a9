// Bytes -> a recipe and a picture's size -> compiled, planned, run. Whatever is accepted must keep what plan.h says.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "augment/augment.h"
#include "augment/plan.h"
#include "augment/recipe.h"
#include "decode/image.h"

namespace stoker {
namespace {

// Takes values off the front of the input; zeros when it is used up.
class Input {
 public:
  Input(const uint8_t* bytes, size_t size) : bytes_(bytes), size_(size) {}

  bool empty() const { return size_ == 0; }
  uint8_t Byte() { return Take<uint8_t>(); }
  // Mostly small sides, sometimes any.
  int32_t Side() {
    const uint8_t kind = Byte();
    if (kind < 200) return kind % 80;
    return kind < 240 ? Take<uint16_t>() : Take<int32_t>();
  }
  ImageSize Size() {
    const int32_t width = Side();
    return {width, Side()};
  }
  // Mostly useful fractions, sometimes any bits.
  double Real() {
    const uint8_t kind = Byte();
    return kind < 200 ? kind / 100.0 : kind < 230 ? Take<float>() : Take<double>();
  }

 private:
  template <class T>
  T Take() {
    T value{};
    const size_t taken = std::min(size_, sizeof(T));
    if (taken > 0) std::memcpy(&value, bytes_, taken);
    bytes_ += taken;
    size_ -= taken;
    return value;
  }

  const uint8_t* bytes_;
  size_t size_;
};

Interpolation TakeInterpolation(Input& input) { return static_cast<Interpolation>(input.Byte() % 7); }

PaddingMode TakeMode(Input& input) { return static_cast<PaddingMode>(input.Byte() % 5); }

Padding TakePadding(Input& input) {
  Padding padding;
  for (int32_t* side : {&padding.left, &padding.top, &padding.right, &padding.bottom}) *side = input.Side();
  return padding;
}

std::array<uint8_t, 3> TakeFill(Input& input) {
  std::array<uint8_t, 3> fill{};
  if (input.Byte() % 2 == 0) {
    for (uint8_t& value : fill) value = input.Byte();
  }
  return fill;
}

ColorJitter TakeColorJitter(Input& input) {
  ColorJitter op;
  const uint8_t present = input.Byte();
  int bit = 0;
  for (auto* range : {&op.brightness, &op.contrast, &op.saturation, &op.hue}) {
    if ((present >> bit++ & 1) == 0) continue;
    const double low = input.Real() - (range == &op.hue ? 0.5 : 0);
    *range = {low, low + input.Real() / 2};
  }
  return op;
}

Op TakeOp(Input& input) {
  switch (input.Byte() % 11) {
    case 0: {
      RandomResizedCrop op;
      op.size = input.Size();
      op.scale_low = input.Real();
      op.scale_high = input.Real();
      op.ratio_low = input.Real();
      op.ratio_high = input.Real();
      op.interpolation = TakeInterpolation(input);
      op.random_interpolation = input.Byte() % 4 == 0;
      return op;
    }
    case 1: {
      Resize op;
      op.size = input.Size();
      if (input.Byte() % 2 == 0) op.max_size = input.Side();
      op.interpolation = TakeInterpolation(input);
      return op;
    }
    case 2:
      return CenterCrop{input.Size()};
    case 3: {
      RandomCrop op;
      op.size = input.Size();
      op.padding = TakePadding(input);
      op.pad_if_needed = input.Byte() % 2 == 0;
      op.mode = TakeMode(input);
      op.fill = TakeFill(input);
      return op;
    }
    case 4:
      return RandomHorizontalFlip{input.Real()};
    case 5:
      return RandomVerticalFlip{input.Real()};
    case 6: {
      Pad op;
      op.padding = TakePadding(input);
      op.mode = TakeMode(input);
      op.fill = TakeFill(input);
      return op;
    }
    case 7:
      return Grayscale{input.Byte() % 4};
    case 8:
      return RandomGrayscale{input.Real()};
    case 9:
      return TakeColorJitter(input);
    default: {
      Normalize op{};
      for (float& mean : op.mean) mean = static_cast<float>(input.Real());
      for (float& std : op.std) std = static_cast<float>(input.Real());
      return op;
    }
  }
}

void Require(bool holds) {
  if (!holds) std::abort();
}

bool Inside(const Rect& inner, const Rect& outer) {
  return inner.x >= outer.x && inner.y >= outer.y && int64_t{inner.x} + inner.width <= int64_t{outer.x} + outer.width &&
         int64_t{inner.y} + inner.height <= int64_t{outer.y} + outer.height;
}

void CheckPlan(const CompiledRecipe& recipe, ImageSize picture, const Plan& plan) {
  const Rect whole{0, 0, picture.width, picture.height};
  Require(plan.crop.width >= 1 && plan.crop.height >= 1 && Inside(plan.crop, whole));
  Require(plan.resized.width >= 1 && plan.resized.height >= 1);
  Require(ImageSize{plan.window.width, plan.window.height} == recipe.spec().size);
  Require(plan.region.width >= 1 && plan.region.height >= 1 && Inside(plan.region, plan.crop));
  Require(plan.region_at_least.width >= 1 && plan.region_at_least.width <= plan.region.width);
  Require(plan.region_at_least.height >= 1 && plan.region_at_least.height <= plan.region.height);
  if (plan.content != Rect{}) {
    Require(plan.content.width >= 1 && plan.content.height >= 1);
    Require(plan.content.width <= plan.window.width && plan.content.height <= plan.window.height);
    Require(plan.padding_mode != PaddingMode::kConstant || Inside(plan.content, plan.window));
    Require(Inside(plan.content, {0, 0, plan.resized.width, plan.resized.height}));
  }
  if (plan.padded != Rect{}) Require(Inside(plan.padded, plan.window));
  Require(plan.color_count >= 0 && plan.color_count <= 4);
}

void RunPlan(const CompiledRecipe& recipe, const Plan& plan, uint8_t fill) {
  constexpr int64_t kMostPixels = 1 << 17;  // of input or output: keeps one run short
  const SampleSpec& spec = recipe.spec();
  const Rect& region = plan.region;
  if (int64_t{region.width} * region.height > kMostPixels) return;
  if (int64_t{spec.size.width} * spec.size.height > kMostPixels) return;
  if (plan.interpolation == Interpolation::kNearest && std::max(plan.resized.width, plan.resized.height) > 1 << 20) {
    return;  // steps through every position before the window
  }
  Image image;
  const auto channels = static_cast<int32_t>(recipe.recipe().channels);
  if (!image.Reset({region.width, region.height}, channels)) return;
  for (int32_t y = 0; y < region.height; ++y) {
    std::memset(image.row(y), fill, static_cast<size_t>(region.width) * static_cast<size_t>(channels));
  }
  Augmenter augmenter(spec);
  std::vector<std::byte> out(spec.bytes());
  const SourceBox box{0, 0, static_cast<double>(region.width), static_cast<double>(region.height)};
  Require(augmenter.Run(image.view(), box, plan, out));
  if (spec.element != ElementType::kUint8 || plan.color_count > 0) return;
  // A picture of one value stays one, whatever filters it; padding is 0 or of its own colour.
  const bool padded = plan.content != plan.window;
  const auto& colors = plan.fill;
  for (const std::byte value : out) {
    const auto byte = static_cast<uint8_t>(value);
    const bool of_padding = byte == 0 || std::find(colors.begin(), colors.end(), byte) != colors.end();
    Require(byte == fill || (padded && of_padding));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Input input(data, size);
  ImageSize picture = input.Size();
  picture.width = std::max(picture.width, 1);
  picture.height = std::max(picture.height, 1);
  const uint8_t fill = input.Byte();
  Recipe ops;
  ops.element = static_cast<ElementType>(input.Byte() % 5);
  ops.layout = static_cast<Layout>(input.Byte() % 3);
  ops.channels = input.Byte() % 2 == 0 ? Channels::kRgb : Channels::kGray;
  std::optional<ImageSize> fixed_size;
  if (input.Byte() % 4 == 0) fixed_size = input.Size();
  const SampleKey key{input.Byte(), input.Byte(), input.Byte()};
  while (!input.empty() && ops.ops.size() < 66) ops.ops.push_back(TakeOp(input));

  std::optional<CompiledRecipe> recipe;
  try {
    recipe.emplace(ops, fixed_size);
  } catch (const std::invalid_argument& error) {
    Require(std::string(error.what()).rfind("recipe: ", 0) == 0);
    return 0;
  }
  Plan plan;
  if (MakePlan(*recipe, picture, key, plan) != PlanError::kNone) return 0;
  CheckPlan(*recipe, picture, plan);
  RunPlan(*recipe, plan, fill);
  return 0;
}

}  // namespace stoker

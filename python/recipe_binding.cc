#include "python/recipe_binding.h"

#include <pybind11/stl.h>

#include <string>
#include <vector>

#include "augment/plan.h"
#include "python/bindings.h"

namespace py = pybind11;

namespace stoker {
namespace {

constexpr const char* kElements[] = {"uint8", "float16", "bfloat16", "float32"};
constexpr const char* kLayouts[] = {"nchw", "nhwc"};
constexpr const char* kInterpolations[] = {"nearest", "bilinear", "bicubic", "box", "hamming", "lanczos"};
constexpr const char* kPaddingModes[] = {"constant", "edge", "reflect", "symmetric"};
constexpr const char* kColors[] = {"brightness", "contrast", "saturation", "hue"};
constexpr const char* kGrayStages[] = {"never", "before resampling", "after resampling"};

template <typename T>
T Get(py::handle op, const char* name) {
  try {
    return op.attr(name).cast<T>();
  } catch (const py::cast_error&) {
    throw py::type_error(py::str(op).cast<std::string>() + ": " + name + " has the wrong type");
  }
}

ImageSize PairFrom(py::handle height_and_width) {
  const auto [height, width] = height_and_width.cast<std::pair<int32_t, int32_t>>();
  return {width, height};
}

ImageSize SizeOf(py::handle op) {
  const py::object size = op.attr("size");
  if (!py::isinstance<py::int_>(size)) return PairFrom(size);
  const auto side = size.cast<int32_t>();
  return {side, side};
}

Interpolation InterpolationOf(py::handle op) {
  return EnumFrom<Interpolation>("interpolation", Get<std::string>(op, "interpolation"), kInterpolations);
}

Padding PaddingOf(py::handle op) {
  const auto sides = Get<std::array<int32_t, 4>>(op, "padding");
  return {sides[0], sides[1], sides[2], sides[3]};
}

PaddingMode ModeOf(py::handle op) {
  return EnumFrom<PaddingMode>("padding_mode", Get<std::string>(op, "padding_mode"), kPaddingModes);
}

std::array<uint8_t, 3> FillOf(py::handle op) { return Get<std::array<uint8_t, 3>>(op, "fill"); }

Op RandomResizedCropFrom(py::handle op) {
  RandomResizedCrop crop;
  crop.size = SizeOf(op);
  std::tie(crop.scale_low, crop.scale_high) = Get<std::pair<double, double>>(op, "scale");
  std::tie(crop.ratio_low, crop.ratio_high) = Get<std::pair<double, double>>(op, "ratio");
  crop.random_interpolation = Get<std::string>(op, "interpolation") == "random";
  if (!crop.random_interpolation) crop.interpolation = InterpolationOf(op);
  return crop;
}

Op ResizeFrom(py::handle op) {
  Resize resize;
  const py::object size = op.attr("size");
  resize.size = py::isinstance<py::int_>(size) ? ImageSize{size.cast<int32_t>(), 0} : PairFrom(size);
  if (!op.attr("max_size").is_none()) resize.max_size = Get<int32_t>(op, "max_size");
  resize.interpolation = InterpolationOf(op);
  return resize;
}

Op RandomCropFrom(py::handle op) {
  RandomCrop crop;
  crop.size = SizeOf(op);
  crop.padding = PaddingOf(op);
  crop.pad_if_needed = Get<bool>(op, "pad_if_needed");
  crop.mode = ModeOf(op);
  crop.fill = FillOf(op);
  return crop;
}

Op ColorJitterFrom(py::handle op) {
  using Range = std::optional<std::array<double, 2>>;
  return ColorJitter{Get<Range>(op, "brightness"), Get<Range>(op, "contrast"), Get<Range>(op, "saturation"),
                     Get<Range>(op, "hue")};
}

// One value for every channel, or one for each.
std::array<float, 3> ChannelsOf(py::handle op, const char* name) {
  const auto values = Get<std::vector<float>>(op, name);
  if (values.size() == 1) return {values[0], values[0], values[0]};
  if (values.size() == 3) return {values[0], values[1], values[2]};
  throw py::value_error("Normalize: " + std::string(name) + " has " + std::to_string(values.size()) +
                        " values; allowed are 1 or 3");
}

Op OpFrom(py::handle op) {
  const auto type = py::type::handle_of(op).attr("__name__").cast<std::string>();
  if (type == "RandomResizedCrop") return RandomResizedCropFrom(op);
  if (type == "Resize") return ResizeFrom(op);
  if (type == "CenterCrop") return CenterCrop{SizeOf(op)};
  if (type == "Pad") return Pad{PaddingOf(op), ModeOf(op), FillOf(op)};
  if (type == "RandomCrop") return RandomCropFrom(op);
  if (type == "RandomHorizontalFlip") return RandomHorizontalFlip{Get<double>(op, "p")};
  if (type == "RandomVerticalFlip") return RandomVerticalFlip{Get<double>(op, "p")};
  if (type == "Grayscale") return Grayscale{Get<int32_t>(op, "num_output_channels")};
  if (type == "RandomGrayscale") return RandomGrayscale{Get<double>(op, "p")};
  if (type == "ColorJitter") return ColorJitterFrom(op);
  if (type == "Normalize") return Normalize{ChannelsOf(op, "mean"), ChannelsOf(op, "std")};
  throw py::type_error(type + " is not an op of stoker.transforms");
}

py::tuple Tuple(const Rect& rect) { return py::make_tuple(rect.y, rect.x, rect.height, rect.width); }

// What a loader would draw for a picture, for whoever wants to do the same with other tools.
py::dict DrawPlan(const py::object& transform, std::pair<int32_t, int32_t> size, uint64_t seed, uint64_t epoch,
                  uint64_t position) {
  const TransformSpec spec = TransformFrom(transform);
  const CompiledRecipe recipe(spec.recipe, spec.fixed_size);
  if (size.first < 1 || size.second < 1) throw py::value_error("size: both sides must be at least 1");
  Plan plan;
  if (MakePlan(recipe, {size.second, size.first}, {seed, epoch, position}, plan) != PlanError::kNone) {
    throw py::value_error("the picture is too small for the crop, or comes out at another size than the batch has");
  }
  py::list colors;
  for (int32_t i = 0; i < plan.color_count; ++i) {
    const ColorStep& step = plan.colors[static_cast<size_t>(i)];
    colors.append(py::make_tuple(kColors[static_cast<size_t>(step.op)], step.factor));
  }
  py::dict drawn;
  drawn["crop"] = Tuple(plan.crop);
  drawn["resized"] = py::make_tuple(plan.resized.height, plan.resized.width);
  drawn["window"] = Tuple(plan.window);
  drawn["content"] = Tuple(plan.content);
  drawn["flip_horizontal"] = plan.flip_horizontal;
  drawn["flip_vertical"] = plan.flip_vertical;
  drawn["interpolation"] = kInterpolations[static_cast<size_t>(plan.interpolation)];
  drawn["color"] = colors;
  drawn["gray"] = kGrayStages[static_cast<size_t>(plan.gray)];
  drawn["gray_after_color"] = plan.gray_after_colors;
  return drawn;
}

}  // namespace

TransformSpec TransformFrom(const py::handle& transform) {
  TransformSpec spec;
  for (const py::handle op : transform.attr("ops")) spec.recipe.ops.push_back(OpFrom(op));
  spec.recipe.element = EnumFrom<ElementType>("dtype", Get<std::string>(transform, "dtype"), kElements);
  spec.recipe.layout = EnumFrom<Layout>("layout", Get<std::string>(transform, "layout"), kLayouts);
  const py::object fixed = transform.attr("fixed_size");
  if (!fixed.is_none()) spec.fixed_size = PairFrom(fixed);
  return spec;
}

void BindRecipe(py::module_& module) {
  module.def("plan", &DrawPlan, py::arg("transform"), py::arg("size"), py::arg("seed"), py::arg("epoch"),
             py::arg("position"));
}

}  // namespace stoker

// Transforms as Python has them -> a recipe.
#pragma once

#include <pybind11/pybind11.h>

#include <optional>

#include "augment/recipe.h"

namespace stoker {

struct TransformSpec {
  Recipe recipe;
  std::optional<ImageSize> fixed_size;
};

// Reads a `stoker.transforms.Transform`. Throws what pybind11 turns into TypeError or ValueError, naming op and
// argument. Requires: the GIL.
TransformSpec TransformFrom(const pybind11::handle& transform);

// The value of `name` among `names`, by place; a ValueError names `what` and what is allowed.
template <typename Enum, size_t kCount>
Enum EnumFrom(const char* what, const std::string& name, const char* const (&names)[kCount]) {
  std::string allowed;
  for (size_t i = 0; i < kCount; ++i) {
    if (name == names[i]) return static_cast<Enum>(i);
    allowed += std::string(i == 0 ? "" : ", ") + '"' + names[i] + '"';
  }
  throw pybind11::value_error(std::string(what) + ": \"" + name + "\" (allowed: " + allowed + ")");
}

}  // namespace stoker

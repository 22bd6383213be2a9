// Which recipes there may be, and what is known about their samples before any picture is.
#pragma once

#include <optional>

#include "augment/recipe.h"

namespace stoker {

struct CheckedRecipe {
  SampleSpec spec;
  bool random = false;  // any op draws random numbers
};

// Throws std::invalid_argument naming the op, its value and what is allowed.
CheckedRecipe CheckRecipe(const Recipe& recipe, std::optional<ImageSize> fixed_size);

}  // namespace stoker

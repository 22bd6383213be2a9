// Plans in one expression.
#pragma once

#include <gtest/gtest.h>

#include <optional>
#include <utility>
#include <vector>

#include "augment/plan.h"
#include "augment/recipe.h"

namespace stoker {

inline Plan Make(const CompiledRecipe& recipe, ImageSize size, const SampleKey& key = {}) {
  Plan plan;
  EXPECT_EQ(MakePlan(recipe, size, key, plan), PlanError::kNone);
  return plan;
}

inline CompiledRecipe Compiled(std::vector<Op> ops, std::optional<ImageSize> fixed_size = std::nullopt) {
  Recipe recipe;
  recipe.ops = std::move(ops);
  return CompiledRecipe(recipe, fixed_size);
}

}  // namespace stoker

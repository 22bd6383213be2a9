// Which pixels a padded picture repeats.
#pragma once

#include <cstdint>

#include "augment/plan.h"

namespace stoker {

// Whether the plan's padding shows pixels of the picture again, rather than a colour.
inline bool Repeats(const Plan& plan) { return plan.padding_mode != PaddingMode::kConstant; }

// The column and the row of the resized crop that show at `x` and `y`, which lie inside plan.padded. The result lies
// inside plan.unpadded. Requires: Repeats(plan).
int32_t SourceColumn(const Plan& plan, int32_t x);
int32_t SourceRow(const Plan& plan, int32_t y);

}  // namespace stoker

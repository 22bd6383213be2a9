// What workers keep to decode and augment in, by the sizes of the pictures: the one term of a loader's memory that is
// not planned, but grows.
#pragma once

#include "augment/recipe.h"
#include "bench/budget/picture_sizes.h"
#include "bench/budget/term.h"
#include "loader/options.h"

namespace stoker {

// An estimate: the largest of `pictures` to the byte, the resampler's tables and the decoders about. Requires:
// num_workers resolved (not -1).
Term WorkerScratch(const LoaderOptions& options, const CompiledRecipe& recipe, const PictureSizes& pictures);

}  // namespace stoker

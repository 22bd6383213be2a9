// The resampling kernels of CPUs that gather bytes across a whole vector and multiply them by fours (AVX-512 VBMI and
// VNNI). They write the same bytes as the kernels of any target. Called by those in resample_kernels.h alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "augment/column_weights.h"
#include "augment/resample_kernels.h"
#include "augment/resample_weights.h"

namespace stoker {

// Arranges `weights` for FilterColumnsVnni. False where the chosen target, the distance of the taps or a weight's size
// does not permit that: another target's arrangement has to serve.
bool ArrangeColumnsVnni(ColumnWeights& weights);

// As FilterColumns. Requires: ArrangeColumnsVnni(weights) gave true.
void FilterColumnsVnni(const ColumnWeights& weights, const SourceRows& rows, const FilteredRows& out);

// As FilterRows; false, and nothing written, where another target has to do it or does it faster.
bool FilterRowsVnni(std::span<const uint8_t* const> rows, const SplitPair* weights, size_t bytes, uint8_t* out);

}  // namespace stoker

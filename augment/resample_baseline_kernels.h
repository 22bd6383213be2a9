// The resampling kernels of CPUs for which Highway has no vectors. They write the same bytes as those of any target.
// For the use of resample_kernels.cc alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "augment/column_weights.h"
#include "augment/resample_kernels.h"
#include "augment/resample_weights.h"

namespace stoker {

// As FilterColumns and FilterRows, without ArrangeColumns before: with the SSE2 of every x86-64, elsewhere the scalar
// twins.
void FilterColumnsBaseline(const ColumnWeights& weights, const SourceRows& rows, const FilteredRows& out);
void FilterRowsBaseline(std::span<const uint8_t* const> rows, const SplitPair* weights, size_t bytes, uint8_t* out);

}  // namespace stoker

// The resampling kernels of CPUs that gather bytes across a whole vector (AVX-512 VBMI) and add up products of bytes
// (AVX-512 VNNI). They write the same bytes as those of any target. For the use of resample_kernels.cc alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "augment/column_weights.h"
#include "augment/resample_kernels.h"
#include "augment/resample_weights.h"

namespace stoker {

// Whether the chosen target is such a CPU. All the others require it.
bool HasVnni();

// False where the distance of the taps or a weight's size does not permit the arrangement.
bool ArrangeColumnsVnni(ColumnWeights& weights);
// As FilterColumns. Requires: the last ArrangeColumnsVnni(weights) gave true.
void FilterColumnsVnni(const ColumnWeights& weights, const SourceRows& rows, const FilteredRows& out);

// As FilterRows. False, and nothing written, where the number of rows or a weight's size does not permit it.
bool FilterRowsVnni(std::span<const uint8_t* const> rows, const SplitPair* weights, size_t bytes, uint8_t* out);

}  // namespace stoker

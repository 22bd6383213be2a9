// The inner loops of resampling: rows of bytes in, rows of bytes out. Fixed point throughout, rounded to 8 bits after
// each pass as Pillow does, so every target and the scalar twin write the same bytes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "augment/column_weights.h"
#include "augment/resample_weights.h"

namespace stoker {

// The horizontal pass filters this many rows together: they share the loads of weights and indices.
inline constexpr size_t kRowsAtOnce = 4;
using SourceRows = std::array<const uint8_t*, kRowsAtOnce>;
using FilteredRows = std::array<uint8_t*, kRowsAtOnce>;  // the same row may come twice with the same source

// Bytes that the passes may write, or read from their sources, behind the last sample that counts.
inline constexpr size_t kRowPadding = 128;

// Arranges `weights` for the vectors of the chosen target; ColumnWeights::Build calls it.
void ArrangeColumns(ColumnWeights& weights);

// Horizontal pass: `rows` are `width * channels` samples each. Writes up to kRowPadding bytes more.
void FilterColumns(const ColumnWeights& weights, const SourceRows& rows, const FilteredRows& out);
void FilterColumnsScalar(const ColumnWeights& weights, const SourceRows& rows, const FilteredRows& out);

// Vertical pass: sample i of `out` is the weighted sum of sample i of all `rows`, two for each pair of `weights`.
// Reads and writes up to kRowPadding bytes behind `bytes`.
void FilterRows(std::span<const uint8_t* const> rows, const SplitPair* weights, size_t bytes, uint8_t* out);
void FilterRowsScalar(std::span<const uint8_t* const> rows, const SplitPair* weights, size_t bytes, uint8_t* out);

}  // namespace stoker

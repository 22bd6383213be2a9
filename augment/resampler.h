// A plan's crop and resampling, as a stream of rows.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "augment/augment.h"
#include "augment/plan.h"
#include "augment/resample_kernels.h"
#include "augment/resample_weights.h"
#include "augment/scratch.h"
#include "decode/image.h"

namespace stoker {

// Gives the rows of a plan's `content`, top to bottom, in the order of passes that Pillow takes. Only as many rows are
// kept as the vertical filter reaches. Not flipped.
// Threads: none of its own; one thread at a time.
class Resampler {
 public:
  // Begins a picture, whose pixels must stay until the last row was taken. Throws std::bad_alloc.
  // Requires: the content is not empty, the image holds the plan's region at `box`.
  void Start(const ImageView& image, const SourceBox& box, const Plan& plan);

  // The next row: content.width x channels samples, valid until the next call. Throws std::bad_alloc.
  // Requires: fewer than content.height rows were taken.
  const uint8_t* Next();

  size_t scratch_bytes() const;

 private:
  enum class Route { kCopy, kNearest, kColumnsFirst, kRowsFirst };

  void StartNearest();
  void StartFilters();
  const uint8_t* NearestRow();
  const uint8_t* RowsFirst();
  const uint8_t* ColumnsFirst();
  // Filters source rows horizontally until row `end` - 1 is in the ring.
  void FillRing(int32_t end);
  // The source rows, as the image counts them, that content row `row` needs.
  TapRange Taps(int32_t row) const;
  // The same from the first row to the last, each once, with the weights made ready for FilterRow.
  TapRange NextTaps(int32_t row);
  void WeighRows(int32_t begin);
  // The vertical filter for content row `row`, whose pointers to source rows are in taps_.
  void FilterRow(int32_t row, size_t bytes, uint8_t* out);
  size_t row_bytes() const { return static_cast<size_t>(content_.width) * channels(); }
  size_t channels() const { return static_cast<size_t>(image_.channels); }

  ImageView image_;
  Rect content_;
  Route route_ = Route::kCopy;
  ResampleAxis x_axis_, y_axis_;
  int32_t origin_x_ = 0;  // the image's pixel that is the axis's pixel 0
  int32_t origin_y_ = 0;
  int32_t row_ = 0;  // the next one

  ColumnWeights columns_;
  Scratch<int32_t> nearest_x_, nearest_y_;

  // The vertical weights of a few rows at once: one row's would keep its filter waiting.
  static constexpr size_t kRowsWeighed = 8;
  std::array<TapRange, kRowsWeighed> row_taps_;
  size_t max_pairs_ = 0;
  Scratch<SplitPair> pairs_;  // [kRowsWeighed][max_pairs_]
  Scratch<int32_t> fixed_;
  Scratch<double> values_;
  Scratch<const uint8_t*> taps_;

  // kColumnsFirst: filtered source rows, row n in place n & ring_mask_. Otherwise: the last kRowsAtOnce finished rows.
  Scratch<uint8_t> ring_;
  size_t ring_stride_ = 0;
  int32_t ring_mask_ = 0;
  int32_t ring_end_ = 0;     // the source row that comes into the ring next
  int32_t source_end_ = 0;   // behind the last source row that any output needs
  Scratch<uint8_t> middle_;  // kRowsFirst: rows between the passes
};

}  // namespace stoker

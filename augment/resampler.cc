#include "augment/resampler.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cmath>

namespace stoker {

namespace {

size_t PaddedRow(size_t bytes) { return (bytes + kRowPadding + 63) / 64 * 64; }

// One axis in the image's coordinates: the region lies at [box_begin, box_end) there, the crop around it at the same
// scale, which is 1 unless the picture was decoded smaller. Sets `origin` to the image's pixel at the crop's edge,
// negative where the crop begins before what was decoded.
ResampleAxis MakeAxis(Interpolation interpolation, int32_t crop_begin, int32_t crop_size, int32_t region_begin,
                      int32_t region_size, double box_begin, double box_end, int32_t resized, int32_t image_size,
                      int32_t& origin) {
  const double scale = (box_end - box_begin) / region_size;
  const double begin = box_begin + (crop_begin - region_begin) * scale;
  origin = static_cast<int32_t>(std::floor(begin));
  const double offset = begin - origin;
  const double end = offset + crop_size * scale;
  const int32_t high = static_cast<int32_t>(std::min<double>(std::ceil(end), int64_t{image_size} - origin));
  return {interpolation, offset, end, resized, std::max(0, -origin), high};
}

}  // namespace

void Resampler::Start(const ImageView& image, const SourceBox& box, const Plan& plan) {
  assert(plan.content.width > 0 && plan.content.height > 0);
  image_ = image;
  content_ = plan.content;
  row_ = 0;
  x_axis_ = MakeAxis(plan.interpolation, plan.crop.x, plan.crop.width, plan.region.x, plan.region.width, box.x0, box.x1,
                     plan.resized.width, image.size.width, origin_x_);
  y_axis_ = MakeAxis(plan.interpolation, plan.crop.y, plan.crop.height, plan.region.y, plan.region.height, box.y0,
                     box.y1, plan.resized.height, image.size.height, origin_y_);
  if (x_axis_.identity() && y_axis_.identity()) {
    route_ = Route::kCopy;
    assert(content_.x + origin_x_ >= 0 && content_.x + origin_x_ + content_.width <= image.size.width);
    assert(content_.y + origin_y_ >= 0 && content_.y + origin_y_ + content_.height <= image.size.height);
  } else if (plan.interpolation == Interpolation::kNearest) {
    StartNearest();
  } else {
    StartFilters();
  }
}

void Resampler::StartNearest() {
  route_ = Route::kNearest;
  const auto width = static_cast<size_t>(content_.width);
  const auto height = static_cast<size_t>(content_.height);
  x_axis_.Nearest(content_.x, {nearest_x_.Reserve(width), width});
  y_axis_.Nearest(content_.y, {nearest_y_.Reserve(height), height});
  ring_.Reserve(row_bytes());
}

void Resampler::StartFilters() {
  const bool rows_first = x_axis_.identity() || (!y_axis_.identity() && y_axis_.PrefersFirst(x_axis_));
  route_ = rows_first ? Route::kRowsFirst : Route::kColumnsFirst;
  if (!x_axis_.identity()) {
    columns_.Build(x_axis_, content_.x, content_.width, origin_x_, image_.size.width, image_.channels);
  }
  const auto max_taps = static_cast<size_t>(y_axis_.MaxTaps());
  max_pairs_ = (max_taps + 1) / 2;
  fixed_.Reserve(2 * max_pairs_);
  pairs_.Reserve(kRowsWeighed * max_pairs_);
  taps_.Reserve(max_taps + 1);

  const size_t ring_rows = rows_first ? kRowsAtOnce : std::bit_ceil(max_taps + kRowsAtOnce);
  ring_mask_ = static_cast<int32_t>(ring_rows - 1);
  ring_stride_ = PaddedRow(row_bytes());
  ring_.Reserve(ring_rows * ring_stride_);
  ring_end_ = Taps(0).first;
  const TapRange last = Taps(content_.height - 1);
  source_end_ = last.first + last.count;
  if (rows_first) middle_.Reserve(kRowsAtOnce * PaddedRow(static_cast<size_t>(image_.size.width) * channels()));
}

TapRange Resampler::Taps(int32_t row) const {
  TapRange taps = y_axis_.Taps(content_.y + row);
  taps.first += origin_y_;
  return taps;
}

const uint8_t* Resampler::Next() {
  assert(row_ < content_.height);
  const uint8_t* pixels = nullptr;
  switch (route_) {
    case Route::kCopy:
      pixels = image_.row(content_.y + origin_y_ + row_) + static_cast<size_t>(content_.x + origin_x_) * channels();
      break;
    case Route::kNearest:
      pixels = NearestRow();
      break;
    case Route::kColumnsFirst:
      pixels = ColumnsFirst();
      break;
    case Route::kRowsFirst:
      pixels = RowsFirst();
      break;
  }
  ++row_;
  return pixels;
}

const uint8_t* Resampler::NearestRow() {
  const uint8_t* from = image_.row(nearest_y_[static_cast<size_t>(row_)] + origin_y_);
  uint8_t* to = ring_.data();
  for (size_t x = 0; x < static_cast<size_t>(content_.width); ++x) {
    const uint8_t* pixel = from + static_cast<size_t>(nearest_x_[x] + origin_x_) * channels();
    for (size_t c = 0; c < channels(); ++c) *to++ = pixel[c];
  }
  return ring_.data();
}

void Resampler::WeighRows(int32_t begin) {
  const int32_t end = std::min(begin + static_cast<int32_t>(kRowsWeighed), content_.height);
  SplitPair* pairs = pairs_.data();
  for (int32_t row = begin; row < end; ++row, pairs += max_pairs_) {
    const TapRange taps = y_axis_.Taps(content_.y + row);
    row_taps_[static_cast<size_t>(row - begin)] = {taps.first + origin_y_, taps.count};
    const size_t count = (static_cast<size_t>(taps.count) + 1) / 2;
    const std::span<int32_t> fixed(fixed_.data(), 2 * count);
    y_axis_.Weights(content_.y + row, taps, fixed, values_);
    Split(fixed, 0, {pairs, count});
  }
}

TapRange Resampler::NextTaps(int32_t row) {
  const size_t place = static_cast<size_t>(row) % kRowsWeighed;
  if (place == 0) WeighRows(row);
  return row_taps_[place];
}

void Resampler::FilterRow(int32_t row, size_t bytes, uint8_t* out) {
  const size_t place = static_cast<size_t>(row) % kRowsWeighed;
  const auto count = static_cast<size_t>(row_taps_[place].count);
  taps_[count] = taps_[count - 1];  // with an odd count, the last pair's second weight is 0
  FilterRows({taps_.data(), (count + 1) / 2 * 2}, &pairs_[place * max_pairs_], bytes, out);
}

const uint8_t* Resampler::RowsFirst() {
  const auto place = static_cast<size_t>(row_) % kRowsAtOnce;
  if (place == 0) {
    const bool columns = !x_axis_.identity();
    const int32_t begin = columns ? columns_.source_begin : content_.x + origin_x_;
    const int32_t end = columns ? columns_.source_end : begin + content_.width;
    const size_t offset = static_cast<size_t>(begin) * channels();
    const size_t middle_stride = PaddedRow(static_cast<size_t>(image_.size.width) * channels());
    SourceRows middle;
    FilteredRows done;
    for (size_t r = 0; r < kRowsAtOnce; ++r) {
      const int32_t row = row_ + static_cast<int32_t>(r);
      if (row >= content_.height) {  // the last rows again
        middle[r] = middle[r - 1];
        done[r] = done[r - 1];
        continue;
      }
      done[r] = ring_.data() + r * ring_stride_;
      uint8_t* out = columns ? middle_.data() + r * middle_stride + offset : done[r];
      middle[r] = out - offset;
      const TapRange taps = NextTaps(row);
      for (int32_t i = 0; i < taps.count; ++i) taps_[static_cast<size_t>(i)] = image_.row(taps.first + i) + offset;
      FilterRow(row, static_cast<size_t>(end - begin) * channels(), out);
    }
    if (columns) FilterColumns(columns_, middle, done);
  }
  return ring_.data() + place * ring_stride_;
}

void Resampler::FillRing(int32_t end) {
  while (ring_end_ < end) {
    SourceRows from;
    FilteredRows to;
    for (size_t r = 0; r < kRowsAtOnce; ++r) {
      const int32_t row = std::min(ring_end_ + static_cast<int32_t>(r), source_end_ - 1);
      from[r] = image_.row(row);
      to[r] = ring_.data() + static_cast<size_t>(row & ring_mask_) * ring_stride_;
    }
    FilterColumns(columns_, from, to);
    ring_end_ = std::min(ring_end_ + static_cast<int32_t>(kRowsAtOnce), source_end_);
  }
}

const uint8_t* Resampler::ColumnsFirst() {
  const TapRange taps = NextTaps(row_);
  FillRing(taps.first + taps.count);
  for (int32_t i = 0; i < taps.count; ++i) {
    taps_[static_cast<size_t>(i)] = ring_.data() + static_cast<size_t>((taps.first + i) & ring_mask_) * ring_stride_;
  }
  if (y_axis_.identity()) return taps_[0];
  FilterRow(row_, row_bytes(), middle_.Reserve(ring_stride_));
  return middle_.data();
}

size_t Resampler::scratch_bytes() const {
  return columns_.bytes() + nearest_x_.bytes() + nearest_y_.bytes() + fixed_.bytes() + pairs_.bytes() +
         values_.bytes() + taps_.bytes() + ring_.bytes() + middle_.bytes();
}

}  // namespace stoker

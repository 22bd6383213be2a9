#include "augment/column_weights.h"

#include <algorithm>
#include <cassert>
#include <new>
#include <span>

#include "augment/resample_kernels.h"

namespace stoker {

namespace {

// 1 GiB of `lanes`: a picture of a few kilobytes can be 10^8 pixels wide and 1 high. 65535 pixels need 200 times less.
constexpr size_t kMaxColumnPairs = size_t{1} << 27;

}  // namespace

void ColumnWeights::Build(const ResampleAxis& axis, int32_t begin, int32_t count, int32_t origin, int32_t source_width,
                          int32_t source_channels) {
  channels = source_channels;
  width = count;
  const auto outputs = static_cast<size_t>(count);
  first.Reserve(outputs);
  counts_.Reserve(outputs);
  int32_t most = 1;
  for (int32_t i = 0; i < count; ++i) {
    const TapRange taps = axis.Taps(begin + i);
    first[static_cast<size_t>(i)] = taps.first;
    counts_[static_cast<size_t>(i)] = taps.count;
    most = std::max(most, taps.count);
  }
  pairs = (static_cast<size_t>(most) + 1) / 2;
  if (outputs * static_cast<size_t>(channels) * pairs > kMaxColumnPairs) throw std::bad_alloc();
  const auto padded = static_cast<int32_t>(2 * pairs);
  source_begin = source_width;
  source_end = 0;
  const auto fixed = std::span(fixed_.Reserve(2 * pairs), 2 * pairs);
  weights.Reserve(outputs * pairs);
  for (size_t i = 0; i < outputs; ++i) {
    const TapRange taps{first[i], counts_[i]};
    axis.Weights(begin + static_cast<int32_t>(i), taps, fixed, values_);
    // Moved left where the zeros that pad it would lie behind the row's end.
    const int32_t at = taps.first + origin;
    assert(at >= 0 && at + taps.count <= source_width);
    const int32_t leading = std::clamp(at + padded - source_width, 0, std::min(at, padded - taps.count));
    first[i] = at - leading;
    Split(fixed, leading, {&weights[i * pairs], pairs});
    source_begin = std::min(source_begin, first[i]);
    source_end = std::max(source_end, std::min(first[i] + padded, source_width));
  }
  ArrangeColumns(*this);
}

size_t ColumnWeights::bytes() const {
  return first.bytes() + weights.bytes() + offsets.bytes() + indices.bytes() + lanes.bytes() + digits.bytes() +
         counts_.bytes() + fixed_.bytes() + values_.bytes();
}

}  // namespace stoker

#include "augment/padding.h"

#include <algorithm>
#include <cassert>

namespace stoker {

namespace {

// numpy.pad's rules for one axis; they go on periodically where the padding is wider than the picture.
int32_t Source(PaddingMode mode, int32_t begin, int32_t size, int32_t index) {
  const int32_t offset = index - begin;
  if (offset >= 0 && offset < size) return index;
  // Of a single pixel, reflect has nothing but the edge to show.
  if (mode == PaddingMode::kEdge || size == 1) return begin + std::clamp(offset, 0, size - 1);
  const int32_t doubled = mode == PaddingMode::kSymmetric ? 1 : 0;  // the edge pixel
  const int32_t period = 2 * (size - 1 + doubled);
  const int32_t phase = offset < 0 ? (-offset - doubled) % period : offset % period;
  return begin + (phase < size ? phase : period - doubled - phase);
}

}  // namespace

int32_t SourceColumn(const Plan& plan, int32_t x) {
  assert(Repeats(plan));
  const int32_t once = Source(plan.padding_mode, plan.padded_once.x, plan.padded_once.width, x);
  return Source(plan.padding_mode, plan.unpadded.x, plan.unpadded.width, once);
}

int32_t SourceRow(const Plan& plan, int32_t y) {
  assert(Repeats(plan));
  const int32_t once = Source(plan.padding_mode, plan.padded_once.y, plan.padded_once.height, y);
  return Source(plan.padding_mode, plan.unpadded.y, plan.unpadded.height, once);
}

}  // namespace stoker

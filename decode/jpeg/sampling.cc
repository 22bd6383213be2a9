#include "decode/jpeg/sampling.h"

#include <algorithm>

namespace stoker {
namespace {

int32_t DividedUp(int32_t value, int32_t by) { return (value + by - 1) / by; }

struct Span {
  int32_t begin;
  int32_t end;
};

// The samples of `size` in a row or column that `count` pixels from `at` on are made of.
Span Needed(int32_t at, int32_t count, int doubling, bool fancy, int32_t size) {
  const int32_t last = at + count - 1;
  Span span = {at >> doubling, (last >> doubling) + 1};
  if (fancy) {  // an even pixel looks at the sample before its own, an odd one at the next
    if (at % 2 == 0) span.begin = std::max(span.begin - 1, 0);
    if (last % 2 == 1) span.end = std::min(span.end + 1, size);
  }
  return span;
}

}  // namespace

Sampling SamplingOf(const JpegFrame& frame, const Rect& region, int denominator, int component) noexcept {
  const JpegComponent& of = frame.component[static_cast<size_t>(component)];
  Sampling sampling;
  sampling.h = of.h;
  sampling.v = of.v;
  // At half size libjpeg makes four samples of eight, but leaves the halving out where a component has only half the
  // samples both ways: these then need no upsampling.
  const int reduced = kBlockSize / denominator;
  const bool already_half = denominator == 2 && frame.max_h == 2 * of.h && frame.max_v == 2 * of.v;
  sampling.block_size = already_half ? kBlockSize : reduced;
  sampling.doubling_x = frame.max_h * reduced / (of.h * sampling.block_size) - 1;
  sampling.doubling_y = frame.max_v * reduced / (of.v * sampling.block_size) - 1;
  sampling.size = {
      DividedUp(frame.size.width * of.h * sampling.block_size, frame.max_h * kBlockSize),
      DividedUp(frame.size.height * of.v * sampling.block_size, frame.max_v * kBlockSize),
  };
  // The narrowest pictures are not filtered but across rows alone.
  const bool wide = sampling.size.width > 2;
  sampling.fancy_x = sampling.doubling_x == 1 && wide;
  sampling.fancy_y = sampling.doubling_y == 1 && (sampling.doubling_x == 0 || wide);
  const Span x = Needed(region.x, region.width, sampling.doubling_x, sampling.fancy_x, sampling.size.width);
  const Span y = Needed(region.y, region.height, sampling.doubling_y, sampling.fancy_y, sampling.size.height);
  sampling.needed = {x.begin, y.begin, x.end - x.begin, y.end - y.begin};
  return sampling;
}

}  // namespace stoker

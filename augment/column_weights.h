// The horizontal pass's tables.
#pragma once

#include <cstddef>
#include <cstdint>

#include "augment/resample_weights.h"
#include "augment/scratch.h"

namespace stoker {

// The horizontal weights of one picture, every output pixel padded with zeros to the same number of taps.
struct ColumnWeights {
  int32_t channels = 0;
  int32_t width = 0;         // output pixels
  size_t pairs = 0;          // of taps, per output pixel
  int32_t source_begin = 0;  // the source pixels that any output needs
  int32_t source_end = 0;
  Scratch<int32_t> first;      // per output pixel: its first tap
  Scratch<SplitPair> weights;  // [width][pairs]

  // The same arranged for the vectors of the chosen target. A vector holds neighbouring samples of the interleaved
  // row, one per 32-bit lane; each of its blocks of four lanes is gathered from `loads` loads of 16 bytes.
  size_t vectors = 0;
  size_t loads = 0;
  Scratch<int32_t> offsets;  // [vector][load][block]: where to load, in bytes from the row's first
  Scratch<uint8_t> indices;  // [vector][load][lane][4]: which bytes of the load make the lane's pair of taps
  Scratch<uint32_t> lanes;   // [vector][pair][high, low][lane]: weights

  // Or, where `vnni`, for the kernels of that name: one load of 64 bytes, or 128 if `wide`, gives all lanes of a vector
  // each four taps at a time, `groups` times; or two taps in all, where there are 0 groups. Then it is [vector],
  // [vector][lane][4] and [vector][group][digit][lane], with 0 groups [vector][high, low][lane].
  bool vnni = false;
  bool wide = false;
  size_t groups = 0;
  Scratch<uint32_t> digits;  // [group][digit][output pixel], or [high, low][output pixel]

  // Weights for outputs [begin, begin + count) of `axis`, whose pixel 0 is the source's pixel `origin`.
  // Throws std::bad_alloc, also where the tables would exceed 1 GiB.
  void Build(const ResampleAxis& axis, int32_t begin, int32_t count, int32_t origin, int32_t source_width,
             int32_t source_channels);
  size_t bytes() const;

 private:
  Scratch<int32_t> counts_;
  Scratch<int32_t> fixed_;
  Scratch<double> values_;
};

}  // namespace stoker

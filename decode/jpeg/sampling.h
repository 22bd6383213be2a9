// Which samples and blocks of a component the pixels of a region are made of.
#pragma once

#include <cstdint>

#include "decode/image.h"
#include "decode/jpeg/frame.h"

namespace stoker {

// One component of a picture at a scale, and the part of it that a region needs. Where upsampling looks at neighbours
// it is "fancy": a triangle filter, whose context the part includes.
struct Sampling {
  int h = 1, v = 1;             // blocks in an MCU
  int block_size = kBlockSize;  // samples along an edge that become of a block
  int doubling_x = 0;           // 1: a sample serves two pixels
  int doubling_y = 0;
  bool fancy_x = false;
  bool fancy_y = false;
  ImageSize size;  // of the whole component, in samples
  Rect needed;     // samples

  int strip_height() const { return v * block_size; }  // samples in a row of MCUs
  // Blocks [first_block, end_block) of a row; its first sample's column; and the same the other way.
  int32_t first_block() const { return needed.x / block_size; }
  int32_t end_block() const { return (needed.x + needed.width + block_size - 1) / block_size; }
  int32_t first_column() const { return first_block() * block_size; }
  int32_t first_block_row() const { return needed.y / block_size; }
  int32_t end_block_row() const { return (needed.y + needed.height + block_size - 1) / block_size; }
};

// `region` is in pixels of the picture at 1/denominator of its size, 1 or 2.
Sampling SamplingOf(const JpegFrame& frame, const Rect& region, int denominator, int component) noexcept;

}  // namespace stoker

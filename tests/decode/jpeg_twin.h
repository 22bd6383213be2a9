// The slow twin of the JPEG decoder, and random boxes to compare the two in.
#pragma once

#include <algorithm>
#include <cstdio>
#include <random>

#include "tests/decode/decoded.h"

// Last, because it uses size_t and FILE without including what declares them.
#include <jpeglib.h>

namespace stoker {

// libjpeg as its manual shows it: the whole picture at 1/denominator of its size, one row at a time. Ends the program
// where libjpeg gives up.
inline Picture DecodeWholeByTheManual(const Bytes& bytes, J_COLOR_SPACE space, unsigned denominator = 1) {
  jpeg_decompress_struct decompress = {};
  jpeg_error_mgr errors;
  decompress.err = jpeg_std_error(&errors);
  errors.emit_message = [](j_common_ptr, int) {};
  jpeg_create_decompress(&decompress);
  jpeg_mem_src(&decompress, bytes.data(), bytes.size());
  jpeg_read_header(&decompress, TRUE);
  decompress.out_color_space = space;
  decompress.scale_num = 1;
  decompress.scale_denom = denominator;
  jpeg_start_decompress(&decompress);
  Picture picture{{static_cast<int>(decompress.output_width), static_cast<int>(decompress.output_height)},
                  decompress.output_components,
                  {}};
  picture.pixels.resize(static_cast<size_t>(picture.size.width) * picture.size.height * picture.channels);
  while (decompress.output_scanline < decompress.output_height) {
    JSAMPROW row = picture.at(0, static_cast<int>(decompress.output_scanline));
    jpeg_read_scanlines(&decompress, &row, 1);
  }
  jpeg_destroy_decompress(&decompress);
  return picture;
}

inline Rect RandomBox(std::mt19937& random, ImageSize size) {
  const auto below = [&random](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  Rect box = {below(size.width), below(size.height), 0, 0};
  // Edges on iMCU boundaries are where upsampling could go wrong.
  if (below(3) == 0) box.x = box.x / 16 * 16;
  if (below(3) == 0) box.y = box.y / 16 * 16;
  box.width = 1 + below(std::min(size.width - box.x, below(2) == 0 ? 9 : size.width));
  box.height = 1 + below(std::min(size.height - box.y, below(2) == 0 ? 9 : size.height));
  return box;
}

}  // namespace stoker

// From libjpeg's view of a JPEG's headers to ours.
#pragma once

#include <cstddef>
#include <cstdio>

#include "decode/jpeg/frame.h"

// Last, because it uses size_t and FILE without including what declares them.
#include <jpeglib.h>

namespace stoker {

// Takes over what jpeg_read_header has found; `scan_offset` is where it stopped reading. False: a kind of picture that
// is libjpeg's.
bool ReadFrame(const jpeg_decompress_struct& decompress, size_t scan_offset, JpegFrame& frame) noexcept;

}  // namespace stoker

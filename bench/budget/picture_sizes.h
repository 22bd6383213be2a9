// How large a set's pictures are, by a look at some of them.
#pragma once

#include <cstddef>
#include <vector>

#include "loader/options.h"
#include "loader/source.h"

namespace stoker {

struct PictureSizes {
  std::vector<ImageSize> sizes = {};
  bool turned = false;       // some of them by their EXIF orientation, where the options say so
  size_t decoder_bytes = 0;  // what a decoder holds after it has decoded all of them, whole
};

// Up to `most` pictures, spread evenly over the source; samples that are no pictures are left out. Reads their
// files, which blocks on the disk, and decodes them.
PictureSizes LookAtPictures(const Source& source, const LoaderOptions& options, size_t most = 200);

}  // namespace stoker

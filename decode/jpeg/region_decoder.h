// Our own JPEG decoder, whole: entropy-coded bytes to the pixels of one region.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "decode/image.h"
#include "decode/jpeg/entropy_decoder.h"
#include "decode/jpeg/frame.h"
#include "decode/jpeg/marks.h"
#include "decode/jpeg/reconstruction.h"

namespace stoker {

// Decodes one picture after the other, reusing its memory. All or nothing: where it fails, the library decodes the
// picture from its start, so that pixels, warnings and errors are the library's.
// Threads: one thread at a time.
class RegionDecoder {
 public:
  // Fills `image` with `region` (in pixels of the picture scaled down by `denominator`, 1 or 2) in `channels` (1, of
  // gray pictures only, or 3). `marks`: what is known of this picture, where not null, and what is learned.
  // False: something in the data is odd, or there is no memory; then `image` holds nothing of meaning.
  bool Decode(std::span<const uint8_t> file, const JpegFrame& frame, const Rect& region, int denominator, int channels,
              JpegMarks* marks, Image& image) noexcept;

  // Bytes held now.
  size_t scratch_bytes() const noexcept { return entropy_.scratch_bytes() + reconstruction_.capacity_bytes(); }

 private:
  EntropyDecoder entropy_;
  Reconstruction reconstruction_;
};

}  // namespace stoker

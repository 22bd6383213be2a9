#include "decode/jpeg/region_decoder.h"

#include <new>

namespace stoker {

bool RegionDecoder::Decode(std::span<const uint8_t> file, const JpegFrame& frame, const Rect& region, int denominator,
                           int channels, JpegMarks* marks, Image& image) noexcept try {
  const McuWindow window = Reconstruction::WindowOf(frame, region, denominator);
  const std::span<const RowMark> known = marks != nullptr ? marks->Unpack(file, frame) : std::span<const RowMark>();
  if (!reconstruction_.Start(frame, region, denominator, channels, image)) return false;
  if (!entropy_.Start(file, frame, window, known)) return false;
  McuRow row;
  for (int32_t y = window.y0; y < window.y1; ++y) {
    if (!entropy_.Next(row) || !reconstruction_.Add(row)) return false;
  }
  if (marks != nullptr) marks->Pack(file, frame, entropy_.marks());
  return true;
} catch (const std::bad_alloc&) {
  return false;
}

}  // namespace stoker

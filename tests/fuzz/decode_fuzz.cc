// Any bytes to any decoder. The first byte chooses what is asked for: bit 0 gray, 1 EXIF applied, 2 strict, 3 a smaller
// scale is enough, 4 and 5 the region's shape.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>

#include "decode/decoder.h"

namespace stoker {
namespace {

Rect ChooseRegion(ImageSize size, int shape) {
  switch (shape) {
    case 1:  // the middle
      return {size.width / 4, size.height / 4, (size.width + 1) / 2, (size.height + 1) / 2};
    case 2:  // the last pixel
      return {size.width - 1, size.height - 1, 1, 1};
    case 3:  // a thin strip at an iMCU boundary
      return {std::min(16, size.width - 1), 0, 1, size.height};
    default:
      return {0, 0, size.width, size.height};
  }
}

void Check(bool holds) {
  if (!holds) std::abort();
}

void DecodeAsChosen(uint8_t choice, std::span<const uint8_t> bytes) {
  Decoder decoder({.max_pixels = 1 << 18, .apply_exif = (choice & 2) != 0, .strict = (choice & 4) != 0});

  ImageSize picture;
  Diagnosis diagnosis;
  if (decoder.Peek(bytes, picture, diagnosis)) return;
  Check(picture.width > 0 && picture.height > 0 && int64_t{picture.width} * picture.height <= 1 << 18);
  DecodeRequest request;
  request.region = ChooseRegion(picture, choice >> 4 & 3);
  request.channels = (choice & 1) != 0 ? Channels::kGray : Channels::kRgb;
  if ((choice & 8) != 0)
    request.at_least = {std::max(1, request.region.width / 3), std::max(1, request.region.height / 3)};

  Image image;
  RegionBox box;
  if (decoder.Decode(bytes, request, image, box, diagnosis)) return;
  Check(image.channels() == static_cast<int32_t>(request.channels));
  Check(box.x0 >= 0 && box.y0 >= 0 && box.x0 < box.x1 && box.y0 < box.y1);
  Check(box.x1 <= image.size().width && box.y1 <= image.size().height);
  if (request.at_least == ImageSize{})
    Check(box.x1 - box.x0 == request.region.width && box.y1 - box.y0 == request.region.height);
  volatile uint8_t sink = 0;  // every pixel is read, so that sanitizers see them all
  for (int32_t y = 0; y < image.size().height; ++y) {
    const uint8_t* const row = image.row(y);
    for (int32_t x = 0; x < image.size().width * image.channels(); ++x) sink = row[x];
  }
  (void)sink;
}

}  // namespace
}  // namespace stoker

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size > 0) stoker::DecodeAsChosen(data[0], {data + 1, size - 1});
  return 0;
}

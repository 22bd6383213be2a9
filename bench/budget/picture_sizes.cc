#include "bench/budget/picture_sizes.h"

#include <algorithm>
#include <vector>

#include "bench/run_source.h"
#include "decode/decoder.h"
#include "decode/jpeg/marks.h"
#include "decode/orientation.h"

namespace stoker {
namespace {

// As a loader meets it: for the first time, whole or in part, and again with a part or all that is to be learned.
void DecodeAll(Decoder& decoder, const std::vector<uint8_t>& bytes, ImageSize size, Image& image) {
  JpegMarks marks;
  const auto decode = [&](int32_t height) {
    DecodeRequest request = {{0, 0, size.width, height}, Channels::kRgb, {}};
    request.marks = &marks;
    RegionBox box;
    Diagnosis diagnosis;
    return !decoder.Decode(bytes, request, image, box, diagnosis);
  };
  if (!decode(size.height)) return;
  marks.Clear();
  (void)(decode((size.height + 1) / 2) && decode(size.height) && decode(size.height));
}

}  // namespace

PictureSizes LookAtPictures(const Source& source, const LoaderOptions& options, size_t most) {
  PictureSizes pictures;
  Decoder decoder(options.limits);
  DecodeLimits as_stored = options.limits;
  as_stored.apply_exif = false;
  Decoder measured(as_stored);
  Image image;
  const uint64_t step = std::max<uint64_t>(source.size() / std::max<size_t>(most, 1), 1);
  for (uint64_t id = 0; id < source.size() && pictures.sizes.size() < most; id += step) {
    if (const auto known = source.PictureSize(id)) {
      pictures.sizes.push_back(*known);
      continue;
    }
    if (source.ExtentsOf(id, nullptr).bytes() > static_cast<uint64_t>(options.max_file_bytes)) continue;
    ImageSize size;
    Diagnosis diagnosis;
    const std::vector<uint8_t> bytes = ReadSample(source, id);
    if (decoder.Peek(bytes, size, diagnosis)) continue;
    pictures.sizes.push_back(size);
    const bool turned = options.limits.apply_exif && !ReadOrientation(diagnosis.format, bytes).is_upright();
    pictures.turned = pictures.turned || turned;
    if (!turned) DecodeAll(measured, bytes, size, image);
  }
  pictures.decoder_bytes = measured.scratch_bytes();
  return pictures;
}

}  // namespace stoker

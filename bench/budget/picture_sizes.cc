#include "bench/budget/picture_sizes.h"

#include <algorithm>
#include <fstream>
#include <string>

#include "decode/decoder.h"
#include "decode/orientation.h"

namespace stoker {
namespace {

// The bytes of a sample in one file; empty where they cannot be read.
std::vector<uint8_t> ReadSample(const Source& source, uint64_t id) {
  std::vector<uint8_t> bytes;
  std::string path(4096, '\0');
  const Extents extents = source.ExtentsOf(id, nullptr);
  if (extents.size() != 1 || !source.Path(extents[0].file, path.data(), path.size())) return bytes;
  std::ifstream file(path.c_str(), std::ios::binary);
  file.seekg(static_cast<std::streamoff>(extents[0].offset_bytes));
  bytes.resize(extents[0].bytes);
  file.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  bytes.resize(static_cast<size_t>(std::max<std::streamsize>(file.gcount(), 0)));
  return bytes;
}

}  // namespace

PictureSizes LookAtPictures(const Source& source, const LoaderOptions& options, size_t most) {
  PictureSizes pictures;
  Decoder decoder(options.limits);
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
    pictures.turned =
        pictures.turned || (options.limits.apply_exif && !ReadOrientation(diagnosis.format, bytes).is_upright());
  }
  return pictures;
}

}  // namespace stoker

#include "bench/run_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <string>
#include <vector>

#include "loader/error.h"

namespace stoker {

std::unique_ptr<FileSource> OpenSource(const RunOptions& options, ScanSummary* summary) {
  ScanOptions scan;
  scan.allow_empty = options.allow_empty;
  if (!options.classes.empty()) scan.classes = ReadClassNames(options.classes);
  return options.list.empty() ? OpenFolder(options.path, scan, summary) : OpenList(options.list, scan);
}

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

ImageSize FirstPictureSize(const FileSource& source, const LoaderOptions& options) {
  if (source.size() == 0) return {1, 1};
  const std::vector<uint8_t> bytes = ReadSample(source, 0);
  ImageSize size;
  Diagnosis diagnosis;
  const std::error_code error = Decoder(options.limits).Peek(bytes, size, diagnosis);
  if (!error) return size;
  throw Error(error, "decode", source.Name(0), diagnosis.offset_bytes,
              fmt::format("{}: {} {} (--transform none takes the batch's size from this first picture)", source.Name(0),
                          error.message(), diagnosis.detail));
}

}  // namespace stoker

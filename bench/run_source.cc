#include "bench/run_source.h"

#include <fmt/format.h>

#include <fstream>
#include <iterator>
#include <vector>

#include "loader/error.h"

namespace stoker {

std::unique_ptr<FileSource> OpenSource(const RunOptions& options, ScanSummary* summary) {
  ScanOptions scan;
  scan.allow_empty = options.allow_empty;
  if (!options.classes.empty()) scan.classes = ReadClassNames(options.classes);
  return options.list.empty() ? OpenFolder(options.path, scan, summary) : OpenList(options.list, scan);
}

ImageSize FirstPictureSize(const FileSource& source, const LoaderOptions& options) {
  std::string path(4096, '\0');
  if (source.size() == 0 || !source.Path(0, path.data(), path.size())) return {1, 1};
  std::ifstream file(path.c_str(), std::ios::binary);
  const std::vector<uint8_t> bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  ImageSize size;
  Diagnosis diagnosis;
  const std::error_code error = Decoder(options.limits).Peek(bytes, size, diagnosis);
  if (!error) return size;
  throw Error(error, "decode", source.Name(0), diagnosis.offset_bytes,
              fmt::format("{}: {} {} (--transform none takes the batch's size from this first picture)", source.Name(0),
                          error.message(), diagnosis.detail));
}

}  // namespace stoker

#include "bench/sweep/page_cache.h"

#include <fcntl.h>
#include <unistd.h>

#include <climits>
#include <functional>
#include <utility>
#include <vector>

namespace stoker {
namespace {

void ForEachFile(const FileSource& source, const std::function<void(int descriptor)>& visit) {
  std::vector<char> path(PATH_MAX);
  for (uint64_t file = 0; file < source.size(); ++file) {
    if (!source.Path(static_cast<uint32_t>(file), path.data(), path.size())) continue;
    const int descriptor = open(path.data(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (descriptor < 0) continue;
    visit(descriptor);
    close(descriptor);
  }
}

}  // namespace

void ThrowOut(const FileSource& source) {
  ForEachFile(source, [](int descriptor) {
    (void)fdatasync(descriptor);  // what is not written yet cannot be thrown out
    (void)posix_fadvise(descriptor, 0, 0, POSIX_FADV_DONTNEED);
  });
}

void ReadIn(const FileSource& source) {
  std::vector<char> buffer(size_t{1} << 20);
  ForEachFile(source, [&](int descriptor) {
    while (read(descriptor, buffer.data(), buffer.size()) > 0) {
    }
  });
}

std::shared_ptr<const FileSource> SampleOf(std::unique_ptr<FileSource> source, uint64_t most) {
  const uint64_t size = source->size();
  if (size <= most) return source;
  FileSource::Builder builder;
  std::vector<char> path(PATH_MAX);
  for (uint64_t i = 0; i < most; ++i) {
    const uint64_t id = i * size / most;
    if (source->Path(static_cast<uint32_t>(id), path.data(), path.size()))
      builder.AddPath(path.data(), source->Label(id));
  }
  return builder.Build({}, source->classes());
}

}  // namespace stoker

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <climits>

#include "loader/reader.h"
#include "loader/stall_totals.h"

namespace stoker {
namespace {

// Opens only what needs no disk to resolve; -1 otherwise.
int OpenCached(const char* path) {
  open_how how = {};
  how.flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK;  // a pipe by a picture's name must not stop the feeder
  how.resolve = RESOLVE_CACHED;
  return static_cast<int>(syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof how));
}

// Bytes of the extent that came from the page cache, -1 where some would have needed the disk.
ssize_t ReadExtentCached(const char* path, const Extent& extent, std::span<uint8_t> to, NowFn now, int64_t& opened_ns) {
  const int file = OpenCached(path);
  if (file < 0) return -1;
  if (kCountersOn && opened_ns == 0) opened_ns = now();
  const iovec vector = {to.data(), BytesToAsk(extent)};
  const ssize_t got = preadv2(file, &vector, 1, static_cast<off_t>(extent.offset_bytes), RWF_NOWAIT);
  close(file);
  // A short answer is the end of the file or the end of what is cached: the slow path tells which.
  return got >= static_cast<ssize_t>(extent.bytes) ? got : -1;
}

// Whether the last byte of the extent is in the page cache: read-ahead fetches files from their beginning.
bool IsExtentCached(const char* path, const Extent& extent) {
  const int file = OpenCached(path);
  if (file < 0) return false;
  char byte = 0;
  const iovec vector = {&byte, 1};
  const uint64_t last = extent.offset_bytes + (extent.bytes > 0 ? extent.bytes - 1 : 0);
  const ssize_t got = preadv2(file, &vector, 1, static_cast<off_t>(last), RWF_NOWAIT);
  close(file);
  return got == (extent.bytes > 0 ? 1 : 0);
}

}  // namespace

bool IsCached(const Source& source, const Extents& extents) noexcept {
  char path[PATH_MAX];
  for (uint32_t i = 0; i < extents.size(); ++i) {
    if (!source.Path(extents[i].file, path, sizeof path) || !IsExtentCached(path, extents[i])) return false;
  }
  return extents.size() > 0;
}

bool ReadCached(const Source& source, NowFn now, SampleJob& job) noexcept {
  char path[PATH_MAX];
  uint64_t landed = 0;
  int64_t opened_ns = 0;
  for (uint32_t i = 0; i < job.extents.size(); ++i) {
    const Extent& extent = job.extents[i];
    if (!source.Path(extent.file, path, sizeof path)) return false;
    const ssize_t got = ReadExtentCached(path, extent, job.encoded.memory().subspan(landed), now, opened_ns);
    if (got < 0) return false;
    job.error = CheckLength(extent, static_cast<uint64_t>(got), job.diagnosis);
    if (job.error) return true;
    landed += extent.bytes;
  }
  job.encoded_bytes = landed;
  job.opened_ns = opened_ns;
  return true;
}

}  // namespace stoker

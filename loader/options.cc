#include "loader/options.h"

#include <fmt/format.h>

#include <cmath>
#include <stdexcept>

namespace stoker {
namespace {

template <typename T>
void CheckRange(const char* option, T value, T low, T high, const char* unit) {
  if (value >= low && value <= high) return;
  throw std::invalid_argument(fmt::format("{} = {} (allowed: {} to {} {})", option, value, low, high, unit));
}

}  // namespace

void Validate(const LoaderOptions& options) {
  CheckRange("batch_size", options.batch_size, 1, 65536, "samples");
  CheckRange("num_workers", options.num_workers, -1, 512, "threads, -1 chooses by the CPUs that may be used");
  CheckRange("prefetch_factor", options.prefetch_factor, 1, 64, "batches");
  CheckRange("queue_depth", options.queue_depth, 1, 1024, "reads");
  CheckRange("world_size", options.world_size, 1, 1 << 20, "ranks");
  CheckRange("rank", options.rank, 0, options.world_size - 1, "(below world_size)");
  CheckRange<int64_t>("max_errors", options.max_errors, -1, int64_t{1} << 40, "samples, -1 sets no limit");
  CheckRange<int64_t>("max_file_bytes", options.max_file_bytes, 1, int64_t{1} << 40, "bytes");
  CheckRange<int64_t>("max_pixels", options.limits.max_pixels, 1, int64_t{1} << 40, "pixels");
  CheckRange<int64_t>("memory_limit", options.memory_limit_bytes, 0, int64_t{1} << 50, "bytes, 0 chooses");
  if (!(options.read_deadline_seconds >= 0.001 && options.read_deadline_seconds <= 86400)) {
    throw std::invalid_argument(
        fmt::format("read_deadline = {} (allowed: 0.001 to 86400 seconds)", options.read_deadline_seconds));
  }
}

std::string_view OnErrorName(OnError policy) noexcept {
  switch (policy) {
    case OnError::kRaise:
      return "raise";
    case OnError::kSkip:
      return "skip";
    case OnError::kMask:
      return "mask";
  }
  return "?";
}

std::string_view ReaderName(ReaderKind kind) noexcept {
  switch (kind) {
    case ReaderKind::kAuto:
      return "auto";
    case ReaderKind::kUring:
      return "io_uring";
    case ReaderKind::kPread:
      return "pread";
  }
  return "?";
}

std::string_view DeviceName(DeviceKind kind) noexcept {
  switch (kind) {
    case DeviceKind::kAuto:
      return "auto";
    case DeviceKind::kCpu:
      return "cpu";
    case DeviceKind::kSim:
      return "sim";
  }
  return "?";
}

}  // namespace stoker

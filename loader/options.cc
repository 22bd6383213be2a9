#include "loader/options.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "decode/cpu_path.h"
#include "loader/index/index_keeper.h"
#include "transfer/open_device.h"

namespace stoker {
namespace {

// The share of the free memory that buffers may take where no limit is given, as a divisor.
constexpr int64_t kDefaultMemoryShare = 4;
constexpr int64_t kMaxLockedBytes = int64_t{4} << 30;

template <typename T>
void CheckRange(const char* option, T value, T low, T high, const char* unit) {
  if (value >= low && value <= high) return;
  throw std::invalid_argument(fmt::format("{} = {} (allowed: {} to {} {})", option, value, low, high, unit));
}

void CheckDevice(const char* option, const std::string& name) {
  if (IsDeviceName(name)) return;
  throw std::invalid_argument(
      fmt::format("{} = \"{}\" (allowed: auto, cpu, sim, cuda, cuda:N, a GPU's UUID)", option, name));
}

// What STOKER_CPU says is looked at with the options, so that a typing mistake is not a slow run.
void CheckCpuPath() {
  const auto refused = RefusedCpuPath();
  if (!refused) return (void)ChosenCpuPath();  // before any kernel runs
  std::string names;
  for (int i = 0; i <= static_cast<int>(BestCpuPath()); ++i) {
    names += fmt::format("{}{}", i > 0 ? ", " : "", CpuPathName(static_cast<CpuPath>(i)));
  }
  throw std::invalid_argument(fmt::format("STOKER_CPU = \"{}\" (allowed on this CPU: {})", *refused, names));
}

}  // namespace

void Validate(const LoaderOptions& options) {
  CheckDevice("device", options.device);
  if (!options.pin_memory_for.empty()) CheckDevice("pin_memory_for", options.pin_memory_for);
  CheckCpuPath();
  CheckRange("batch_size", options.batch_size, 1, 65536, "samples");
  CheckRange("num_workers", options.num_workers, -1, 512, "threads, -1 chooses while running");
  CheckRange("prefetch_factor", options.prefetch_factor, 1, 64, "batches");
  CheckRange("queue_depth", options.queue_depth, 1, 1024, "reads");
  CheckRange("world_size", options.world_size, 1, 1 << 20, "ranks");
  CheckRange("rank", options.rank, 0, options.world_size - 1, "(below world_size)");
  CheckRange<int64_t>("report_every", options.report_every, 0, int64_t{1} << 40, "batches, 0 reports nothing");
  CheckRange<int64_t>("max_errors", options.max_errors, -1, int64_t{1} << 40, "samples, -1 sets no limit");
  CheckRange<int64_t>("max_file_bytes", options.max_file_bytes, 1, int64_t{1} << 40, "bytes");
  CheckRange<int64_t>("max_pixels", options.limits.max_pixels, 1, int64_t{1} << 40, "pixels");
  CheckRange<int64_t>("memory_limit", options.memory_limit_bytes, 0, int64_t{1} << 50, "bytes, 0 chooses");
  CheckRange<int64_t>("index_bytes", options.index_bytes, 0, int64_t{1} << 39, "bytes, 0 chooses");
  if (options.index.empty()) throw std::invalid_argument("index = \"\" (allowed: off, memory, or a folder)");
  if (!(options.read_deadline_seconds >= 0.001 && options.read_deadline_seconds <= 86400)) {
    throw std::invalid_argument(
        fmt::format("read_deadline = {} (allowed: 0.001 to 86400 seconds)", options.read_deadline_seconds));
  }
}

LoaderOptions Resolve(LoaderOptions options, const std::function<int32_t()>& most_workers) {
  Validate(options);
  if (options.num_workers == kAutoWorkers) options.num_workers = most_workers();
  if (options.limits.strict || options.limits.jpeg_entropy == JpegEntropy::kLibrary) options.index = kNoIndex;
  if (options.memory_limit_bytes == 0) {
    options.memory_limit_bytes = AvailableMemoryBytes() / kDefaultMemoryShare;
    const bool locks = options.device != "cpu" && options.device != "auto";
    if (locks || !options.pin_memory_for.empty()) {
      options.memory_limit_bytes = std::min(options.memory_limit_bytes, kMaxLockedBytes);
    }
  }
  return options;
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

}  // namespace stoker

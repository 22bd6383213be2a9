#include "bench/validate/cache_trial.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <system_error>
#include <vector>

#include "augment/random.h"
#include "loader/file_source.h"
#include "loader/loader.h"

namespace stoker {
namespace {

constexpr int kFiles = 64;
constexpr size_t kFileBytes = size_t{2} << 20;
constexpr int kWarmEpochs = 5;
// Where more than this was still cached, nothing was thrown out.
constexpr double kStillCached = 0.5;

// Behind its end a JPEG may hold anything: bytes that are read and not decoded.
void WritePadded(const std::filesystem::path& file, uint64_t seed) {
  std::vector<uint8_t> bytes = SmallPicture();
  Random random({seed, 0, 0}, 0);
  while (bytes.size() < kFileBytes) bytes.push_back(static_cast<uint8_t>(random.Next()));
  std::ofstream out(file, std::ios::binary);
  out.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  out.close();
  if (!out) throw std::system_error(errno, std::generic_category(), "cannot write " + file.string());
}

void ThrowOut(const std::filesystem::path& file) {
  const int descriptor = open(file.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) throw std::system_error(errno, std::generic_category(), "cannot open " + file.string());
  (void)fdatasync(descriptor);  // what is not written yet cannot be thrown out
  (void)posix_fadvise(descriptor, 0, 0, POSIX_FADV_DONTNEED);
  close(descriptor);
}

}  // namespace

CacheTrial::CacheTrial(const std::filesystem::path& folder)
    : folder_(folder / fmt::format("stoker-validate-{}", getpid())) {
  std::filesystem::create_directories(folder_);
  try {
    for (int i = 0; i < kFiles; ++i) WritePadded(folder_ / fmt::format("{:02}.jpg", i), static_cast<uint64_t>(i));
  } catch (...) {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
    throw;
  }
}

CacheTrial::~CacheTrial() {
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

Experiment CacheTrial::WarmExperiment() {
  return {.name = "warm cache",
          .injection = Injection::kFiles,
          .truth = Truth::kInjected,
          .stage = Stage::kIo,
          .bounds = {Bound::kPageCache},
          .bar = 0.95};
}

// Whether storage is short of bandwidth or slow to answer is its own affair.
Experiment CacheTrial::ColdExperiment() {
  return {.name = "cold cache",
          .injection = Injection::kFiles,
          .truth = Truth::kInjected,
          .stage = Stage::kIo,
          .bounds = {Bound::kCapacity, Bound::kLatency},
          .bar = 0.95};
}

StallReport CacheTrial::Run(bool cold) const {
  LoaderOptions options;
  options.batch_size = 2;
  options.recipe = TrainRecipe(kSmallSide, ElementType::kUint8);
  options.device = "cpu";
  options.num_workers = std::max(1, UsableCpus() - 1);
  options.queue_depth = 8;
  Loader loader(options, OpenFolder(folder_.string()));
  const auto load = [&loader] {
    while (loader.Next()) {
    }
  };
  load();  // with it, threads and buffers come into being
  if (cold) {
    for (const auto& file : std::filesystem::directory_iterator(folder_)) ThrowOut(file.path());
  }
  loader.RestartReport();
  for (int epoch = 0; epoch < (cold ? 1 : kWarmEpochs); ++epoch) load();
  return loader.Report();
}

StallReport CacheTrial::Warm() const { return Run(false); }

std::optional<StallReport> CacheTrial::Cold() const {
  StallReport report = Run(true);
  if (report.cached_share > kStillCached) return std::nullopt;
  return report;
}

}  // namespace stoker

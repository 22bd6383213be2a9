#include "loader/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <stdexcept>
#include <string>

namespace stoker {
namespace {

struct BadOption {
  std::function<void(LoaderOptions&)> set;
  std::string words;  // the option, its value and what is allowed
};

TEST(LoaderOptions, AreValidAsTheyAre) { EXPECT_NO_THROW(Validate(LoaderOptions())); }

TEST(LoaderOptions, NameTheOptionItsValueAndItsRange) {
  const BadOption bad[] = {
      {[](auto& o) { o.batch_size = 0; }, "batch_size = 0 (allowed: 1 to 65536 samples)"},
      {[](auto& o) { o.batch_size = 65537; }, "batch_size = 65537 (allowed: 1 to 65536"},
      {[](auto& o) { o.num_workers = -2; }, "num_workers = -2 (allowed: -1 to 512 threads"},
      {[](auto& o) { o.num_workers = 513; }, "num_workers = 513"},
      {[](auto& o) { o.prefetch_factor = 0; }, "prefetch_factor = 0 (allowed: 1 to 64 batches)"},
      {[](auto& o) { o.prefetch_factor = 65; }, "prefetch_factor = 65"},
      {[](auto& o) { o.queue_depth = 0; }, "queue_depth = 0 (allowed: 1 to 1024 reads)"},
      {[](auto& o) { o.queue_depth = 1025; }, "queue_depth = 1025"},
      {[](auto& o) { o.world_size = 0; }, "world_size = 0 (allowed: 1 to 1048576 ranks)"},
      {[](auto& o) { o.rank = -1; }, "rank = -1 (allowed: 0 to 0"},
      {[](auto& o) { o.world_size = 4, o.rank = 4; }, "rank = 4 (allowed: 0 to 3 (below world_size))"},
      {[](auto& o) { o.max_errors = -2; }, "max_errors = -2 (allowed: -1 to"},
      {[](auto& o) { o.max_file_bytes = 0; }, "max_file_bytes = 0 (allowed: 1 to 1099511627776 bytes)"},
      {[](auto& o) { o.limits.max_pixels = 0; }, "max_pixels = 0 (allowed: 1 to 1099511627776 pixels)"},
      {[](auto& o) { o.memory_limit_bytes = -1; }, "memory_limit = -1 (allowed: 0 to"},
      {[](auto& o) { o.index = ""; }, "index = \"\" (allowed: off, memory, or a folder)"},
      {[](auto& o) { o.index_bytes = -1; }, "index_bytes = -1 (allowed: 0 to 549755813888 bytes"},
      {[](auto& o) { o.read_deadline_seconds = 0; }, "read_deadline = 0 (allowed: 0.001 to 86400 seconds)"},
      {[](auto& o) { o.read_deadline_seconds = 86401; }, "read_deadline = 86401 (allowed:"},
      {[](auto& o) { o.read_deadline_seconds = std::nan(""); }, "read_deadline = nan (allowed:"},
  };
  for (const BadOption& one : bad) {
    LoaderOptions options;
    one.set(options);
    try {
      Validate(options);
      ADD_FAILURE() << "passed: " << one.words;
    } catch (const std::invalid_argument& error) {
      EXPECT_THAT(error.what(), testing::HasSubstr(one.words));
    }
  }
}

TEST(LoaderOptions, TakeTheEndsOfEveryRange) {
  LoaderOptions least;
  least.batch_size = least.prefetch_factor = least.queue_depth = 1;
  least.num_workers = -1;
  least.max_errors = -1;
  least.max_file_bytes = least.limits.max_pixels = 1;
  least.read_deadline_seconds = 0.001;
  EXPECT_NO_THROW(Validate(least));
  LoaderOptions most;
  most.batch_size = 65536;
  most.num_workers = 512;
  most.prefetch_factor = 64;
  most.queue_depth = 1024;
  most.index_bytes = int64_t{1} << 39;
  most.world_size = 1 << 20;
  most.rank = most.world_size - 1;
  most.read_deadline_seconds = 86400;
  EXPECT_NO_THROW(Validate(most));
}

TEST(LoaderOptions, KnowDevicesByTheirNames) {
  LoaderOptions options;
  for (const char* name : {"auto", "cpu", "sim", "cuda", "cuda:0", "cuda:15", "GPU-1b2c"}) {
    options.device = options.pin_memory_for = name;
    EXPECT_NO_THROW(Validate(options)) << name;
  }
  for (const char* name : {"", "gpu", "cuda:", "cuda:x", "cuda:-1", "cuda:99999", "CUDA"}) {
    options.device = name;
    EXPECT_THROW(Validate(options), std::invalid_argument) << name;
  }
}

TEST(LoaderOptions, TakeNoMoreThanFourGigabytesOfLockedMemoryUnasked) {
  LoaderOptions options;
  options.device = "sim";
  EXPECT_LE(Resolve(options).memory_limit_bytes, int64_t{4} << 30);
  options.memory_limit_bytes = int64_t{5} << 30;
  EXPECT_EQ(Resolve(options).memory_limit_bytes, int64_t{5} << 30);
}

TEST(LoaderOptions, MakeNoIndexWhereNothingWouldBeLearned) {
  LoaderOptions options;
  options.num_workers = 1;
  options.index = "a folder";
  EXPECT_EQ(Resolve(options).index, "a folder");
  LoaderOptions strict = options;
  strict.limits.strict = true;
  EXPECT_EQ(Resolve(strict).index, "off");
  options.limits.jpeg_entropy = JpegEntropy::kLibrary;
  EXPECT_EQ(Resolve(options).index, "off");
}

TEST(LoaderOptions, HaveWordsForEveryChoice) {
  EXPECT_EQ(OnErrorName(OnError::kRaise), "raise");
  EXPECT_EQ(OnErrorName(OnError::kSkip), "skip");
  EXPECT_EQ(OnErrorName(OnError::kMask), "mask");
  EXPECT_EQ(ReaderName(ReaderKind::kAuto), "auto");
  EXPECT_EQ(ReaderName(ReaderKind::kUring), "io_uring");
  EXPECT_EQ(ReaderName(ReaderKind::kPread), "pread");
}

}  // namespace
}  // namespace stoker

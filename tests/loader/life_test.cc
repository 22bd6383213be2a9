// The life of loaders: kept, dropped, cancelled, forked, thrown through, many at once and one after the other.
#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>

#include "loader/seams.h"
#include "tests/loader/drain.h"
#include "tests/loader/faults.h"
#include "tests/loader/late_reader.h"

namespace stoker {
namespace {

using testing::HasSubstr;

using Life = Faults;

#if defined(__SANITIZE_ADDRESS__) || defined(__clang__)
constexpr int64_t kPagesAllowed = int64_t{1} << 20;  // a sanitizer keeps freed memory back for a while
#else
constexpr int64_t kPagesAllowed = 2000;
#endif

TEST_F(Life, ACallerWhoKeepsEveryBatchIsToldSo) {
  for (const DeviceKind device : {DeviceKind::kCpu, DeviceKind::kSim}) {
    options_.device = device;
    Loader loader(options_, Open());
    std::vector<Batch> kept;
    std::error_code code;
    try {
      for (;;) kept.push_back(*loader.Next());
    } catch (const Error& error) {
      code = error.code();
      EXPECT_THAT(error.what(), HasSubstr("prefetch_factor"));
    }
    EXPECT_EQ(code, LoadError::kAllSlotsHeld);
    const uint64_t next = kept.back().position() + 4;
    kept.clear();
    EXPECT_EQ(loader.Next()->position(), next);
  }
}

TEST_F(Life, CanBeDestroyedAtEveryMoment) {
  for (const DeviceKind device : {DeviceKind::kCpu, DeviceKind::kSim}) {
    for (const int workers : {0, 4}) {
      for (int taken = 0; taken <= 6; ++taken) {
        options_.device = device;
        options_.num_workers = workers;
        Loader loader(options_, Open());
        std::optional<Batch> held;
        for (int i = 0; i < taken; ++i) {
          held.reset();
          held = loader.Next();
        }
        EXPECT_EQ(held.has_value(), taken > 0 && taken <= 5);
      }
    }
  }
}

TEST_F(Life, ManyLoadersOneAfterTheOtherLeaveNoThreadAndNoMemoryBehind) {
  const auto entries = [](const char* folder) {
    return std::distance(std::filesystem::directory_iterator(folder), std::filesystem::directory_iterator());
  };
  const auto resident_pages = [] {
    int64_t all = 0, resident = 0;
    std::ifstream("/proc/self/statm") >> all >> resident;
    return resident;
  };
  const auto use_one = [&] {
    Loader loader(options_, Open());
    return loader.Next().has_value();
  };
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(use_one());
  const auto threads = entries("/proc/self/task");
  const auto descriptors = entries("/proc/self/fd");
  const int64_t pages = resident_pages();
  for (int i = 0; i < 200; ++i) ASSERT_TRUE(use_one());
  // The pool of decoding threads may come and go; nothing may pile up.
  EXPECT_LE(entries("/proc/self/task"), threads + options_.num_workers + 1);
  EXPECT_EQ(entries("/proc/self/fd"), descriptors);
  EXPECT_LT(resident_pages() - pages, kPagesAllowed);
}

TEST_F(Life, AnExceptionInTheCallersLoopLeavesNothingBehind) {
  for (int i = 0; i < 20; ++i) {
    EXPECT_THROW(
        {
          Loader loader(options_, Open());
          while (const auto batch = loader.Next()) throw std::runtime_error("the caller's own");
        },
        std::runtime_error);
  }
}

TEST_F(Life, TwoLoadersSideBySideGiveWhatEachGivesAlone) {
  Loader alone(options_, Open());
  const std::vector<LoadedBatch> expected = DrainEpochs(alone, 1);
  Loader first(options_, Open());
  options_.num_workers = 7;
  Loader second(options_, Open());
  for (const LoadedBatch& batch : expected) {
    EXPECT_EQ(Copy(*first.Next()), batch);
    EXPECT_EQ(Copy(*second.Next()), batch);
  }
}

TEST_F(Life, CancelEndsAWaitingNext) {
  options_.reader = ReaderKind::kPread;
  Loader loader(options_, Open(),
                FaultyReads([](uint64_t, const SampleJob&) { return Fault{.error = {}, .never = true}; }));
  std::thread canceller([&] { loader.Cancel(); });
  std::error_code code;
  ThrownBy(loader, &code);
  canceller.join();
  EXPECT_TRUE(code == LoadError::kCancelled || code == LoadError::kStopped) << code.message();
}

TEST_F(Life, AForkedChildGetsAnErrorInsteadOfAHang) {
  Loader loader(options_, Open());
  ASSERT_TRUE(loader.Next());
  const pid_t child = fork();
  if (child == 0) {
    std::error_code code;
    ThrownBy(loader, &code);
    _exit(code == LoadError::kForked ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

}  // namespace
}  // namespace stoker

// The life of loaders: kept, dropped, cancelled, forked, thrown through, many at once and one after the other.
#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <functional>
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
  for (const std::string device : {"cpu", "sim"}) {
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

TEST_F(Life, ACallerWhoKeepsEveryBatchGetsMoreSlotsWhereItAsksForThem) {
  options_.grow_slots = true;
  Loader loader(options_, Open());
  const std::vector<LoadedBatch> expected = DrainEpochs(loader, 1);
  EXPECT_EQ(loader.Report().extra_slots_peak, 0u);
  loader.StartEpoch(0);
  std::vector<Batch> kept;
  while (auto batch = loader.Next()) kept.push_back(std::move(*batch));
  ASSERT_EQ(kept.size(), expected.size());
  for (size_t i = 0; i < kept.size(); ++i) EXPECT_EQ(Copy(kept[i]), expected[i]);
  EXPECT_GT(loader.Report().extra_slots, 0u);
  EXPECT_FALSE(loader.OverBudget());
  kept.clear();
  EXPECT_EQ(DrainEpochs(loader, 1).size(), expected.size());
}

TEST_F(Life, TellsThatKeptBatchesHaveOutgrownTheMemoryLimit) {
  options_.grow_slots = true;
  options_.index = "off";  // which would leave them what it has
  options_.memory_limit_bytes = static_cast<int64_t>(Loader(options_, Open()).Report().budget_bytes) + 4096;
  Loader loader(options_, Open());
  std::vector<Batch> kept;
  while (auto batch = loader.Next()) kept.push_back(std::move(*batch));
  EXPECT_TRUE(loader.OverBudget());
}

TEST_F(Life, FollowsAnOrderOfTheCallersForOneEpoch) {
  Loader loader(options_, Open());
  const std::vector<uint32_t> ids = {3, 3, 0, 7, 1, 2};
  loader.StartEpoch(9, std::make_shared<ListOrder>(ids, 20));
  std::vector<int64_t> given;
  for (const LoadedBatch& batch : DrainEpochs(loader, 1)) given.insert(given.end(), batch.ids.begin(), batch.ids.end());
  EXPECT_EQ(given, std::vector<int64_t>(ids.begin(), ids.end()));
  EXPECT_EQ(DrainEpochs(loader, 1).size(), static_cast<size_t>(loader.batches_per_epoch()));
}

TEST_F(Life, WhatIsThrownWhileWaitingEndsTheWaitAndNothingElse) {
  options_.reader = ReaderKind::kPread;
  Loader unbroken(options_, Open());
  const LoadedBatch expected = Copy(*unbroken.Next());
  std::atomic<bool> hold{true};  // the feeder waits for it: nothing else is published
  Loader loader(options_, Open(), FaultyReads([&hold](uint64_t, const SampleJob&) {
                  while (hold.load(std::memory_order_relaxed)) std::this_thread::yield();
                  return Fault{};
                }));
  int calls = 0;
  const auto give_up = [&] {
    hold.store(false, std::memory_order_relaxed);
    ++calls;
    throw std::runtime_error("enough");
  };
  EXPECT_THROW((void)loader.Next(kHostStream, give_up), std::runtime_error);
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(Copy(*loader.Next()), expected);
}

TEST_F(Life, ReportsFromTheRestartOn) {
  Loader loader(options_, Open());
  (void)DrainEpochs(loader, 1);
  EXPECT_GT(loader.Report().samples, 0);
  loader.RestartReport();
  EXPECT_EQ(loader.Report().samples, 0);
  const size_t batches = DrainEpochs(loader, 1).size();
  EXPECT_EQ(loader.Report().batches, static_cast<int64_t>(batches));
}

TEST_F(Life, CanBeDestroyedAtEveryMoment) {
  for (const std::string device : {"cpu", "sim"}) {
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

TEST_F(Life, AStartThatWaitsForReadsOfTheEpochBeforeCanBeLeftAndCancelled) {
  options_.reader = ReaderKind::kPread;
  Loader loader(options_, Open(),
                FaultyReads([](uint64_t, const SampleJob&) { return Fault{.error = {}, .never = true}; }));
  const auto leave = [] { throw std::runtime_error("the caller's own"); };
  EXPECT_THROW(loader.Next(kHostStream, leave), std::runtime_error);
  EXPECT_THROW(loader.StartEpoch(5, 0, leave), std::runtime_error);
  EXPECT_THROW(loader.StartEpoch(5, 0, leave), std::runtime_error);
  loader.Cancel();
  try {
    loader.StartEpoch(5);
    FAIL() << "was not cancelled";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), LoadError::kCancelled);
  }
}

TEST_F(Life, AForkedChildThatMakesALoaderGetsAnErrorInsteadOfAHang) {
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
  GTEST_SKIP() << "AddressSanitizer's allocator may be locked for ever in a child of a process with threads";
#endif
#endif
  options_.num_workers = 2;
  Loader loader(options_, Open());
  ASSERT_TRUE(loader.Next());
  const pid_t child = fork();
  if (child == 0) {
    std::error_code code;
    try {
      Loader(options_, Open());
    } catch (const Error& error) {
      code = error.code();
    }
    options_.num_workers = 0;
    const bool decodes_alone = Loader(options_, Open()).Next().has_value();
    _exit(code == LoadError::kForked && decodes_alone ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

TEST_F(Life, AForkedChildGetsAnErrorInsteadOfAHang) {
  Loader loader(options_, Open());
  ASSERT_TRUE(loader.Next());
  const pid_t child = fork();
  if (child == 0) {
    const std::function<void()> calls[] = {
        [&] { loader.Next(); },          [&] { loader.StartEpoch(0); },       [&] { loader.Report(); },
        [&] { loader.RestartReport(); }, [&] { loader.EndEpoch(); },          [&] { loader.WriteTrace("/dev/null"); },
        [&] { loader.OverBudget(); },    [&] { loader.SetActiveWorkers(1); }, [&] { loader.active_workers(); },
    };
    const bool all_say_so = std::all_of(std::begin(calls), std::end(calls), [](const std::function<void()>& call) {
      try {
        call();
      } catch (const Error& error) {
        return error.code() == LoadError::kForked;
      }
      return false;
    });
    _exit(all_say_so ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

}  // namespace
}  // namespace stoker

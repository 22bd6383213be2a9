#include "loader/bad_samples.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <string>
#include <thread>
#include <vector>

#include "loader/error.h"

namespace stoker {
namespace {

std::error_code System(int error) { return {error, std::generic_category()}; }

TEST(ReasonOf, NamesFormatCauseDetailAndPlace) {
  Diagnosis diagnosis;
  diagnosis.format = Format::kJpeg;
  diagnosis.offset_bytes = 511;
  diagnosis.Say("premature end");
  EXPECT_EQ(ReasonOf(DecodeError::kTruncated, diagnosis),
            "JPEG: " + std::error_code(DecodeError::kTruncated).message() + " (premature end) at byte 511");
}

TEST(ReasonOf, LeavesOutWhatIsNotKnown) {
  EXPECT_EQ(ReasonOf(LoadError::kReadTimedOut, {}), "the read did not come back within the deadline");
}

TEST(ReasonOf, PutsTheSystemsErrorsIntoWords) {
  EXPECT_EQ(ReasonOf(System(ENOENT), {}), "vanished: no such file any more");
  EXPECT_EQ(ReasonOf(System(EACCES), {}), "permission denied");
  EXPECT_EQ(ReasonOf(System(EMFILE), {}), "too many open files: raise ulimit -n");
  EXPECT_EQ(ReasonOf(System(EIO), {}), "input/output error: the storage failed to deliver");
  EXPECT_EQ(ReasonOf(System(EISDIR), {}), "Is a directory");
}

TEST(BadSamples, GivesABatchsSamplesInOrderOnce) {
  BadSamples bad;
  const auto add = [&](int64_t batch, uint64_t position, uint64_t attempt, uint64_t id) {
    bad.Add({.batch = batch, .position = position, .attempt = attempt, .id = id, .error = {}, .diagnosis = {}});
  };
  add(1, 9, 0, 1);
  add(0, 3, 1, 2);
  add(0, 3, 0, 3);
  add(0, 1, 0, 4);
  std::vector<uint64_t> ids;
  for (const BadSample& one : bad.Take(0)) ids.push_back(one.id);
  EXPECT_EQ(ids, (std::vector<uint64_t>{4, 3, 2}));
  EXPECT_TRUE(bad.Take(0).empty());
  EXPECT_EQ(bad.Take(1).size(), 1u);
}

TEST(BadSamples, ForgetsWhatWasNotTaken) {
  BadSamples bad;
  bad.Add({});
  bad.Clear();
  EXPECT_TRUE(bad.Take(0).empty());
}

TEST(BadSamples, MayBeToldFromSeveralThreads) {
  BadSamples bad;
  std::vector<std::thread> threads;
  for (uint64_t t = 0; t < 4; ++t) {
    threads.emplace_back([&bad, t] {
      for (uint64_t i = 0; i < 100; ++i) {
        bad.Add({.batch = static_cast<int64_t>(i % 2),
                 .position = t * 100 + i,
                 .attempt = 0,
                 .id = i,
                 .error = {},
                 .diagnosis = {}});
        bad.CountWarning();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(bad.warnings(), 400u);
  const std::vector<BadSample> even = bad.Take(0);
  ASSERT_EQ(even.size(), 200u);
  for (size_t i = 1; i < even.size(); ++i) EXPECT_LT(even[i - 1].position, even[i].position);
}

}  // namespace
}  // namespace stoker

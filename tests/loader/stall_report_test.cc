#include "loader/stall_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <string>

namespace stoker {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

constexpr int64_t kSecond = 1'000'000'000;

// Ten seconds of which `leader` has nine tenths, and 1,000 pictures.
StallTotals LedBy(Stage leader, int64_t stall_ns) {
  StallTotals totals;
  totals.wall_ns = 10 * kSecond;
  totals.stall_ns = stall_ns;
  totals.blame_ns.fill(kSecond / 5);
  totals.blame_ns[static_cast<size_t>(leader)] = 9 * kSecond;
  totals.samples = 1000;
  totals.batches = 10;
  totals.bytes = 123456;
  return totals;
}

StallReport ReportOf(const StallTotals& totals, const StageServers& servers = {}) {
  StallReport report;
  Judge(totals, servers, report);
  return report;
}

TEST(StallWords, ChangeAtFiveAndTwentyPercent) {
  EXPECT_STREQ(StallWords(0), "not loader-bound");
  EXPECT_STREQ(StallWords(0.0499), "not loader-bound");
  EXPECT_STREQ(StallWords(0.05), "moderately loader-bound");
  EXPECT_STREQ(StallWords(0.1999), "moderately loader-bound");
  EXPECT_STREQ(StallWords(0.2), "highly loader-bound");
  EXPECT_STREQ(StallWords(1), "highly loader-bound");
}

TEST(Judge, TurnsSumsIntoRatesAndShares) {
  StallTotals totals = LedBy(Stage::kDecode, 3 * kSecond);
  totals.read_ns = 4 * kSecond;
  totals.decode_ns = 6 * kSecond;
  totals.augment_ns = 2 * kSecond;
  totals.copy_ns = kSecond / 2;
  totals.consumer_ns = 5 * kSecond;
  totals.cached_reads = 250;
  const StallReport report = ReportOf(totals, {.readers = 8, .workers = 2});
  EXPECT_DOUBLE_EQ(report.seconds, 10);
  EXPECT_EQ(report.samples, 1000);
  EXPECT_EQ(report.batches, 10);
  EXPECT_EQ(report.bytes_read, 123456u);
  EXPECT_DOUBLE_EQ(report.images_per_second, 100);
  EXPECT_DOUBLE_EQ(report.stall_share, 0.3);
  EXPECT_DOUBLE_EQ(report.shares[static_cast<size_t>(Stage::kDecode)], 0.9);
  EXPECT_DOUBLE_EQ(std::accumulate(report.shares.begin(), report.shares.end(), 0.0), 1);
  EXPECT_DOUBLE_EQ(report.io_ceiling, 2000);     // 8 at once, 4 ms each
  EXPECT_DOUBLE_EQ(report.decode_ceiling, 250);  // 2 at once, 8 ms each
  EXPECT_DOUBLE_EQ(report.copy_ceiling, 2000);
  EXPECT_DOUBLE_EQ(report.consumer_ceiling, 200);
  EXPECT_DOUBLE_EQ(report.read_ms, 4);
  EXPECT_DOUBLE_EQ(report.decode_ms, 6);
  EXPECT_DOUBLE_EQ(report.augment_ms, 2);
  EXPECT_DOUBLE_EQ(report.cached_share, 0.25);
}

TEST(Judge, SaysNothingOfStagesThatDidNothing) {
  const StallReport report = ReportOf(LedBy(Stage::kIo, 0));
  EXPECT_EQ(report.io_ceiling, 0);
  EXPECT_EQ(report.decode_ceiling, 0);
  EXPECT_EQ(report.copy_ceiling, 0);
  EXPECT_EQ(report.consumer_ceiling, 0);
}

TEST(Judge, NamesTheLeadingStageAndWhatHelps) {
  EXPECT_THAT(ReportOf(LedBy(Stage::kIo, 5 * kSecond)).verdict, StartsWith("highly loader-bound; I/O-bound"));
  EXPECT_THAT(ReportOf(LedBy(Stage::kIo, 5 * kSecond)).advice, HasSubstr("queue_depth"));
  EXPECT_THAT(ReportOf(LedBy(Stage::kCopy, kSecond)).verdict, StartsWith("moderately loader-bound; copy-bound"));
  EXPECT_THAT(ReportOf(LedBy(Stage::kCopy, kSecond)).advice, HasSubstr("pinned"));
  EXPECT_THAT(ReportOf(LedBy(Stage::kConsumer, 0)).verdict, StartsWith("not loader-bound; consumer-bound"));
  EXPECT_THAT(ReportOf(LedBy(Stage::kRuntime, kSecond)).verdict, HasSubstr("the loader's own hand-overs"));
  EXPECT_THAT(ReportOf(LedBy(Stage::kOther, kSecond)).verdict, HasSubstr("too short to tell"));
  for (size_t stage = 0; stage < kStages; ++stage) {
    EXPECT_FALSE(ReportOf(LedBy(static_cast<Stage>(stage), kSecond)).advice.empty());
  }
}

TEST(Judge, TellsFullWorkersFromWaitingOnes) {
  StallTotals totals = LedBy(Stage::kDecode, 5 * kSecond);
  totals.decode_ns = 19 * kSecond;  // of the 20 that two workers have
  EXPECT_THAT(ReportOf(totals, {.readers = 1, .workers = 2}).verdict, HasSubstr("CPU-bound"));
  totals.decode_ns = 8 * kSecond;
  const StallReport report = ReportOf(totals, {.readers = 1, .workers = 2});
  EXPECT_THAT(report.verdict, HasSubstr("the workers are not full"));
  EXPECT_THAT(report.advice, HasSubstr("prefetch_factor"));
}

TEST(Judge, DoesNotAbsolveALoaderBecauseTheStepLeads) {
  StallTotals totals = LedBy(Stage::kConsumer, 3 * kSecond);
  totals.blame_ns[static_cast<size_t>(Stage::kConsumer)] = 7 * kSecond;
  totals.blame_ns[static_cast<size_t>(Stage::kDecode)] += 2 * kSecond;
  const StallReport report = ReportOf(totals);
  EXPECT_THAT(report.verdict, StartsWith("highly loader-bound; the training step leads with 70 %"));
  EXPECT_THAT(report.verdict, testing::Not(HasSubstr("keeps up")));
}

TEST(Judge, SaysThatNothingWasLoaded) {
  const StallReport report = ReportOf(StallTotals());
  EXPECT_EQ(report.verdict, "nothing was loaded");
  EXPECT_EQ(report.images_per_second, 0);
}

}  // namespace
}  // namespace stoker

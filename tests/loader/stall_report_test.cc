#include "loader/stall_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <initializer_list>
#include <numeric>
#include <string>

namespace stoker {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

constexpr int64_t kSecond = 1'000'000'000;

constexpr std::array<Part, kStages> kPartOf = {Part::kStorage, Part::kDecode,  Part::kTransfer,
                                               Part::kStep,    Part::kRuntime, Part::kOther};

// Ten seconds along the path, by stage, in the order of the stages.
StallTotals Path(std::initializer_list<int64_t> tenths, int64_t stall_ns) {
  StallTotals totals;
  totals.path = PathSums(1);
  int64_t at = 1;
  for (size_t i = 0; i < kStages; ++i) {
    const int64_t end = at + tenths.begin()[i] * kSecond / 10;
    totals.path.Add(kPartOf[i], at, end);
    at = end;
  }
  totals.wall_ns = 10 * kSecond;
  totals.stall_ns = stall_ns;
  totals.samples = 1000;
  totals.batches = 10;
  totals.bytes = 123456;
  return totals;
}

// Nine of the seconds for `leader`.
StallTotals LedBy(Stage leader, int64_t stall_ns) {
  std::array<int64_t, kStages> tenths;
  tenths.fill(2);
  tenths[static_cast<size_t>(leader)] = 90;
  return Path({tenths[0], tenths[1], tenths[2], tenths[3], tenths[4], tenths[5]}, stall_ns);
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
  EXPECT_DOUBLE_EQ(report.ceilings[static_cast<size_t>(Stage::kIo)], 2000);     // 8 at once, 4 ms each
  EXPECT_DOUBLE_EQ(report.ceilings[static_cast<size_t>(Stage::kDecode)], 250);  // 2 at once, 8 ms each
  EXPECT_DOUBLE_EQ(report.ceilings[static_cast<size_t>(Stage::kCopy)], 2000);
  EXPECT_DOUBLE_EQ(report.ceilings[static_cast<size_t>(Stage::kConsumer)], 200);
  EXPECT_DOUBLE_EQ(report.read_ms, 4);
  EXPECT_DOUBLE_EQ(report.decode_ms, 6);
  EXPECT_DOUBLE_EQ(report.augment_ms, 2);
  EXPECT_DOUBLE_EQ(report.cached_share, 0.25);
}

TEST(Judge, SaysNothingOfStagesThatDidNothing) {
  const StallReport report = ReportOf(LedBy(Stage::kIo, 0));
  EXPECT_EQ(report.ceilings[static_cast<size_t>(Stage::kIo)], 0);
  EXPECT_EQ(report.ceilings[static_cast<size_t>(Stage::kDecode)], 0);
  EXPECT_EQ(report.ceilings[static_cast<size_t>(Stage::kCopy)], 0);
  EXPECT_EQ(report.ceilings[static_cast<size_t>(Stage::kConsumer)], 0);
}

TEST(Judge, NamesTheLeadingStageAndWhatHelps) {
  EXPECT_THAT(ReportOf(LedBy(Stage::kIo, 5 * kSecond)).verdict, StartsWith("highly loader-bound; I/O-bound"));
  EXPECT_THAT(ReportOf(LedBy(Stage::kIo, 5 * kSecond)).advice, HasSubstr("queue_depth"));
  EXPECT_THAT(ReportOf(LedBy(Stage::kCopy, kSecond)).verdict, StartsWith("moderately loader-bound; copy-bound"));
  EXPECT_THAT(ReportOf(LedBy(Stage::kCopy, kSecond)).advice, HasSubstr("pinned"));
  EXPECT_THAT(ReportOf(LedBy(Stage::kConsumer, 0)).verdict, StartsWith("not loader-bound; consumer-bound"));
  EXPECT_THAT(ReportOf(LedBy(Stage::kRuntime, kSecond)).verdict, HasSubstr("the loader's own hand-overs"));
  EXPECT_THAT(ReportOf(LedBy(Stage::kOther, kSecond)).verdict, HasSubstr("a batch is waited for"));
  StallTotals start = LedBy(Stage::kOther, kSecond);
  start.batches = 0;
  EXPECT_THAT(ReportOf(start).verdict, HasSubstr("too short to tell"));
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

TEST(Judge, TellsStarvedWorkersFromSlowOnes) {
  StallTotals totals = LedBy(Stage::kDecode, 5 * kSecond);
  totals.decode_ns = 19 * kSecond;
  totals.clocked_ns = 1000;
  totals.on_cpu_ns = 900;
  EXPECT_EQ(ReportOf(totals, {.readers = 1, .workers = 2}).bound, Bound::kCapacity);
  totals.on_cpu_ns = 500;
  const StallReport report = ReportOf(totals, {.readers = 1, .workers = 2});
  EXPECT_EQ(report.bound, Bound::kStarved);
  EXPECT_THAT(report.verdict, HasSubstr("on a CPU for only 50 % of it"));
  EXPECT_NEAR(report.parts[static_cast<size_t>(Part::kOffCpu)], 0.45, 1e-9);
  EXPECT_NEAR(report.parts[static_cast<size_t>(Part::kDecode)], 0.45, 1e-9);
  EXPECT_NEAR(std::accumulate(report.parts.begin(), report.parts.end(), 0.0), 1, 1e-9);
}

TEST(Judge, TellsFullStorageFromDelayAndFromThePageCache) {
  StallTotals totals = LedBy(Stage::kIo, 5 * kSecond);
  totals.read_ns = 79 * kSecond;  // of the 80 that eight readers have
  EXPECT_EQ(ReportOf(totals, {.readers = 8, .workers = 2}).bound, Bound::kCapacity);
  totals.read_ns = 30 * kSecond;
  EXPECT_EQ(ReportOf(totals, {.readers = 8, .workers = 2}).bound, Bound::kLatency);
  totals.cached_reads = totals.samples;
  EXPECT_EQ(ReportOf(totals, {.readers = 8, .workers = 2}).bound, Bound::kPageCache);
}

TEST(Judge, CallsCopiesContendedThatTakeLongerThanTheyCould) {
  StallTotals totals = LedBy(Stage::kCopy, 5 * kSecond);
  totals.copy_ns = 9 * kSecond;
  EXPECT_EQ(ReportOf(totals).bound, Bound::kCapacity);
  totals.path.Move(Part::kStorage, Part::kForeignCopies);
  EXPECT_EQ(ReportOf(totals).bound, Bound::kCapacity);
  totals.path.Move(Part::kTransfer, Part::kForeignCopies);
  EXPECT_EQ(ReportOf(totals).bound, Bound::kContended);
}

TEST(Judge, CallsMixedWhatWouldChangePlaces) {
  // Two stages whose windows differ more than they do: 55 and 45 % by turns of 100 and 10 %.
  StallTotals totals;
  totals.path = PathSums(1);
  for (int64_t i = 0; i < 20; ++i) {
    const int64_t begin = 1 + i * kSecond, middle = begin + (i % 2 == 0 ? kSecond : kSecond / 10);
    totals.path.Add(Part::kDecode, begin, middle);
    totals.path.Add(Part::kStorage, middle, begin + kSecond);
    totals.path.EndBatch(begin + kSecond);
  }
  totals.wall_ns = 20 * kSecond;
  totals.samples = 1;
  const StallReport report = ReportOf(totals);
  EXPECT_EQ(report.windows, 21);
  EXPECT_NEAR(report.shares[static_cast<size_t>(Stage::kDecode)], 0.55, 1e-9);
  // The standard error of the mean of twenty times 1 or 0.1 is 0.4617 / sqrt(20), and t is 2.09.
  EXPECT_NEAR(report.margins[static_cast<size_t>(Stage::kDecode)], 0.216, 0.01);
  EXPECT_EQ(report.bound, Bound::kMixed);
  EXPECT_THAT(report.verdict, HasSubstr("mixed: decode 55 +/- "));
}

TEST(Judge, CallsTwoFullStagesMixed) {
  StallTotals totals = Path({32, 60, 2, 2, 2, 2}, 5 * kSecond);
  totals.decode_ns = 19'800'000'000;
  totals.read_ns = 9'700'000'000;
  EXPECT_EQ(ReportOf(totals, {.readers = 1, .workers = 2}).bound, Bound::kMixed);
  totals.read_ns = 9'000'000'000;
  EXPECT_EQ(ReportOf(totals, {.readers = 1, .workers = 2}).bound, Bound::kCapacity);
}

TEST(Judge, PredictsWhatATenthWouldGain) {
  StallTotals totals = LedBy(Stage::kDecode, 5 * kSecond);
  totals.decode_ns = 9 * kSecond;
  totals.consumer_ns = 4 * kSecond;
  const auto decode = static_cast<size_t>(Stage::kDecode);
  EXPECT_NEAR(ReportOf(totals).gains[decode], 1 / (1 - 0.9 * (1 - 1 / 1.1)) - 1, 1e-9);
  totals.consumer_ns = 9'600'000'000;  // the step lets only 4 % more through
  EXPECT_NEAR(ReportOf(totals).gains[decode], 1 / 0.96 - 1, 1e-9);
}

TEST(Judge, DoesNotAbsolveALoaderBecauseTheStepLeads) {
  const StallReport report = ReportOf(Path({2, 22, 2, 70, 2, 2}, 3 * kSecond));
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

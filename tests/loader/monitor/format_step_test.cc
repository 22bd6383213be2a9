#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "loader/step_report.h"

namespace stoker {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;

// The example of a job that decodes too slowly.
StepReport Example() {
  StepReport report;
  report.step = 12500;
  report.step_ms = 41.8;
  report.smoothed_step_ms = 41.5;
  StallReport& stalls = report.stalls;
  stalls.stall_share = 0.112;
  stalls.device_stall_share = 0.105;
  stalls.shares = {0.07, 0.63, 0.02, 0.27, 0.01, 0};
  stalls.margins = {0.01, 0.04, 0.01, 0.03, 0.01, 0};
  stalls.leader = Stage::kDecode;
  stalls.ceilings = {9800, 6123, 41000, 6900};
  stalls.gains = {0.006, 0.061, 0.002, 0.02};
  stalls.verdict = "moderately loader-bound; CPU-bound";
  stalls.empties = 210;
  report.rss_bytes = 6'100'000'000;
  report.growth_bytes_per_epoch = 10e6;
  report.vram_used_bytes = 18'200'000'000;
  report.vram_total_bytes = 24'000'000'000;
  report.gpu_busy_percent = 88;
  report.cpu_share = 0.57;
  report.run_queue_share = 0.03;
  report.cache_hit_share = 0.12;
  report.pinned_bytes = 1;
  report.slots_full = 1;
  report.slots = 4;
  return report;
}

TEST(FormatStep, SaysAllOfItInOneLine) {
  EXPECT_EQ(FormatStep(Example()),
            "step 12500 | 41.8 ms/step (ewma 41.5) | stall 11.2 %: host 0.3 ms, device 4.4 ms | moderately "
            "loader-bound; CPU-bound | path: io 7 decode 63+/-4 copy 2 consumer 27 runtime 1 other 0 % | ceilings "
            "img/s: io 9.8k decode 6.1k copy 41k consumer 6.9k | if decode +10 %: +6.1 % | rss 6.10 GB (+0.01/epoch) "
            "vram 18.2/24 GB gpu-busy 88 % cpu 57 % runq 3 % cache-hit 12 % | pinned, 1/4 slots ready, empties 210");
}

TEST(FormatStep, LeavesOutWhatIsNotKnown) {
  StepReport report = Example();
  report.rss_bytes = report.anonymous_bytes = {};
  report.growth_bytes_per_epoch = report.cpu_share = report.run_queue_share = report.cache_hit_share = {};
  report.vram_used_bytes = {};
  report.gpu_busy_percent = {};
  report.stalls.ceilings[static_cast<size_t>(Stage::kCopy)] = 0;
  const std::string line = FormatStep(report);
  EXPECT_THAT(line, HasSubstr("decode 6.1k consumer 6.9k | if decode +10 %: +6.1 % | pinned"));
}

TEST(FormatStep, WarnsInEveryLineThatMemoryIsNotPinned) {
  StepReport report = Example();
  report.stalls.pinned = false;
  report.pinned_bytes = 0;
  EXPECT_THAT(FormatStep(report), HasSubstr("| NOT pinned, 1/4 slots"));
  report.stalls.pinned = true;  // nothing is to be pinned
  EXPECT_THAT(FormatStep(report), Not(HasSubstr("pinned")));
}

TEST(FormatStep, EndsWithItsWarnings) {
  StepReport report = Example();
  report.kind = StepReport::Kind::kEpoch;
  report.epoch = 4;
  report.warnings = {"memory grows", "steps take longer"};
  EXPECT_THAT(FormatStep(report), testing::StartsWith("epoch 4 ended at step 12500 | 41.8 ms/step | stall"));
  EXPECT_THAT(FormatStep(report), EndsWith(" | WARNING: memory grows | WARNING: steps take longer"));
}

}  // namespace
}  // namespace stoker

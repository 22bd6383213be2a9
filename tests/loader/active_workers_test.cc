#include "loader/active_workers.h"

#include <gtest/gtest.h>

#include <optional>
#include <stdexcept>
#include <vector>

#include "loader/loader.h"
#include "loader/stall_log.h"
#include "loader/workers.h"
#include "tests/loader/pipeline_model.h"

namespace stoker {
namespace {

constexpr int64_t kMs = 1'000'000;
constexpr int32_t kMost = 4;

// What a log is told by a pipeline of kMost workers whose number is to be chosen.
class ActiveWorkersTest : public testing::Test {
 protected:
  static ModelConfig Load(double busy_workers, int64_t step_ms, int64_t batches) {
    ModelConfig config = {.batch_size = 4, .batches = batches, .workers = kMost, .slots = 6, .device_slots = 0};
    const auto samples = static_cast<size_t>(4 * batches);
    config.read.assign(samples, 1000);
    config.decode.assign(samples, static_cast<int64_t>(busy_workers * static_cast<double>(step_ms * kMs) / 4));
    config.step.assign(static_cast<size_t>(batches), step_ms * kMs);
    config.copy.assign(static_cast<size_t>(batches), 0);
    return config;
  }

  // How many were active after each batch.
  std::vector<int32_t> Run(const ModelConfig& config) {
    StallLog log(config.batch_size, config.slots + 1);
    Workers workers(kMost, 1, [](uint32_t, const SampleJob&) {});
    ActiveWorkers active(log, workers, kMost, true, 0);
    std::vector<int32_t> numbers;
    PipelineModel(config).Run(log, [&](int64_t batch, int64_t now_ns) {
      if (batch == set_at_) active.Set(3, now_ns);
      active.BatchGiven(batch, now_ns);
      numbers.push_back(active.active());
    });
    return numbers;
  }

  int64_t set_at_ = -1;
};

TEST_F(ActiveWorkersTest, AreAsManyAsTheCallerKeepsBusyAfterTwoWindows) {
  const std::vector<int32_t> numbers = Run(Load(1.2, 10, 100));
  EXPECT_EQ(numbers[63], kMost);
  EXPECT_EQ(numbers[64], 2);
  EXPECT_EQ(numbers.back(), 2);
}

TEST_F(ActiveWorkersTest, AreLookedAtAfterThreeTenthsOfASecondAtTheEarliest) {
  const std::vector<int32_t> numbers = Run(Load(0.4, 1, 700));
  EXPECT_EQ(numbers[590], kMost);
  EXPECT_EQ(numbers.back(), 1);
}

TEST_F(ActiveWorkersTest, AreNotFewerForAPauseInEachWindow) {
  ModelConfig config = Load(3, 10, 300);
  for (size_t i = 20; i < config.step.size(); i += 32) config.step[i] = 60'000 * kMs;
  EXPECT_EQ(Run(config).back(), kMost);
}

TEST_F(ActiveWorkersTest, AreNotChosenAnyMoreOnceTheCallerHas) {
  set_at_ = 10;
  EXPECT_EQ(Run(Load(0.4, 10, 200)).back(), 3);
}

TEST_F(ActiveWorkersTest, AreOneToTheMost) {
  StallLog log(1, 1);
  Workers workers(kMost, 1, [](uint32_t, const SampleJob&) {});
  ActiveWorkers active(log, workers, kMost, true, 0);
  EXPECT_THROW(active.Set(0, 1), std::invalid_argument);
  EXPECT_THROW(active.Set(kMost + 1, 1), std::invalid_argument);
  EXPECT_TRUE(active.chooses());
  active.Set(kMost, 1);
  EXPECT_FALSE(active.chooses());
}

TEST_F(ActiveWorkersTest, AreNamedByTheReport) {
  StallReport report;
  report.workers = report.max_workers = 8;
  EXPECT_NE(FormatReport(report).find(", 8 workers\n"), std::string::npos);
  report.workers = 3;
  EXPECT_NE(FormatReport(report).find(", workers 3 of 8\n"), std::string::npos);
  report.auto_workers = true;
  EXPECT_NE(FormatReport(report).find(", workers 3 of 8 (auto)\n"), std::string::npos);
}

}  // namespace
}  // namespace stoker

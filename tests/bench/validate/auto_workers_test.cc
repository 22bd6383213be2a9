// kAutoWorkers against every fixed number of workers, by the real loader in virtual time.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "loader/options.h"
#include "tests/bench/virtual_trial.h"

namespace stoker {
namespace {

constexpr double kMs = 1e6;
// Batches until it has settled: it looks at 32 of them, and 0.3 s, at a time.
constexpr int64_t kSettling = 256;

struct Workload {
  std::string name;
  TrialConfig config;
  int32_t changes = 1;  // of the number of workers, once it has settled
};

// Batches of 8 and 8 workers at most.
TrialConfig Load(double decode_ms, double step_ms, Spread decode = Spread::kEven, Spread step = Spread::kEven) {
  TrialConfig config;
  config.read = {0.5 * kMs};
  config.decode = {decode_ms * kMs, decode};
  config.step = {step_ms * kMs, step};
  config.queue_depth = 16;
  config.most_workers = 8;
  config.warm_up = kSettling;
  config.batches = 160;
  return config;
}

std::vector<Workload> Workloads() {
  TrialConfig changing = Load(5, 10);
  changing.pace = [](int64_t batch) { return batch / 320 == 1 ? 3.0 : 1.0; };
  changing.batches = 800;
  TrialConfig device = Load(3, 10);
  device.copy_ns = kMs;
  device.step_on_device = true;
  TrialConfig storage = Load(2, 5);
  storage.read = {20 * kMs};
  storage.queue_depth = 8;
  TrialConfig small = Load(6, 3);
  small.batch_size = 1;
  TrialConfig many = Load(10, 12);
  many.most_workers = 16;
  TrialConfig starved = Load(4, 10);
  starved.off_cpu = 0.5;
  return {
      {"LightDecode", Load(0.5, 10)},
      {"HeavyDecode", Load(15, 10)},
      {"UnevenDecode", Load(4, 10, Spread::kTails)},
      {"SlowStep", Load(2, 40)},
      {"FastStep", Load(3, 0.05)},
      {"StepThatChanges", changing, 4},  // for slow steps and back, and twice for what comes of it
      {"JitteryStep", Load(3, 10, Spread::kEven, Spread::kWide)},
      {"DeviceStep", device},
      {"Storage", storage},
      {"SmallBatch", small},
      {"SixteenWorkers", many},
      {"StarvedCpu", starved},
  };
}

int32_t ChangesFrom(int64_t batch, const std::vector<int32_t>& workers) {
  int32_t changes = 0;
  for (size_t i = static_cast<size_t>(batch); i < workers.size(); ++i) changes += workers[i] != workers[i - 1] ? 1 : 0;
  return changes;
}

class AutoWorkers : public testing::TestWithParam<Workload> {};

TEST_P(AutoWorkers, AreAsFastAsTheBestNumberAndFew) {
  TrialConfig config = GetParam().config;
  std::vector<double> rates = {0};
  for (config.workers = 1; config.workers <= config.most_workers; ++config.workers) {
    rates.push_back(RunVirtually(config).report.images_per_second);
  }
  const double best = *std::ranges::max_element(rates);
  const auto enough = std::ranges::find_if(rates, [&](double rate) { return rate >= 0.98 * best; }) - rates.begin();

  config.workers = kAutoWorkers;
  const TrialResult chosen = RunVirtually(config);
  EXPECT_GE(chosen.report.images_per_second, 0.95 * best);
  EXPECT_LE(chosen.report.workers, 1.5 * static_cast<double>(enough) + 1);
  EXPECT_LE(ChangesFrom(kSettling, chosen.active_workers), GetParam().changes);
  EXPECT_EQ(chosen.active_workers.front(), config.most_workers) << "the first batches come as soon as they can";
  RecordProperty("rate_of_the_best", std::to_string(chosen.report.images_per_second / best));
  RecordProperty("workers", chosen.report.workers);
  RecordProperty("smallest_within_2_percent", static_cast<int>(enough));
}

INSTANTIATE_TEST_SUITE_P(Of, AutoWorkers, testing::ValuesIn(Workloads()),
                         [](const auto& workload) { return workload.param.name; });

// What the rule relies on: that workers who are not full do about as well as all of them.
TEST(AutoWorkers, LoseLittleHoweverMuchSamplesDiffer) {
  for (const Spread spread : {Spread::kWide, Spread::kTails}) {
    for (const int32_t prefetch_factor : {1, 4}) {
      for (const double busy_workers : {1.5, 3.1}) {
        TrialConfig config = Load(busy_workers * 10 / 16, 10, spread);
        config.batch_size = 16;
        config.prefetch_factor = prefetch_factor;
        config.workers = config.most_workers;
        const double best = RunVirtually(config).report.images_per_second;
        config.workers = kAutoWorkers;
        const StallReport report = RunVirtually(config).report;
        EXPECT_GE(report.images_per_second, 0.95 * best)
            << kSpreadNames[static_cast<size_t>(spread)] << " " << prefetch_factor << " " << busy_workers;
        EXPECT_LT(report.workers, config.most_workers);
      }
    }
  }
}

TEST(AutoWorkers, AreReportedByTheTimeThatEachNumberOfThemWorked) {
  TrialConfig config = Load(0.5, 10);  // 0.4 of them are busy
  config.workers = kAutoWorkers;
  config.warm_up = 0;
  config.batches = 128;  // 65 of them with all
  const StallReport report = RunVirtually(config).report;
  EXPECT_TRUE(report.auto_workers);
  EXPECT_EQ(report.workers, 1);
  EXPECT_EQ(report.max_workers, 8);
  EXPECT_NEAR(report.busy[static_cast<size_t>(Stage::kDecode)], 0.4 / (0.5 * 8 + 0.5 * 1), 0.02);
}

}  // namespace
}  // namespace stoker

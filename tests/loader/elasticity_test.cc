// Whether a share of the path is what it claims to be: what a stage that is a little faster would gain. By the model of
// the pipeline, in more runs than the pipeline itself could make, with times that differ much.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <random>

#include "loader/stall_report.h"
#include "tests/loader/pipeline_model.h"

namespace stoker {
namespace {

constexpr int kRuns = 200;
constexpr double kFaster = 0.02;

// Loads of 0.3 to 0.8 of one pace, and one stage raised above them.
ModelConfig Drawn(uint32_t seed, double raised_to) {
  std::mt19937_64 random(seed);
  const auto pick = [&](std::initializer_list<uint32_t> of) { return *(of.begin() + random() % of.size()); };
  ModelConfig config = {.batch_size = 16, .batches = 160};
  config.queue_depth = pick({4, 8, 16, 32});
  config.workers = pick({2, 4, 8});
  config.buffers = config.queue_depth + 2 * config.workers;
  config.slots = pick({4, 5, 6});
  config.device_slots = pick({2, 3});
  std::array<double, kServedStages> loads;
  for (double& load : loads) load = 0.3 + 0.5 * static_cast<double>(random() % 1000) / 1000;
  const size_t raised = random() % kServedStages;
  loads[raised] = 0;
  loads[raised] = raised_to * *std::ranges::max_element(loads);
  const auto times = [&](Stage stage, int64_t count, double servers, double deviation) {
    const double mean = 1e6 * servers * loads[static_cast<size_t>(stage)];
    const double variance = std::log1p(deviation * deviation);
    std::lognormal_distribution<double> draw(std::log(mean) - variance / 2, std::sqrt(variance));
    std::vector<int64_t> ns(static_cast<size_t>(count));
    for (int64_t& one : ns) one = static_cast<int64_t>(draw(random)) + 1;
    return ns;
  };
  const int64_t samples = config.batches * config.batch_size;
  config.read = times(Stage::kIo, samples, config.queue_depth, 1.5);
  config.decode = times(Stage::kDecode, samples, config.workers, 1);
  config.copy = times(Stage::kCopy, config.batches, config.batch_size, 0.05);
  config.step = times(Stage::kConsumer, config.batches, config.batch_size, 0.05);
  return config;
}

StallReport ReportOf(const ModelConfig& config) {
  StallLog log(config.batch_size, config.slots + config.device_slots + 1);
  PipelineModel model(config);
  const int64_t end_ns = model.Run(log);
  StallReport report;
  Judge(log.Totals(end_ns), {static_cast<double>(config.queue_depth), static_cast<double>(config.workers)}, report);
  return report;
}

// What each stage alone, a little faster, gains: in parts of how much faster it is.
std::array<double, kServedStages> ElasticityOf(const ModelConfig& config, double seconds) {
  std::array<double, kServedStages> elasticity = {};
  for (size_t stage = 0; stage < kServedStages; ++stage) {
    ModelConfig faster = config;
    const std::array<std::vector<int64_t>*, kServedStages> times = {&faster.read, &faster.decode, &faster.copy,
                                                                    &faster.step};
    for (int64_t& ns : *times[stage]) ns = static_cast<int64_t>(static_cast<double>(ns) / (1 + kFaster));
    elasticity[stage] = (seconds / ReportOf(faster).seconds - 1) / kFaster;
  }
  return elasticity;
}

class Elasticity : public testing::TestWithParam<double> {};

TEST_P(Elasticity, IsWhatTheVerdictNames) {
  int right = 0, single = 0;
  double off = 0;
  for (uint32_t seed = 0; seed < kRuns; ++seed) {
    const ModelConfig config = Drawn(seed, GetParam());
    const StallReport report = ReportOf(config);
    ASSERT_NEAR(std::accumulate(report.shares.begin(), report.shares.end(), 0.0), 1, 0.005);
    const std::array<double, kServedStages> elasticity = ElasticityOf(config, report.seconds);
    for (size_t i = 0; i < kServedStages; ++i) off += std::abs(report.shares[i] - elasticity[i]);
    const auto most = static_cast<size_t>(std::ranges::max_element(elasticity) - elasticity.begin());
    // A mixed verdict names two.
    const auto ahead = std::ranges::count_if(report.shares, [&](double share) { return share > report.shares[most]; });
    right += ahead <= (report.bound == Bound::kMixed ? 1 : 0) ? 1 : 0;
    single += report.bound == Bound::kMixed ? 0 : 1;
  }
  EXPECT_GE(right, 0.95 * kRuns);
  EXPECT_GE(single, 0.5 * kRuns) << "a verdict that always says mixed says nothing";
  EXPECT_LE(off / (kRuns * kServedStages), 0.04);
  RecordProperty("right", right);
  RecordProperty("mixed", kRuns - single);
  RecordProperty("mean_difference_of_share_and_elasticity", std::to_string(off / (kRuns * kServedStages)));
}

INSTANTIATE_TEST_SUITE_P(OfAStageRaised, Elasticity, testing::Values(2.0, 1.3, 1.1), [](const auto& factor) {
  return "To" + std::to_string(static_cast<int>(100 * factor.param)) + "Percent";
});

}  // namespace
}  // namespace stoker

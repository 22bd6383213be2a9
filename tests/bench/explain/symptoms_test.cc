#include "bench/explain/symptoms.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "loader/report_json.h"
#include "loader/step_report.h"
#include "tests/bench/virtual_trial.h"

namespace stoker {
namespace {

using nlohmann::json;
using testing::Contains;
using testing::IsEmpty;
using testing::Not;

std::vector<std::string> NamesIn(const json& report) {
  std::vector<std::string> names;
  for (const Symptom* symptom : SymptomsIn(report)) names.emplace_back(symptom->name);
  return names;
}

// What a real loader says of a run in which each stage takes a tenth of a millisecond a sample, unless told otherwise.
json ReportOf(TrialConfig config) {
  if (config.read.mean_ns == 0) config.read.mean_ns = 1e5;
  if (config.decode.mean_ns == 0) config.decode.mean_ns = 1e5;
  if (config.step.mean_ns == 0) config.step.mean_ns = 1e5;
  return ToJson(RunVirtually(config).report);
}

// Each row of the table is provoked where the loader itself can be made to show it.
TEST(Symptoms, NameWhatARealLoaderIsMadeToSuffer) {
  TrialConfig config;
  config.decode.mean_ns = 5e6;
  EXPECT_THAT(NamesIn(ReportOf(config)), Contains("decode"));
  config.off_cpu = 0.6;
  EXPECT_THAT(NamesIn(ReportOf(config)), Contains("starved"));
  config = {};
  config.bandwidth.mean_ns = 3e6;
  EXPECT_THAT(NamesIn(ReportOf(config)), Contains("storage"));
  config = {};
  config.read = {5e6, Spread::kTails};
  config.queue_depth = 32;
  config.prefetch_factor = 1;
  EXPECT_THAT(NamesIn(ReportOf(config)), Contains("slow-reads"));
  config = {};
  config.decode = {1e6, Spread::kTails};
  config.workers = 4;
  config.prefetch_factor = 1;
  EXPECT_THAT(NamesIn(ReportOf(config)), Contains("slow-pictures"));
  config = {};
  config.copy_ns = 2e7;
  EXPECT_THAT(NamesIn(ReportOf(config)), Contains("copy"));
  config = {};
  config.step.mean_ns = 5e7;
  EXPECT_THAT(NamesIn(ReportOf(config)), Contains("step"));
}

// A line of the periodic report in which nothing is wrong.
json Healthy() {
  StepReport report;
  report.stalls.leader = Stage::kDecode;
  report.stalls.bound = Bound::kUnknown;
  report.gpu_busy_percent = 95;
  report.cpu_share = 0.6;
  report.run_queue_share = 0.02;
  report.memory_pressure = 0;
  report.vram_used_bytes = 10'000'000'000;
  report.vram_total_bytes = 24'000'000'000;
  return json::parse(ToJsonLine(report));
}

TEST(Symptoms, AreNoneWhereNothingIsWrong) { EXPECT_THAT(NamesIn(Healthy()), IsEmpty()); }

TEST(Symptoms, AreToldByFiguresOfTheMachine) {
  json report = Healthy();
  report["gpu_busy_percent"] = 20;
  EXPECT_THAT(NamesIn(report), IsEmpty());  // the CPUs are not idle
  report["cpu_share"] = 0.2;
  EXPECT_THAT(NamesIn(report), Contains("host-gap"));
  report["stalls"]["stall_share"] = 0.3;
  EXPECT_THAT(NamesIn(report), Not(Contains("host-gap")));
  EXPECT_THAT(NamesIn(report), Contains("queue"));

  report = Healthy();
  report["vram_used_bytes"] = 23'500'000'000;
  EXPECT_THAT(NamesIn(report), testing::ElementsAre("vram-full"));
  report = Healthy();
  report["run_queue_share"] = 0.4;
  EXPECT_THAT(NamesIn(report), testing::ElementsAre("threads"));
  report = Healthy();
  report["memory_pressure"] = 0.3;
  EXPECT_THAT(NamesIn(report), testing::ElementsAre("ram-short"));
  report = Healthy();
  report["stalls"]["pinned"] = false;
  EXPECT_THAT(NamesIn(report), testing::ElementsAre("not-pinned"));
  report = Healthy();
  report["stalls"]["buffers"]["extra_slots"] = 3;
  EXPECT_THAT(NamesIn(report), testing::ElementsAre("loader-memory"));
  report = Healthy();
  report["warnings"] = {"memory grows by 100 MB an epoch: growth outside the loader", "steps take 30 % longer"};
  EXPECT_THAT(NamesIn(report), testing::ElementsAre("slower", "memory-grows"));
}

TEST(Symptoms, AreToldByTheVerdict) {
  for (const auto& [leader, bound, name] : {std::tuple{"io", "page cache", "page-cache"},
                                            {"copy", "contended", "contended"},
                                            {"runtime", "hand-over", "hand-over"},
                                            {"decode", "mixed", "mixed"},
                                            {"consumer", "consumer", "step"}}) {
    json report = Healthy();
    report["stalls"]["leader"] = leader;
    report["stalls"]["bound"] = bound;
    EXPECT_THAT(NamesIn(report), testing::ElementsAre(name));
    EXPECT_THAT(NamesIn(report["stalls"]), testing::ElementsAre(name)) << "as stoker run --json has it";
  }
}

TEST(Symptoms, TakeNothingFromReportsThatAreNone) {
  for (const char* text : {"{}", "{\"stalls\": {}}", "{\"stalls\": {\"leader\": 3, \"bound\": null, \"parts\": {}}}",
                           "{\"warnings\": [1, null], \"cpu_share\": \"low\", \"vram_total_bytes\": 0}"}) {
    EXPECT_THAT(NamesIn(json::parse(text)), IsEmpty()) << text;
  }
}

TEST(Symptoms, HaveAllTheirWordsAndNamesOfTheirOwn) {
  std::set<std::string_view> names;
  for (const Symptom& symptom : AllSymptoms()) {
    EXPECT_TRUE(names.insert(symptom.name).second) << symptom.name;
    for (const std::string_view words : {symptom.seen, symptom.figure, symptom.look, symptom.command, symptom.remedy}) {
      EXPECT_FALSE(words.empty()) << symptom.name;
    }
  }
}

}  // namespace
}  // namespace stoker

#include "loader/monitor/monitor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/loader/picture_folder.h"

namespace stoker {
namespace {

using testing::HasSubstr;

constexpr int64_t kSecond = 1'000'000'000;

// A monitor of a loader that gives a batch every 100 ms of a made-up clock.
class MonitorTest : public testing::Test {
 protected:
  Monitor Make(int64_t every) {
    MonitorParts parts;
    parts.every = every;
    parts.on_report = [this](const StepReport& report) { reports_.push_back(report); };
    parts.on_live = [this](const StepReport& report) { live_.push_back(report); };
    parts.fill = [this](Lap lap, int64_t now_ns, StepReport& report) {
      const int64_t begin = lap_begin_[static_cast<size_t>(lap)];
      report.stalls.seconds = static_cast<double>(now_ns - begin) / kSecond;
      report.stalls.batches = (now_ns - begin) / (kSecond / 10);
      report.loader_bytes = 1000;
    };
    parts.start_lap = [this](Lap lap, int64_t now_ns) { lap_begin_[static_cast<size_t>(lap)] = now_ns; };
    parts.report_file = file_;
    parts.root = root_.string();
    return Monitor(std::move(parts));
  }
  void Give(Monitor& monitor, int batches) {
    for (int i = 0; i < batches; ++i) monitor.BatchGiven(now_ += kSecond / 10);
  }

  const TempFolder root_;  // a machine that tells nothing
  std::string file_;
  int64_t now_ = kSecond;
  std::array<int64_t, kLaps> lap_begin_ = {};
  std::vector<StepReport> reports_, live_;
};

TEST_F(MonitorTest, ReportsEverySoManyBatchesAndTheEndsOfEpochs) {
  Monitor monitor = Make(10);
  Give(monitor, 25);
  ASSERT_EQ(reports_.size(), 2u);
  EXPECT_EQ(reports_[0].step, 10);
  EXPECT_EQ(reports_[1].step, 20);
  EXPECT_EQ(reports_[0].stalls.batches, 9);  // the first one waits for start-up
  EXPECT_EQ(reports_[1].stalls.batches, 10);
  EXPECT_DOUBLE_EQ(reports_[1].step_ms, 100);
  monitor.EpochEnded(now_);
  ASSERT_EQ(reports_.size(), 3u);
  EXPECT_EQ(reports_[2].kind, StepReport::Kind::kEpoch);
  EXPECT_EQ(reports_[2].stalls.batches, 24);
  Give(monitor, 5);  // the epoch's end has not moved the steps' beat
  ASSERT_EQ(reports_.size(), 4u);
  EXPECT_EQ(reports_[3].step, 30);
  EXPECT_EQ(reports_[3].epoch, 1u);
}

TEST_F(MonitorTest, SaysNothingWhereNobodyAsks) {
  Monitor monitor = Make(0);
  Give(monitor, 1000);
  monitor.EpochEnded(now_);
  EXPECT_TRUE(reports_.empty());
}

TEST_F(MonitorTest, FeedsWhoLooksOnTwiceASecond) {
  Monitor monitor = Make(0);
  Give(monitor, 101);  // ten seconds
  EXPECT_EQ(live_.size(), 20u);
  EXPECT_EQ(live_.back().kind, StepReport::Kind::kLive);
}

TEST_F(MonitorTest, KnowsNothingOfAMachineThatTellsNothing) {
  Monitor monitor = Make(10);
  Give(monitor, 10);
  const StepReport& report = reports_.at(0);
  EXPECT_FALSE(report.rss_bytes || report.cpu_cores || report.run_queue_share || report.vram_used_bytes);
  EXPECT_THAT(FormatStep(report), testing::Not(HasSubstr("rss")));
  EXPECT_TRUE(nlohmann::json::parse(ToJsonLine(report)).at("rss_bytes").is_null());
}

TEST_F(MonitorTest, SurvivesAClockThatJumps) {
  Monitor monitor = Make(2);
  for (const int64_t now : {5 * kSecond, 4 * kSecond, 3 * kSecond, int64_t{1}, 900 * kSecond, 900 * kSecond}) {
    monitor.BatchGiven(now);
  }
  monitor.EpochEnded(2);
  EXPECT_EQ(reports_.size(), 4u);
}

TEST_F(MonitorTest, CountsEpochsAndLeavesOutWhatLiesBetweenThem) {
  Monitor monitor = Make(1000);
  for (uint64_t epoch = 0; epoch < 3; ++epoch) {
    Give(monitor, 11);
    monitor.EpochEnded(now_);
    monitor.EpochEnded(now_);  // one without a batch is none
    ASSERT_EQ(reports_.size(), epoch + 1);
    EXPECT_EQ(reports_.back().epoch, epoch);
    EXPECT_DOUBLE_EQ(reports_.back().stalls.seconds, 1);
    now_ += 100 * kSecond;  // a validation
  }
}

TEST_F(MonitorTest, ShowsWhoLooksOnTheStepsThatWereReportedAndNotTheNoneSince) {
  Monitor monitor = Make(5);
  Give(monitor, 50);
  for (const StepReport& report : live_) EXPECT_GT(report.stalls.batches, 0);
  EXPECT_EQ(live_.size(), 10u);
}

TEST_F(MonitorTest, NeitherHangsNorDiesOfTheReportFile) {
  const TempFolder folder;
  file_ = folder.string() + "/pipe";
  ASSERT_EQ(mkfifo(file_.c_str(), 0600), 0);
  testing::internal::CaptureStderr();
  Monitor pipe = Make(10);
  Give(pipe, 20);
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("training goes on"));
  file_ = folder.string() + "/limited";
  rlimit before = {};
  getrlimit(RLIMIT_FSIZE, &before);
  const rlimit small = {1000, before.rlim_max};  // what is captured of stderr is a file, too
  setrlimit(RLIMIT_FSIZE, &small);
  testing::internal::CaptureStderr();
  Monitor limited = Make(10);
  Give(limited, 20);
  setrlimit(RLIMIT_FSIZE, &before);
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("too large"));
}

TEST_F(MonitorTest, AddsLinesToAFileThatOthersMayMoveAway) {
  const TempFolder folder;
  file_ = folder.string() + "/report.jsonl";
  Monitor monitor = Make(10);
  Give(monitor, 20);
  std::rename(file_.c_str(), (file_ + ".old").c_str());
  Give(monitor, 10);
  int64_t step = 0;
  for (const std::string& name : {file_ + ".old", file_}) {
    std::ifstream lines(name);
    for (std::string line; std::getline(lines, line);) {
      EXPECT_EQ(nlohmann::json::parse(line).at("step"), step += 10);
    }
  }
  EXPECT_EQ(step, 30);
}

TEST_F(MonitorTest, SaysOnceThatTheFileCannotBeWrittenAndGoesOn) {
  const TempFolder folder;
  for (const char* file : {"/dev/full", "/proc/nothing/here"}) {
    file_ = file;
    testing::internal::CaptureStderr();
    Monitor monitor = Make(10);
    Give(monitor, 50);
    const std::string said = testing::internal::GetCapturedStderr();
    EXPECT_THAT(said, HasSubstr(file));
    EXPECT_EQ(std::ranges::count(said, '\n'), 1);
    EXPECT_EQ(reports_.size(), 5u);
    reports_.clear();
  }
}

}  // namespace
}  // namespace stoker

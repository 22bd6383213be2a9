#include "bench/run_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "tests/loader/picture_folder.h"

namespace stoker {
namespace {

using testing::HasSubstr;

class RunCommandTest : public testing::Test {
 protected:
  RunCommandTest() {
    WritePictures(folder_, 20);
    options_.path = folder_.string();
    options_.json = (out_.path() / "report.json").string();
    options_.loader.batch_size = 8;
    options_.loader.recipe = TrainRecipe(16, ElementType::kUint8);
  }
  nlohmann::json Report() const { return nlohmann::json::parse(std::ifstream(options_.json)); }
  static std::string Content(const std::filesystem::path& file) {
    std::ifstream in(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  }

  TempFolder folder_;
  TempFolder out_;
  RunOptions options_;
};

TEST_F(RunCommandTest, WritesTheWholeReportAsJson) {
  options_.epochs = 2;
  ASSERT_EQ(RunCommand(options_, 0), kExitOk);
  const nlohmann::json report = Report();
  EXPECT_EQ(report["schema_version"], 1);
  EXPECT_EQ(report["samples"], 40);
  for (const char* key :
       {"seconds", "images_per_second", "first_batch_seconds", "stall_share", "peak_rss_bytes", "budget_bytes"}) {
    EXPECT_GT(report[key].get<double>(), 0) << key;
  }
  double sum = 0;
  for (const char* stage : {"io", "decode", "copy", "consumer", "runtime", "other"})
    sum += report["shares"][stage].get<double>();
  EXPECT_NEAR(sum, 1, 1e-6);
  EXPECT_FALSE(report["verdict"].get<std::string>().empty());
  EXPECT_FALSE(report["reader"].get<std::string>().empty());
  EXPECT_TRUE(report["skipped"].empty());
  EXPECT_EQ(report["classes"], (nlohmann::json{"class0", "class1", "class2"}));
}

TEST_F(RunCommandTest, NamesWhatItSkipped) {
  folder_.Write("class0/bad.jpg", {'n', 'o'});
  options_.loader.on_error = OnError::kSkip;
  ASSERT_EQ(RunCommand(options_, 0), kExitOk);
  EXPECT_EQ(Report()["skipped"][0]["name"], "class0/bad.jpg");
  EXPECT_EQ(Report()["skipped_count"], 1);
}

TEST_F(RunCommandTest, FailsOnABadSampleByDefaultAndReportsSoFar) {
  folder_.Write("class0/bad.jpg", {});
  ASSERT_EQ(RunCommand(options_, 0), kExitFailed);
  EXPECT_THAT(Report()["error"].get<std::string>(), HasSubstr("class0/bad.jpg"));
}

TEST_F(RunCommandTest, AWrongPathIsAUsageError) {
  options_.path = (out_.path() / "nothing").string();
  EXPECT_EQ(RunCommand(options_, 0), kExitUsage);
  options_.path = (folder_.path() / "class0/0000.jpg").string();
  EXPECT_EQ(RunCommand(options_, 0), kExitUsage);
}

TEST_F(RunCommandTest, DumpsTheSameBatchesForEveryReaderAndDevice) {
  options_.dump = (out_.path() / "a").string();
  ASSERT_EQ(RunCommand(options_, 0), kExitOk);
  options_.dump = (out_.path() / "b").string();
  options_.loader.reader = ReaderKind::kPread;
  options_.loader.device = "sim";
  options_.loader.num_workers = 3;
  ASSERT_EQ(RunCommand(options_, 0), kExitOk);
  size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(out_.path() / "a")) {
    EXPECT_EQ(Content(entry.path()), Content(out_.path() / "b" / entry.path().filename()));
    ++files;
  }
  EXPECT_EQ(files, 12u);  // pixels, labels, ids and validity of three batches
  const std::string pixels = Content(out_.path() / "a/epoch0-position00000000-pixels.npy");
  EXPECT_THAT(pixels, HasSubstr("'descr': '|u1', 'fortran_order': False, 'shape': (8, 3, 16, 16,)"));
  EXPECT_EQ(pixels.size() % 64, 0u);
}

TEST_F(RunCommandTest, NoTransformTakesTheSizeOfTheFirstPictureAndRefusesOthers) {
  options_.loader.recipe = {};
  options_.size_from_first = true;
  ASSERT_EQ(RunCommand(options_, 0), kExitFailed);
  EXPECT_THAT(Report()["error"].get<std::string>(), HasSubstr("does not come out at the batch"));
}

TEST_F(RunCommandTest, WritesATraceAlsoOfARunThatFails) {
  options_.trace = (out_.path() / "trace.json").string();
  ASSERT_EQ(RunCommand(options_, 0), kExitOk);
  const auto decodes = [&] {
    const nlohmann::json trace = nlohmann::json::parse(std::ifstream(options_.trace));
    return std::ranges::count_if(trace["traceEvents"], [](const auto& event) { return event["name"] == "decode"; });
  };
  EXPECT_EQ(decodes(), 20);
  folder_.Write("class2/last.jpg", {});
  options_.loader.shuffle = false;
  ASSERT_EQ(RunCommand(options_, 0), kExitFailed);
  EXPECT_GE(decodes(), 16);
}

TEST_F(RunCommandTest, FailsWithTheReportAllTheSameWhereTheTraceCannotBeWritten) {
  options_.trace = (out_.path() / "nothing/trace.json").string();
  testing::internal::CaptureStderr();
  EXPECT_EQ(RunCommand(options_, 0), kExitFailed);
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr(options_.trace));
  EXPECT_EQ(Report()["samples"], 20);
}

TEST_F(RunCommandTest, StopsOnAnInterruptWithTheReportSoFar) {
  options_.trace = (out_.path() / "trace.json").string();
  options_.epochs = int64_t{1} << 40;
  options_.step_ms = 1;
  // Until the run has its own handler, the signal must not end the test; so it is sent until the run has ended.
  signal(SIGINT, SIG_IGN);
  std::atomic<bool> ended{false};
  std::thread interrupter([&] {
    while (!ended) {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      kill(getpid(), SIGINT);
    }
  });
  const int status = RunCommand(options_, 0);
  ended = true;
  interrupter.join();
  EXPECT_EQ(status, kExitInterrupted);
  EXPECT_TRUE(Report()["interrupted"].get<bool>());
  EXPECT_TRUE(nlohmann::json::accept(std::ifstream(options_.trace)));
}

}  // namespace
}  // namespace stoker

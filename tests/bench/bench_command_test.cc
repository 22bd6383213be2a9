#include "bench/bench_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "bench/run_command.h"
#include "tests/loader/picture_folder.h"

namespace stoker {
namespace {

using testing::HasSubstr;

// Its runs are forked, see MeasureDeathTest.
class BenchCommandDeathTest : public testing::Test {
 protected:
  BenchCommandDeathTest() {
    WritePictures(folder_, 24);
    CLI::App app;
    SweepCommandLine line;
    line.AddTo(app);
    app.parse(folder_.string() +
              " --batch-size 4 --size 16 --seconds 0.05 --warm-up 0 --rounds 2 --most-rounds 2 "
              "--try-workers 1,2 --try-prefetch 2 --device cpu --out " +
              out_.string());
    options_ = line.Finish();
  }
  nlohmann::json Result() const { return nlohmann::json::parse(std::ifstream(out_.path() / "sweep.json")); }
  std::string Refusal() {
    try {
      (void)BenchCommand(options_, "");
    } catch (const std::invalid_argument& error) {
      return error.what();
    }
    return "";
  }

  TempFolder folder_, out_;
  SweepOptions options_;
};

TEST_F(BenchCommandDeathTest, LeavesItsAnswerAsAPageAndAsJson) {
  options_.replay = 2;
  testing::internal::CaptureStdout();
  ASSERT_EQ(BenchCommand(options_, "stoker bench photos"), kExitOk);
  EXPECT_THAT(testing::internal::GetCapturedStdout(), HasSubstr("take "));
  const nlohmann::json result = Result();
  EXPECT_EQ(result["schema_version"], 1);
  EXPECT_EQ(result["command"], "stoker bench photos");
  ASSERT_EQ(result["scenarios"].size(), 2u);
  EXPECT_EQ(result["scenarios"][1]["scenario"]["page_cache"], "cold");
  EXPECT_GT(result["scenarios"][0]["finding"]["recommended"]["rate"]["mean"], 0);
  EXPECT_EQ(result["step_limits"].size(), 1u);
  EXPECT_GT(std::filesystem::file_size(out_.path() / "report.html"), 100'000u);
}

TEST_F(BenchCommandDeathTest, TooFewPicturesForASweepAreNamed) {
  options_.plan.scenarios[0].batch_size = 20;
  EXPECT_THAT(Refusal(), HasSubstr("has 24 pictures: too few for two batches of 20"));
}

TEST_F(BenchCommandDeathTest, APathThatIsNotThereIsAUsageError) {
  options_.job.path = "/nowhere/at/all";
  EXPECT_EQ(BenchCommand(options_, ""), kExitUsage);
}

TEST_F(BenchCommandDeathTest, AFolderThatCannotBeMadeIsSaidBeforeAnythingIsMeasured) {
  options_.out = "/proc/no";
  EXPECT_EQ(BenchCommand(options_, ""), kExitUsage);
}

}  // namespace
}  // namespace stoker

#include "bench/budget_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <stdexcept>
#include <system_error>

#include "bench/run_command.h"
#include "tests/loader/machine/kernel_tree.h"

namespace stoker {
namespace {

using testing::AllOf;
using testing::HasSubstr;

BudgetCommandLine::Options Parse(const std::string& words) {
  CLI::App command;
  BudgetCommandLine line;
  line.AddTo(command);
  command.parse(words);
  return line.Finish();
}

class BudgetCommandTest : public testing::Test {
 protected:
  BudgetCommandTest() {
    WritePictures(folder_, 12);
    tree_.Write("proc/meminfo", "MemTotal: 9000000 kB\nMemAvailable: 8000000 kB\n");
  }
  // Over the made-up machine; what it prints is kept in `printed_`.
  int Run(const std::string& words) {
    const BudgetCommandLine::Options options = Parse(words);
    testing::internal::CaptureStdout();
    testing::internal::CaptureStderr();
    const int code = BudgetCommand(options, tree_.root());
    printed_ = testing::internal::GetCapturedStdout();
    errors_ = testing::internal::GetCapturedStderr();
    return code;
  }
  std::string Photos() const { return folder_.string() + " --device cpu --batch-size 4 --size 32 "; }

  TempFolder folder_;
  KernelTree tree_;
  std::string printed_;
  std::string errors_;
};

TEST_F(BudgetCommandTest, PrintsTheLoadersTermsAndLimits) {
  EXPECT_EQ(Run(Photos()), kExitOk);
  for (const char* words : {"host slots", "read buffers", "stall log", "source index", "live feed", "worker scratch",
                            "host memory", "of it page-locked", "--memory-limit", "of 8.19 GB  fits"}) {
    EXPECT_THAT(printed_, HasSubstr(words));
  }
  EXPECT_THAT(printed_, testing::Not(HasSubstr("ESTIMATE"))) << "no model was asked for";
}

TEST_F(BudgetCommandTest, EndsWithOneWhereTheLoaderDoesNotFit) {
  tree_.Write("proc/meminfo", "MemTotal: 9000000 kB\nMemAvailable: 100 kB\n");
  EXPECT_EQ(Run(Photos()), 1);
  EXPECT_THAT(printed_, AllOf(HasSubstr("DOES NOT FIT, short by"), HasSubstr("remedy: lower --batch-size")));
  EXPECT_EQ(Run(Photos() + "--memory-limit 1KB"), 1);
  EXPECT_THAT(printed_, HasSubstr("remedy: raise --memory-limit"));
}

TEST_F(BudgetCommandTest, AModelNeedsNoDataAndNeverFails) {
  EXPECT_EQ(Run("--device cpu --parameters 1e9 --vram 10GB"), kExitOk);
  EXPECT_THAT(printed_, AllOf(HasSubstr("ESTIMATE"), HasSubstr("18.50 GB"), HasSubstr("short by 8.50 GB"),
                              HasSubstr("what to try"), HasSubstr("--optimizer adamw8bit")));
  EXPECT_EQ(Run("--device cpu --parameters 1e9 --vram 20GB"), kExitOk);
  EXPECT_THAT(printed_, AllOf(HasSubstr("fits, 1.50 GB to spare"), testing::Not(HasSubstr("what to try"))));
}

TEST_F(BudgetCommandTest, TheLoadersOptionsAreTheModelsToo) {
  const auto options = Parse(
      "--parameters 1e9 --batch-size 8 --world-size 16 --zero 2 --size 32 --patch 8 --layers 2 --hidden 8 --heads 2");
  EXPECT_FALSE(options.run);
  EXPECT_EQ(options.model->batch_size, 8);
  EXPECT_EQ(options.model->world_size, 16);
  EXPECT_EQ(options.model->layers->sequence, 17);
  EXPECT_EQ(Parse("photos --batch-size 8").run->loader.batch_size, 8);
}

TEST_F(BudgetCommandTest, TheModelsGpuHasTheLoadersSlots) {
  EXPECT_EQ(Run(folder_.string() + " --device sim --batch-size 4 --size 32 --parameters 1e9 --json -"), kExitOk);
  const nlohmann::json report = nlohmann::json::parse(printed_);
  const nlohmann::json& loader = report["loader"];
  double slots = 0;
  for (const nlohmann::json& term : loader["terms"]) {
    if (term["name"] == "device slots") slots = term["bytes"];
  }
  EXPECT_GT(slots, 0);
  EXPECT_EQ(report["model"]["terms"].back()["bytes"], slots);
  EXPECT_EQ(report["model"]["total_bytes"], 18e9 + 500e6 + slots);
}

TEST_F(BudgetCommandTest, WritesEveryTermAsJsonToAFileOrToStandardOutputAlone) {
  const std::string file = tree_.root() + "/budget.json";
  EXPECT_EQ(Run(Photos() + "--parameters 1e9 --vram 10GB --json " + file), kExitOk);
  EXPECT_THAT(printed_, HasSubstr("host slots"));
  const nlohmann::json report = nlohmann::json::parse(std::ifstream(file));
  EXPECT_EQ(report["schema_version"], 1);
  double sum = 0;
  for (const nlohmann::json& term : report["loader"]["terms"]) {
    sum += term["bytes"].get<double>();
    EXPECT_FALSE(term["name"].get<std::string>().empty());
    EXPECT_FALSE(term["formula"].get<std::string>().empty());
    EXPECT_EQ(term["estimate"], term["name"] == "worker scratch");
  }
  EXPECT_EQ(report["loader"]["host_bytes"], sum);
  EXPECT_EQ(report["loader"]["fits"], true);
  EXPECT_TRUE(report["loader"]["limits"][2]["allowed_bytes"].is_null()) << "no container";
  EXPECT_EQ(report["model"]["estimate"], true);
  EXPECT_EQ(report["model"]["terms"][0]["bytes"], 2'000'000'000);
  EXPECT_EQ(report["model"]["total_bytes"], 18'500'000'000);
  EXPECT_EQ(report["model"]["short_bytes"], 8'500'000'000);
  EXPECT_TRUE(report["model"]["advice"].back()["total_bytes"].is_null());
  EXPECT_EQ(Run("--device cpu --parameters 1e9 --json -"), kExitOk);
  const nlohmann::json alone = nlohmann::json::parse(printed_);
  EXPECT_TRUE(alone["loader"].is_null());
  EXPECT_TRUE(alone["model"]["vram_bytes"].is_null());
  EXPECT_TRUE(alone["model"]["short_bytes"].is_null());
  EXPECT_THROW(Run("--device cpu --parameters 1e9 --json " + tree_.root() + "/none/b.json"), std::system_error);
  testing::internal::GetCapturedStdout();
  testing::internal::GetCapturedStderr();
}

TEST_F(BudgetCommandTest, PicturesAsTheyAreHaveTheSizeOfTheFirst) {
  EXPECT_EQ(Run(folder_.string() + " --device cpu --batch-size 4 --transform none"), kExitOk);
  EXPECT_THAT(printed_, HasSubstr("4 samples of 9000 B")) << "60 x 50 pixels";
  folder_.Write("class0/0000.jpg", {'n', 'o'});
  EXPECT_EQ(Run(folder_.string() + " --device cpu --transform none"), kExitUsage);
  EXPECT_THAT(errors_, HasSubstr("class0/0000.jpg"));
}

TEST_F(BudgetCommandTest, AWrongPathIsAUsageError) {
  EXPECT_EQ(Run(folder_.string() + "/none --device cpu"), kExitUsage);
  EXPECT_THAT(errors_, HasSubstr("none"));
}

TEST_F(BudgetCommandTest, RefusesWhatIsWrong) {
  EXPECT_THROW(Parse(""), std::invalid_argument);
  EXPECT_THROW(Parse("--batch-size 8"), std::invalid_argument);
  EXPECT_THROW(Parse("--zero 2"), std::invalid_argument);
  EXPECT_THROW(Parse("photos --batch-size 0"), std::invalid_argument);
  EXPECT_THROW(Parse("--parameters 1e9 --batch-size 0"), std::invalid_argument);
  EXPECT_THROW(Parse("--parameters 1e9 --vram -3GB"), std::invalid_argument);
  EXPECT_THROW(Parse("--parameters 1e9 --device gpu0"), std::invalid_argument);
}

}  // namespace
}  // namespace stoker

#include "bench/validate_command.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <system_error>

#include "bench/run_command.h"
#include "tests/loader/picture_folder.h"

namespace stoker {
namespace {

// What the verdicts are is a matter of the machine; the bars are tested in virtual time.
class ValidateCommandTest : public testing::Test {
 protected:
  ValidateCommandTest() {
    options_.runs = 1;
    options_.seconds = 0.1;
    options_.json = (folder_.path() / "matrix.json").string();
    options_.folder = folder_.string();
  }
  nlohmann::json Matrix() const { return nlohmann::json::parse(std::ifstream(options_.json)); }

  TempFolder folder_;
  ValidateOptions options_;
};

TEST_F(ValidateCommandTest, RunsWhatIsAskedForAndSaysWhetherTheBarsWerePassed) {
  options_.only = "nothing";
  const int code = ValidateCommand(options_);
  const nlohmann::json matrix = Matrix();
  EXPECT_EQ(code, matrix["passed"] ? kExitOk : kExitFailed);
  EXPECT_EQ(matrix["schema_version"], 1);
  ASSERT_EQ(matrix["experiments"].size(), 1u);
  const nlohmann::json& row = matrix["experiments"][0];
  EXPECT_EQ(row["injected"], "nothing");
  EXPECT_EQ(row["runs"].get<int>() + row["disturbed"].get<int>(), 1);
}

TEST_F(ValidateCommandTest, ReadsRealFilesAndRemovesThem) {
  options_.only = "warm cache";
  (void)ValidateCommand(options_);
  const nlohmann::json matrix = Matrix();
  ASSERT_EQ(matrix["experiments"].size(), 1u);
  EXPECT_EQ(matrix["experiments"][0]["runs"], 1);
  std::filesystem::remove(options_.json);
  EXPECT_TRUE(std::filesystem::is_empty(folder_.path()));
}

TEST_F(ValidateCommandTest, RefusesANameThatNoExperimentHas) {
  options_.only = "gremlins";
  EXPECT_THROW(ValidateCommand(options_), std::invalid_argument);
}

TEST_F(ValidateCommandTest, SaysBeforehandThatTheMatrixCannotBeWritten) {
  options_.json = (folder_.path() / "no such folder" / "matrix.json").string();
  EXPECT_THROW(ValidateCommand(options_), std::system_error);
}

}  // namespace
}  // namespace stoker

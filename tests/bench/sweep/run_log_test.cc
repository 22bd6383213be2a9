#include "bench/sweep/run_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>
#include <system_error>

#include "tests/loader/picture_folder.h"

namespace stoker {
namespace {

using testing::HasSubstr;

const nlohmann::json kHeader = {{"data", "photos"}};

Measurement Made(int32_t workers, int32_t round, double rate = 100) {
  Measurement run;
  run.setting.num_workers = workers;
  run.round = round;
  run.images_per_second = rate;
  run.verdict = "CPU-bound \xff";  // no UTF-8
  return run;
}

class RunLogTest : public testing::Test {
 protected:
  std::filesystem::path file() const { return folder_.path() / "runs.jsonl"; }
  std::string Refusal(const nlohmann::json& header, bool resume) const {
    try {
      RunLog log(file(), header, resume);
    } catch (const std::invalid_argument& error) {
      return error.what();
    }
    return "";
  }
  TempFolder folder_;
};

TEST_F(RunLogTest, GivesBackWhatWasRunInItsOrder) {
  {
    RunLog log(file(), kHeader, false);
    log.Add(0, Made(1, 0));
    log.Add(1, Made(3, 0));
    log.Add(0, Made(2, 1, 250));
  }
  RunLog log(file(), kHeader, true);
  EXPECT_EQ(log.Take(0)->setting.num_workers, 1);
  EXPECT_EQ(log.Take(0)->images_per_second, 250);
  EXPECT_FALSE(log.Take(0).has_value());
  EXPECT_EQ(log.Take(1)->setting.num_workers, 3);
  EXPECT_EQ(log.taken(), 3);
}

TEST_F(RunLogTest, GoesOnBehindALineThatWasCut) {
  {
    RunLog log(file(), kHeader, false);
    log.Add(0, Made(1, 0));
    log.Add(0, Made(2, 0));
  }
  std::filesystem::resize_file(file(), std::filesystem::file_size(file()) - 10);
  {
    RunLog log(file(), kHeader, true);
    EXPECT_TRUE(log.Take(0).has_value());
    EXPECT_FALSE(log.Take(0).has_value());
    log.Add(0, Made(4, 0));
  }
  RunLog log(file(), kHeader, true);
  (void)log.Take(0);
  EXPECT_EQ(log.Take(0)->setting.num_workers, 4);
}

TEST_F(RunLogTest, APartThatBeganAgainHasOnlyWhatCameAfterThat) {
  {
    RunLog log(file(), kHeader, false);
    log.Add(0, Made(1, 0));
    log.Restart(0);
    log.Add(0, Made(2, 0));
  }
  RunLog log(file(), kHeader, true);
  EXPECT_EQ(log.Take(0)->setting.num_workers, 2);
  EXPECT_FALSE(log.Take(0).has_value());
}

TEST_F(RunLogTest, LosesNoSweepThatIsNotOver) {
  { RunLog(file(), kHeader, false).Add(0, Made(1, 0)); }
  EXPECT_THAT(Refusal(kHeader, false), HasSubstr("--resume goes on with it"));
  RunLog(file(), kHeader, true).End();
  EXPECT_EQ(Refusal(kHeader, false), "");
}

TEST_F(RunLogTest, RefusesToGoOnWithAnotherSweepOrNone) {
  EXPECT_THAT(Refusal(kHeader, true), HasSubstr("there is no"));
  { RunLog log(file(), kHeader, false); }
  EXPECT_THAT(Refusal({{"data", "others"}}, true), HasSubstr("another sweep"));
}

TEST_F(RunLogTest, SaysWhereThereIsNoRoom) { EXPECT_THROW(RunLog("/dev/full", kHeader, false), std::system_error); }

TEST_F(RunLogTest, AFailedRunComesBackWithItsError) {
  Measurement failed = Made(1, 0);
  failed.error = "no memory";
  { RunLog(file(), kHeader, false).Add(0, failed); }
  EXPECT_EQ(RunLog(file(), kHeader, true).Take(0)->error, "no memory");
}

}  // namespace
}  // namespace stoker

#include "bench/top_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "bench/run_command.h"
#include "tests/bench/top/made_up_report.h"
#include "tests/loader/machine/kernel_tree.h"
#include "tests/loader/monitor/made_up_feed.h"

namespace stoker {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

// Standard output is no terminal here, so that all of it is plain text, once.
class TopCommandTest : public testing::Test {
 protected:
  TopCommandTest() { AddProcess(1, "self"); }

  void AddProcess(int32_t pid, const std::string& name) const {
    tree_.Write("proc/" + name + "/stat", std::to_string(pid) + " (t) S 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 500 0\n");
    tree_.Write("proc/" + name + "/cmdline", "python train" + name + ".py");
  }
  void AddJob(int32_t pid, bool lives = true) const {
    if (lives) AddProcess(pid, std::to_string(pid));
    FeedHeader header;
    header.owner = {.pid = pid, .start_ticks = 500, .pid_namespace = 0};
    WriteFeed(feeds_, BytesOfFeed(header, {{1, ToJsonLine(FullReport()), 1}}), pid);
  }
  int Run(const TopOptions& options) {
    testing::internal::CaptureStdout();
    testing::internal::CaptureStderr();
    const int code = TopCommand(options, {feeds_.string(), tree_.root()});
    out_ = testing::internal::GetCapturedStdout();
    err_ = testing::internal::GetCapturedStderr();
    return code;
  }

  KernelTree tree_;
  TempFolder feeds_;
  std::string out_, err_;
};

TEST_F(TopCommandTest, WithoutAnArgumentItShowsTheOneJob) {
  AddJob(4711);
  EXPECT_EQ(Run({}), kExitOk);
  EXPECT_THAT(out_, StartsWith("python train4711.py"));
  EXPECT_THAT(out_, HasSubstr("\nconsumer   27 % +/-3 "));
}

TEST_F(TopCommandTest, OrListsThem) {
  AddJob(4711);
  AddJob(4712);
  AddJob(4713, false);
  EXPECT_EQ(Run({}), kExitOk);
  EXPECT_EQ(out_,
            "     pid  loaders      step    ms/step    stall  leads     job\n"
            "    4711        1     12500       41.8   11.2 %  decode    python train4711.py\n"
            "    4712        1     12500       41.8   11.2 %  decode    python train4712.py\n");
  EXPECT_FALSE(std::filesystem::exists(feeds_.path() / FeedName(geteuid(), 4713, 0))) << "nobody's any more";
  TopOptions options;
  options.json = true;
  EXPECT_THROW(TopCommand(options, {feeds_.string(), tree_.root()}), std::invalid_argument);
}

TEST_F(TopCommandTest, SaysThatThereIsNone) {
  EXPECT_EQ(Run({}), kExitFailed);
  EXPECT_THAT(err_, HasSubstr("no job of yours"));
}

TEST_F(TopCommandTest, JsonIsTheLineItself) {
  AddJob(4711);
  TopOptions options;
  options.target = "4711";
  options.json = true;
  EXPECT_EQ(Run(options), kExitOk);
  EXPECT_EQ(out_, ToJsonLine(FullReport()) + "\n");
}

TEST_F(TopCommandTest, AJobThatWasKilledIsShownOnceMoreWithItsExitCode) {
  AddJob(4711, false);
  TopOptions options;
  options.target = "4711";
  EXPECT_EQ(Run(options), kExitFailed);
  EXPECT_THAT(out_, HasSubstr("\nprocess 4711 has ended\n"));
}

TEST_F(TopCommandTest, AProcessWithoutAFeedIsExplained) {
  AddProcess(4711, "4711");
  TopOptions options;
  options.target = "4711";
  EXPECT_EQ(Run(options), kExitFailed);
  EXPECT_THAT(err_, HasSubstr("No loader of this process has given out a batch yet"));
}

TEST_F(TopCommandTest, WhatIsNeitherProcessNorFileIsAWrongArgument) {
  for (const char* target : {"4711", "99999999999999", "nothing.jsonl", "-1", "0"}) {
    TopOptions options;
    options.target = target;
    EXPECT_THROW(TopCommand(options, {feeds_.string(), tree_.root()}), std::invalid_argument) << target;
  }
}

TEST_F(TopCommandTest, ShowsTheNewestReportOfAFile) {
  TopOptions options;
  options.target = feeds_.string() + "/report.jsonl";
  std::ofstream(options.target) << "damaged\n" << ToJsonLine(FullReport()) << "\n";
  EXPECT_EQ(Run(options), kExitOk);
  EXPECT_THAT(out_, HasSubstr("\nstep      12500  41.8 ms"));
  EXPECT_THAT(out_, HasSubstr(", 1 damaged line"));
}

}  // namespace
}  // namespace stoker

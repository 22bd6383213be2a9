#include "bench/top/watched.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>

#include "tests/bench/top/made_up_report.h"
#include "tests/loader/machine/kernel_tree.h"
#include "tests/loader/monitor/made_up_feed.h"

namespace stoker {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

std::string Line(int64_t step) {
  StepReport report = FullReport();
  report.step = step;
  return ToJsonLine(report);
}

double At1700000012() { return 1'700'000'012; }
int64_t At12Seconds() noexcept { return 12'000'000'000; }

class WatchedFileTest : public testing::Test {
 protected:
  void Add(const std::string& text) const { std::ofstream(path_, std::ios::app) << text; }
  void Update(WatchedFile& watched) { ASSERT_TRUE(watched.Update(view_)); }

  TempFolder folder_;
  const std::string path_ = folder_.string() + "/report.jsonl";
  JobView view_;
};

TEST_F(WatchedFileTest, FollowsAFileThatGrows) {
  Add("");
  WatchedFile watched(path_, At1700000012);
  Update(watched);
  EXPECT_THAT(view_.loaders, IsEmpty());
  EXPECT_THAT(view_.explanation, HasSubstr("No report"));
  Add(Line(1) + "\n" + Line(2) + "\n");
  Update(watched);
  EXPECT_THAT(watched.lines(), ElementsAre(Line(2)));
  EXPECT_EQ(view_.loaders[0].age_seconds, 12);
  EXPECT_EQ(view_.explanation, "");
}

TEST_F(WatchedFileTest, WaitsForTheRestOfALine) {
  Add(Line(1) + "\n" + Line(2).substr(0, 100));
  WatchedFile watched(path_, At1700000012);
  Update(watched);
  EXPECT_THAT(watched.lines(), ElementsAre(Line(1)));
  Add(Line(2).substr(100));
  Update(watched);
  EXPECT_THAT(watched.lines(), ElementsAre(Line(1)));
  Add("\n");
  Update(watched);
  EXPECT_THAT(watched.lines(), ElementsAre(Line(2)));
  EXPECT_EQ(view_.damaged, 0);
}

TEST_F(WatchedFileTest, CountsAndSkipsWhatIsNoReport) {
  Add(Line(1) + "\n{\"step\": 2\n\n[]\n{}\n\xff\xfe\n" + std::string(100, '[') + "\n");
  WatchedFile watched(path_, At1700000012);
  Update(watched);
  EXPECT_EQ(view_.damaged, 5);
  EXPECT_THAT(watched.lines(), ElementsAre(Line(1)));
}

TEST_F(WatchedFileTest, OfALongFileItReadsTheEnd) {
  for (int step = 1; step <= 600; ++step) Add(Line(step) + "\n");
  ASSERT_GT(std::filesystem::file_size(path_), size_t{1} << 20);
  WatchedFile watched(path_, At1700000012);
  Update(watched);
  EXPECT_EQ(view_.damaged, 0);
  EXPECT_THAT(watched.lines(), ElementsAre(Line(600)));
}

TEST_F(WatchedFileTest, ALineWithoutEndIsDroppedAndCountedOnce) {
  Add(Line(1) + "\n");
  WatchedFile watched(path_, At1700000012);
  Update(watched);
  Add(std::string(5 << 20, 'x') + "\n" + Line(2) + "\n");
  Update(watched);
  EXPECT_EQ(view_.damaged, 1);
  EXPECT_THAT(watched.lines(), ElementsAre(Line(2)));
}

TEST_F(WatchedFileTest, BeginsAgainWithAnotherFile) {
  Add(Line(1) + "\n" + Line(2) + "\n");
  WatchedFile watched(path_, At1700000012);
  Update(watched);
  std::filesystem::resize_file(path_, 0);
  Add(Line(3) + "\n");
  Update(watched);
  EXPECT_THAT(watched.lines(), ElementsAre(Line(3)));
  std::filesystem::rename(path_, path_ + ".1");
  Update(watched);
  EXPECT_THAT(view_.notice, HasSubstr("gone"));
  EXPECT_THAT(view_.loaders, SizeIs(1)) << "the last view stays";
  Add(Line(4) + "\n" + Line(5) + "\n");
  Update(watched);
  EXPECT_EQ(view_.notice, "");
  EXPECT_THAT(watched.lines(), ElementsAre(Line(5)));
}

TEST_F(WatchedFileTest, RefusesWhatIsNoFile) {
  EXPECT_THROW(WatchedFile(path_, At1700000012), std::invalid_argument);
  EXPECT_THROW(WatchedFile(folder_.string(), At1700000012), std::invalid_argument);
  ASSERT_EQ(mkfifo(path_.c_str(), 0600), 0);
  EXPECT_THROW(WatchedFile(path_, At1700000012), std::invalid_argument);
}

class WatchedProcessTest : public testing::Test {
 protected:
  static constexpr int32_t kPid = 4711;

  WatchedProcessTest() {
    tree_.Write("proc/self/stat", Stat("1", "R", 1));
    tree_.Write("proc/4711/stat", Stat("4711", "S", 500));
    tree_.Write("proc/4711/cmdline", std::string("/usr/bin/python3\0train.py\0--name\0caf\xc3\xa9\x1b[0m\0", 43));
    header_.owner = {.pid = kPid, .start_ticks = 500, .pid_namespace = 0};
  }
  static std::string Stat(const std::string& pid, const std::string& state, int start) {
    return pid + " (python) " + state + " 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 " + std::to_string(start) + " 0\n";
  }
  void Feed(int number, int64_t step) const {
    WriteFeed(folder_, BytesOfFeed(header_, {{1, Line(step), 10'000'000'000}}), kPid, number);
  }

  KernelTree tree_;
  TempFolder folder_;
  FeedHeader header_;
  JobView view_;
  WatchedProcess watched_{kPid, {folder_.string(), tree_.root()}, At12Seconds};
};

TEST_F(WatchedProcessTest, ShowsEachLoaderOfAProcess) {
  Feed(0, 7);
  Feed(1, 8);
  // The watcher was made before the process had a name.
  WatchedProcess watched(kPid, {folder_.string(), tree_.root()}, At12Seconds);
  ASSERT_TRUE(watched.Update(view_));
  EXPECT_THAT(watched.lines(), ElementsAre(Line(7), Line(8)));
  ASSERT_THAT(view_.loaders, SizeIs(2));
  EXPECT_EQ(view_.loaders[1].age_seconds, 2);
  EXPECT_EQ(view_.job, "python3 train.py --name caf??[0m");
  EXPECT_EQ(view_.where, "pid 4711");
  EXPECT_EQ(view_.notice, "");
}

TEST_F(WatchedProcessTest, KeepsTheLastViewOfOneThatWasKilled) {
  Feed(0, 7);
  ASSERT_TRUE(watched_.Update(view_));
  std::filesystem::remove_all(tree_.root() + "/proc/4711");
  EXPECT_FALSE(watched_.Update(view_));
  EXPECT_EQ(view_.notice, "process 4711 has ended");
  EXPECT_THAT(watched_.lines(), ElementsAre(Line(7)));
  EXPECT_THAT(view_.loaders, SizeIs(1));
}

TEST_F(WatchedProcessTest, KeepsTheLastViewOfOneThatEnded) {
  Feed(0, 7);
  ASSERT_TRUE(watched_.Update(view_));
  std::filesystem::remove(folder_.path() / FeedName(geteuid(), kPid, 0));
  EXPECT_TRUE(watched_.Update(view_));
  EXPECT_EQ(view_.notice, "its loaders are closed");
  tree_.Write("proc/4711/stat", Stat("4711", "Z", 500));
  EXPECT_FALSE(watched_.Update(view_));
  EXPECT_EQ(view_.notice, "process 4711 has ended");
  EXPECT_THAT(view_.loaders, SizeIs(1));
}

TEST_F(WatchedProcessTest, IsNotFooledByALaterProcessOfTheSameNumber) {
  Feed(0, 7);
  ASSERT_TRUE(watched_.Update(view_));
  tree_.Write("proc/4711/stat", Stat("4711", "R", 501));
  EXPECT_FALSE(watched_.Update(view_));
}

TEST_F(WatchedProcessTest, PrefersTheFeedOfTheOneThatLives) {
  header_.owner.start_ticks = 499;
  Feed(0, 6);
  header_.owner.start_ticks = 500;
  Feed(1, 7);
  ASSERT_TRUE(watched_.Update(view_));
  EXPECT_THAT(watched_.lines(), ElementsAre(Line(7)));
}

TEST_F(WatchedProcessTest, ExplainsATrainerThatNeverTookABatch) {
  ASSERT_TRUE(watched_.Update(view_));
  EXPECT_THAT(view_.explanation, HasSubstr("No loader of this process has given out a batch yet"));
  header_.waits_since_ns = 3'000'000'000;
  WriteFeed(folder_, BytesOfFeed(header_, {}), kPid);
  ASSERT_TRUE(watched_.Update(view_));
  EXPECT_EQ(view_.explanation, "Waiting for the first batch for 9 s.");
  EXPECT_EQ(view_.notice, "");
}

TEST_F(WatchedProcessTest, TellsWaitingFromNotAsking) {
  header_.waits_since_ns = 11'000'000'000;
  Feed(0, 7);
  ASSERT_TRUE(watched_.Update(view_));
  EXPECT_EQ(view_.loaders[0].waiting_seconds, 1);
  header_.waits_since_ns = 0;
  Feed(0, 7);
  ASSERT_TRUE(watched_.Update(view_));
  EXPECT_FALSE(view_.loaders[0].waiting_seconds.has_value());
}

TEST_F(WatchedProcessTest, TheSelectedLoaderIsAlwaysOneThatIsThere) {
  Feed(0, 7);
  Feed(1, 8);
  ASSERT_TRUE(watched_.Update(view_));
  view_.selected = 1;
  std::filesystem::remove(folder_.path() / FeedName(geteuid(), kPid, 1));
  ASSERT_TRUE(watched_.Update(view_));
  EXPECT_EQ(view_.selected, 0u);
}

}  // namespace
}  // namespace stoker

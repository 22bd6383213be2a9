#include "loader/monitor/live_feed.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <fstream>

#include "tests/loader/machine/kernel_tree.h"
#include "tests/loader/monitor/made_up_feed.h"

namespace stoker {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class LiveFeedTest : public testing::Test {
 protected:
  static StepReport Step(int64_t step) {
    StepReport report;
    report.step = step;
    return report;
  }
  std::vector<FeedReading> Read() const { return ReadFeeds(place_); }
  // What `child` gives, run in a child process.
  template <typename Child>
  static int InChild(const Child& child) {
    const pid_t pid = fork();
    if (pid == 0) _exit(child());
    int status = -1;
    waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

  TempFolder folder_;
  const FeedPlace place_ = {folder_.string(), "/"};
};

int64_t Now42() noexcept { return 42; }

TEST_F(LiveFeedTest, ShowsTheNewestReport) {
  LiveFeed feed(place_, Now42);
  EXPECT_THAT(Read(), IsEmpty());
  for (const int64_t step : {7, 8, 9}) {
    feed.Publish(Step(step));
    const auto readings = Read();
    ASSERT_THAT(readings, SizeIs(1));
    EXPECT_EQ(readings[0].line, ToJsonLine(Step(step)));
    EXPECT_EQ(readings[0].owner.pid, getpid());
    EXPECT_EQ(readings[0].published_ns, 42);
    EXPECT_TRUE(readings[0].lives);
  }
  EXPECT_EQ(feed.trouble(), "");
}

TEST_F(LiveFeedTest, IsForTheUserAloneAndGoneWithItsLoader) {
  {
    LiveFeed feed(place_);
    feed.Publish(Step(1));
    struct stat status = {};
    ASSERT_EQ(stat(feed.path().c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777, 0600u);
    EXPECT_EQ(status.st_size, kFeedBytes);
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder_.path()));
}

TEST_F(LiveFeedTest, EachLoaderOfAProcessHasItsOwn) {
  LiveFeed first(place_), second(place_);
  first.Publish(Step(1));
  second.Publish(Step(2));
  const auto readings = Read();
  ASSERT_THAT(readings, SizeIs(2));
  EXPECT_EQ(readings[0].line, ToJsonLine(Step(1)));
  EXPECT_EQ(readings[1].line, ToJsonLine(Step(2)));
}

TEST_F(LiveFeedTest, AChildNeitherWritesNorRemovesIt) {
  auto feed = std::make_unique<LiveFeed>(place_);
  feed->Publish(Step(1));
  EXPECT_EQ(InChild([&] {
              feed->Publish(Step(2));
              feed->SetWaiting(true);
              feed.reset();
              return 0;
            }),
            0);
  const auto readings = Read();
  ASSERT_THAT(readings, SizeIs(1));
  EXPECT_EQ(readings[0].line, ToJsonLine(Step(1)));
  EXPECT_EQ(readings[0].waits_since_ns, 0);
}

TEST_F(LiveFeedTest, SaysSinceWhenTheCallerWaits) {
  LiveFeed feed(place_, Now42);
  feed.SetWaiting(false);
  EXPECT_THAT(Read(), IsEmpty()) << "nothing to say yet";
  feed.SetWaiting(true);
  ASSERT_THAT(Read(), SizeIs(1)) << "also for the first batch";
  EXPECT_EQ(Read()[0].waits_since_ns, 42);
  EXPECT_EQ(Read()[0].line, "");
  feed.SetWaiting(false);
  EXPECT_EQ(Read()[0].waits_since_ns, 0);
}

TEST_F(LiveFeedTest, AWriterThatDiesWhileItWritesLeavesTheReportBefore) {
  LiveFeed feed(place_);
  feed.Publish(Step(71));
  feed.Publish(Step(72));
  std::ifstream in(feed.path(), std::ios::binary);
  std::string bytes((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  bytes[bytes.find(ToJsonLine(Step(72))) + 5] = '\0';
  std::ofstream(feed.path(), std::ios::binary) << bytes;
  EXPECT_EQ(Read()[0].line, ToJsonLine(Step(71)));
}

TEST_F(LiveFeedTest, LeavesOutTheNamesOfBadSamples) {
  StepReport report = Step(1);
  report.stalls.skipped.assign(1000, {1, std::string(200, 'n'), "truncated"});
  report.stalls.skipped_count = 1000;
  LiveFeed feed(place_);
  feed.Publish(report);
  report.stalls.skipped.clear();
  ASSERT_THAT(Read(), SizeIs(1));
  EXPECT_EQ(Read()[0].line, ToJsonLine(report));
}

TEST_F(LiveFeedTest, AReportThatIsTooLargeLeavesTheOneBefore) {
  LiveFeed feed(place_);
  feed.Publish(Step(1));
  StepReport report = Step(2);
  report.warnings = {std::string(kMaxFeedText, 'w')};
  feed.Publish(report);
  EXPECT_THAT(feed.trouble(), HasSubstr("bytes"));
  EXPECT_EQ(Read()[0].line, ToJsonLine(Step(1)));
  feed.Publish(Step(3));
  EXPECT_EQ(feed.trouble(), "");
  EXPECT_EQ(Read()[0].line, ToJsonLine(Step(3)));
}

TEST_F(LiveFeedTest, BeginsAnewWhereSomebodyRemovedIt) {
  LiveFeed feed(place_);
  feed.Publish(Step(1));
  std::filesystem::remove(feed.path());
  feed.Publish(Step(2));
  ASSERT_THAT(Read(), SizeIs(1));
  EXPECT_EQ(Read()[0].line, ToJsonLine(Step(2)));
}

TEST_F(LiveFeedTest, AFileThatSomebodyCutShortIsWholeAgainAfterTwoReports) {
  LiveFeed feed(place_);
  feed.Publish(Step(1));
  std::filesystem::resize_file(feed.path(), sizeof(FeedHeader));
  feed.Publish(Step(2));
  EXPECT_EQ(feed.trouble(), "");
  EXPECT_EQ(Read()[0].line, ToJsonLine(Step(2)));
}

TEST_F(LiveFeedTest, FollowsNoLinkThatLiesInItsPlace) {
  folder_.Write("target", {'k'});
  std::filesystem::create_symlink(folder_.path() / "target", folder_.path() / FeedName(geteuid(), getpid(), 0));
  LiveFeed feed(place_);
  feed.Publish(Step(1));
  EXPECT_THAT(feed.path(), HasSubstr(FeedName(geteuid(), getpid(), 1)));
  EXPECT_EQ(std::filesystem::file_size(folder_.path() / "target"), 1u);
}

TEST_F(LiveFeedTest, TrainingGoesOnWithoutAFolder) {
  LiveFeed feed({folder_.string() + "/nothing", "/"});
  feed.SetWaiting(true);
  feed.Publish(Step(1));
  EXPECT_THAT(feed.trouble(), HasSubstr("No such file"));
  EXPECT_EQ(feed.path(), "");
}

TEST_F(LiveFeedTest, AFullFileSystemIsTroubleAndNoSignal) {
  if (mount("none", folder_.string().c_str(), "tmpfs", 0, "size=8k") != 0) GTEST_SKIP() << "may not mount a tmpfs";
  LiveFeed feed(place_);
  feed.Publish(Step(1));
  EXPECT_THAT(feed.trouble(), HasSubstr("No space"));
  EXPECT_TRUE(std::filesystem::is_empty(folder_.path()));
  umount(folder_.string().c_str());
}

TEST_F(LiveFeedTest, AReadOnlyFileSystemIsTrouble) {
  if (mount("none", folder_.string().c_str(), "tmpfs", MS_RDONLY, "") != 0) GTEST_SKIP() << "may not mount a tmpfs";
  LiveFeed feed(place_);
  feed.Publish(Step(1));
  EXPECT_THAT(feed.trouble(), HasSubstr("Read-only"));
  umount(folder_.string().c_str());
}

TEST_F(LiveFeedTest, ALimitOnFileSizesIsTroubleAndNoSignal) {
  EXPECT_EQ(InChild([&] {
              const struct rlimit limit = {1024, 1024};
              setrlimit(RLIMIT_FSIZE, &limit);
              LiveFeed feed(place_);
              feed.Publish(Step(1));
              return feed.trouble().find("RLIMIT_FSIZE") != std::string::npos ? 0 : 1;
            }),
            0);
}

TEST_F(LiveFeedTest, RemovesWhatKilledProcessesLeftBehind) {
  const KernelTree tree;  // 4711 is not in it
  const std::string self = "1 (t) R 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 5 0";
  tree.Write("proc/self/stat", self);
  tree.Write("proc/" + std::to_string(getpid()) + "/stat", self);
  FeedHeader header;
  header.owner.pid = 4711;
  WriteFeed(folder_, BytesOfFeed(header, {}), 4711);
  LiveFeed feed({folder_.string(), tree.root()});
  feed.Publish(Step(1));
  EXPECT_FALSE(std::filesystem::exists(folder_.path() / FeedName(geteuid(), 4711, 0)));
  EXPECT_TRUE(std::filesystem::exists(feed.path()));
}

}  // namespace
}  // namespace stoker

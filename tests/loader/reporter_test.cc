#include "loader/reporter.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <nlohmann/json.hpp>

#include "loader/file_source.h"
#include "loader/loader.h"
#include "loader/monitor/feed_reader.h"
#include "loader/seams.h"
#include "tests/loader/picture_folder.h"

namespace stoker {
namespace {

std::atomic<int64_t> made_up_now{1};
int64_t MadeUpNow() noexcept { return made_up_now; }

class LiveFeedOfALoaderTest : public testing::Test {
 protected:
  LiveFeedOfALoaderTest() {
    WritePictures(folder_, 8);
    options_.batch_size = 2;
    options_.recipe = EvalRecipe(16, ElementType::kUint8);
    options_.device = "cpu";
    options_.num_workers = 1;
    options_.report_every = 0;
  }
  void SetUp() override {
    if (access("/dev/shm", W_OK) != 0) GTEST_SKIP() << "/dev/shm is not to be written to";
  }
  static std::vector<FeedReading> Feeds() { return ReadFeeds({}, getpid()); }

  TempFolder folder_;
  LoaderOptions options_;
};

TEST_F(LiveFeedOfALoaderTest, IsThereWhileBatchesAreGivenAndAsLongAsTheLoader) {
  {
    LoaderSeams seams;
    seams.now = MadeUpNow;
    Loader loader(options_, OpenFolder(folder_.string()), std::move(seams));
    EXPECT_TRUE(Feeds().empty());
    for (int i = 0; i < 3; ++i) {
      made_up_now += 1'000'000'000;
      ASSERT_TRUE(loader.Next());
    }
    const auto feeds = Feeds();
    ASSERT_EQ(feeds.size(), 1u);
    EXPECT_EQ(nlohmann::json::parse(feeds[0].line)["step"], 3);
  }
  EXPECT_TRUE(Feeds().empty());
}

TEST_F(LiveFeedOfALoaderTest, TellsThatTheCallerWaits) {
  std::atomic<bool> slow{true};
  LoaderSeams seams;
  seams.slow_decode = [&](const SampleJob&) { slow.wait(true); };
  Loader loader(options_, OpenFolder(folder_.string()), std::move(seams));
  bool said = false;
  ASSERT_TRUE(loader.Next(kHostStream, [&] {
    for (const FeedReading& feed : Feeds()) said = said || feed.waits_since_ns > 0;
    slow = false;
    slow.notify_all();
  }));
  EXPECT_TRUE(said);
  ASSERT_EQ(Feeds().size(), 1u);
  EXPECT_EQ(Feeds()[0].waits_since_ns, 0);
}

TEST_F(LiveFeedOfALoaderTest, IsNotThereWhereItIsNotWanted) {
  options_.live_feed = false;
  std::atomic<bool> slow{true};
  LoaderSeams seams;
  seams.now = MadeUpNow;
  seams.slow_decode = [&](const SampleJob&) { slow.wait(true); };
  Loader loader(options_, OpenFolder(folder_.string()), std::move(seams));
  for (int i = 0; i < 3; ++i) {
    made_up_now += 1'000'000'000;
    ASSERT_TRUE(loader.Next(kHostStream, [&] {
      slow = false;
      slow.notify_all();
    }));
  }
  EXPECT_TRUE(Feeds().empty());
}

}  // namespace
}  // namespace stoker

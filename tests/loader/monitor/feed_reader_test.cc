#include "loader/monitor/feed_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <atomic>
#include <nlohmann/json.hpp>
#include <random>
#include <thread>

#include "tests/loader/machine/kernel_tree.h"
#include "tests/loader/monitor/made_up_feed.h"

namespace stoker {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

class FeedReaderTest : public testing::Test {
 protected:
  // A process that lives.
  FeedHeader Header() const {
    FeedHeader header;
    header.owner = OwnFeedOwner("/");
    return header;
  }
  std::string Path(int number = 0) const { return folder_.string() + "/" + FeedName(geteuid(), getpid(), number); }
  void Write(const std::string& bytes) const { WriteFeed(folder_, bytes, getpid()); }
  std::vector<FeedReading> Read() const { return ReadFeeds(place_); }

  TempFolder folder_;
  const FeedPlace place_ = {folder_.string(), "/"};
};

TEST_F(FeedReaderTest, TakesTheNewerRecord) {
  Write(BytesOfFeed(Header(), {{8, "new", 80}, {7, "old", 70}}));
  ASSERT_THAT(Read(), SizeIs(1));
  EXPECT_EQ(Read()[0].line, "new");
  EXPECT_EQ(Read()[0].published_ns, 80);
  Write(BytesOfFeed(Header(), {{8, "old", 80}, {9, "new", 90}}));
  EXPECT_EQ(Read()[0].line, "new");
}

TEST_F(FeedReaderTest, ATornRecordLeavesTheOther) {
  std::string bytes = BytesOfFeed(Header(), {{7, "old"}, {8, "new"}});
  bytes[bytes.find("new")] = 'm';
  Write(bytes);
  ASSERT_THAT(Read(), SizeIs(1));
  EXPECT_EQ(Read()[0].line, "old");
}

TEST_F(FeedReaderTest, ATextBeyondItsRecordIsNone) {
  FeedRecord record;
  record.sequence = 1;
  for (const uint64_t text_bytes : {uint64_t{kMaxFeedText} + 1, uint64_t{1} << 32, ~uint64_t{0}}) {
    record.text_bytes = text_bytes;
    record.checksum = FeedChecksum(record, "");
    std::string bytes = BytesOfFeed(Header(), {});
    std::memcpy(bytes.data() + kFeedRecordOffset, &record, sizeof(record));
    Write(bytes);
    ASSERT_THAT(Read(), SizeIs(1));
    EXPECT_EQ(Read()[0].line, "");
  }
}

TEST_F(FeedReaderTest, AFileCutShortAnywhereGivesTheWholeTextOrNone) {
  const std::string bytes = BytesOfFeed(Header(), {{1, "{\"step\": 1}"}});
  for (size_t size = 0; size < bytes.size(); size += size < sizeof(FeedHeader) || size > kFeedRecordOffset ? 1 : 64) {
    Write(bytes.substr(0, size));
    for (const FeedReading& reading : Read()) {
      EXPECT_TRUE(reading.line.empty() || reading.line == "{\"step\": 1}") << size;
    }
    if (size > kFeedRecordOffset + 200) size += 4000;  // only zeros from there on
  }
}

TEST_F(FeedReaderTest, LeavesOutWhatIsNoFeed) {
  FeedHeader other_magic = Header(), other_pid = Header();
  other_magic.magic[7] = '0';
  other_pid.owner.pid = 1;
  for (const std::string& bytes : {std::string(), std::string("stokerf1"), std::string(50000, '\xff'),
                                   BytesOfFeed(other_magic, {{1, "x"}}), BytesOfFeed(other_pid, {{1, "x"}})}) {
    Write(bytes);
    EXPECT_THAT(Read(), IsEmpty());
  }
  std::filesystem::remove(Path());
  const std::string whole = BytesOfFeed(Header(), {{1, "x"}});
  for (const char* name : {"stoker-", "stoker-0", "stoker-0-", "stoker-0-1", "stoker-0-1-", "stoker-0-1-2-3",
                           "stoker--1-1-1", "stoker-0-0-0", "stoker-99999999999-1-1", "stoker-0-1-x", "other"}) {
    folder_.Write(name, Bytes(whole.begin(), whole.end()));
  }
  EXPECT_THAT(Read(), IsEmpty());
}

TEST_F(FeedReaderTest, OpensNeitherLinksNorPipesNorFolders) {
  const std::string whole = BytesOfFeed(Header(), {{1, "x"}});
  folder_.Write("whole", Bytes(whole.begin(), whole.end()));
  std::filesystem::create_symlink("whole", Path(0));
  ASSERT_EQ(mkfifo(Path(1).c_str(), 0600), 0);
  std::filesystem::create_directory(Path(2));
  EXPECT_THAT(Read(), IsEmpty());
}

TEST_F(FeedReaderTest, LeavesOutWhatBelongsToAnotherThanItsNameSays) {
  const std::string whole = BytesOfFeed(Header(), {{1, "x"}});
  folder_.Write(FeedName(geteuid() + 1, getpid(), 0), Bytes(whole.begin(), whole.end()));
  EXPECT_THAT(Read(), IsEmpty());
}

TEST_F(FeedReaderTest, RandomBytesHarmNobody) {
  std::mt19937 random(1);
  const std::string whole = BytesOfFeed(Header(), {{1, std::string(300, 'x')}, {2, std::string(300, 'y')}});
  for (int round = 0; round < 300; ++round) {
    std::string bytes = whole;
    for (int i = 0; i < 4; ++i) {
      const size_t near =
          std::array<size_t, 3>{0, kFeedRecordOffset, kFeedRecordOffset + kFeedRecordBytes}[random() % 3];
      bytes[near + random() % 100] = static_cast<char>(random());
    }
    Write(bytes);
    for (const FeedReading& reading : Read()) {
      EXPECT_TRUE(reading.line.empty() || reading.line == std::string(300, 'x') ||
                  reading.line == std::string(300, 'y'));
    }
  }
}

// The writer as fast as it can, the reader too: what is read is always one report, whole.
TEST_F(FeedReaderTest, NeverSeesHalfAReport) {
  constexpr int64_t kReports = 3000;
  const auto warning = [](int64_t step) {
    return std::string(static_cast<size_t>(step % 7 * 1500), static_cast<char>('a' + step % 26));
  };
  LiveFeed feed(place_);
  std::atomic<bool> done{false};
  std::jthread writer([&] {
    StepReport report;
    for (report.step = 1; report.step <= kReports; ++report.step) {
      report.warnings = {warning(report.step)};
      feed.Publish(report);
      if (report.step == kReports / 2) std::filesystem::remove(feed.path());
    }
    done = true;
  });
  int64_t last = 0;
  for (bool ended = false; !ended;) {
    ended = done;
    for (const FeedReading& reading : Read()) {
      if (reading.line.empty()) continue;
      const nlohmann::json report = nlohmann::json::parse(reading.line, nullptr, false);
      ASSERT_TRUE(report.is_object()) << reading.line;
      const auto step = report["step"].get<int64_t>();
      ASSERT_GE(step, last);
      ASSERT_EQ(report["warnings"][0], warning(step));
      last = step;
    }
  }
  EXPECT_EQ(last, kReports);
}

TEST_F(FeedReaderTest, ReadsThoseOfOneProcessInOrder) {
  FeedHeader header;
  for (const int32_t pid : {12, 9}) {
    header.owner.pid = pid;
    for (const int number : {10, 2}) WriteFeed(folder_, BytesOfFeed(header, {{1, "x"}}), pid, number);
  }
  std::vector<std::pair<int32_t, int32_t>> all;
  for (const FeedReading& reading : Read()) all.emplace_back(reading.owner.pid, reading.number);
  EXPECT_THAT(all, testing::ElementsAre(std::pair(9, 2), std::pair(9, 10), std::pair(12, 2), std::pair(12, 10)));
  EXPECT_THAT(ReadFeeds(place_, 12), SizeIs(2));
  EXPECT_THAT(ReadFeeds({folder_.string() + "/nothing", "/"}), IsEmpty());
}

TEST(Lives, ReadsStateAndStartOfTheProcess) {
  const KernelTree tree;
  const auto write = [&](const std::string& pid, const std::string& state, int start) {
    tree.Write("proc/" + pid + "/stat", pid + " (a ) R b) " + state + " 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 " +
                                            std::to_string(start) + " 0 0\n");
  };
  write("self", "R", 1);
  write("7", "S", 500);
  write("8", "Z", 500);
  EXPECT_TRUE(Lives({7, 500, 0}, tree.root()));
  EXPECT_TRUE(Lives({7, 0, 0}, tree.root())) << "its start was not known";
  EXPECT_FALSE(Lives({7, 499, 0}, tree.root())) << "another process of that number";
  EXPECT_FALSE(Lives({8, 500, 0}, tree.root())) << "waits to be buried";
  EXPECT_FALSE(Lives({9, 500, 0}, tree.root()));
}

TEST(Lives, AsksTheKernelWhereThereIsNoProc) {
  const KernelTree tree;
  EXPECT_TRUE(Lives({getpid(), 1, 0}, tree.root()));
  EXPECT_FALSE(Lives({(1 << 22) + 1, 1, 0}, tree.root())) << "beyond the largest number";
}

TEST(Lives, OddTextsHarmNobody) {
  for (const char* const text : kOddTexts) {
    const KernelTree tree;
    tree.Write("proc/self/stat", text);
    tree.Write("proc/7/stat", text);
    (void)Lives({7, 500, 0}, tree.root());
    EXPECT_EQ(OwnFeedOwner(tree.root()).pid, getpid());
  }
}

TEST_F(FeedReaderTest, WhatRunsInAnotherContainerIsLeftAlone) {
  FeedHeader header;
  header.owner = {.pid = (1 << 22) + 1, .start_ticks = 1, .pid_namespace = 1};
  WriteFeed(folder_, BytesOfFeed(header, {{1, "x"}}), header.owner.pid);
  ASSERT_THAT(Read(), SizeIs(1));
  EXPECT_FALSE(Read()[0].own_namespace);
  EXPECT_TRUE(Read()[0].lives);
  RemoveDeadFeeds(place_);
  EXPECT_THAT(Read(), SizeIs(1));
  header.owner.pid_namespace = OwnFeedOwner("/").pid_namespace;
  WriteFeed(folder_, BytesOfFeed(header, {{1, "x"}}), header.owner.pid);
  EXPECT_FALSE(Read()[0].lives);
  RemoveDeadFeeds(place_);
  EXPECT_THAT(Read(), IsEmpty());
}

}  // namespace
}  // namespace stoker

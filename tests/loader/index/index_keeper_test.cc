#include "loader/index/index_keeper.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "loader/file_source.h"
#include "loader/index/index_writer.h"
#include "tests/loader/index/made_marks.h"
#include "tests/loader/picture_folder.h"

namespace stoker {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;

constexpr size_t kBudget = size_t{1} << 20;

class IndexKeeperTest : public testing::Test {
 protected:
  IndexKeeperTest() {
    WritePictures(pictures_, 12);
    source_ = OpenFolder(pictures_.string());
  }

  std::unique_ptr<IndexKeeper> Keeper() const { return std::make_unique<IndexKeeper>(*source_, place_, kBudget); }
  static uint32_t Rows(IndexKeeper& keeper, uint64_t id) {
    JpegMarks marks;
    keeper.rows().Find(id, marks);
    return JpegMarks::RowsIn(marks.packed());
  }
  // What a loader that begins now knows.
  uint32_t RowsNow(uint64_t id) const { return Rows(*Keeper(), id); }
  void LearnAndEnd(uint64_t id, uint32_t rows) const { Keeper()->rows().Learn(id, MadeMarks(rows, id)); }

  const TempFolder pictures_;
  const TempFolder folder_;
  const std::string place_ = (folder_.path() / "not" / "there yet").string();
  std::unique_ptr<const Source> source_;
};

TEST_F(IndexKeeperTest, InMemoryTouchesNoFile) {
  IndexKeeper keeper(*source_, kIndexInMemory, kBudget);
  keeper.rows().Learn(3, MadeMarks(7, 3));
  keeper.EpochEnded();
  EXPECT_EQ(Rows(keeper, 3), 7u);
  EXPECT_EQ(keeper.path(), "");
  EXPECT_EQ(keeper.report().file_entries, 0u);
}

TEST_F(IndexKeeperTest, WhatWasLearnedIsThereInTheNextRun) {
  LearnAndEnd(3, 7);
  EXPECT_EQ(RowsNow(3), 7u);
  EXPECT_EQ(RowsNow(4), 0u);
}

TEST_F(IndexKeeperTest, MakesNoFolderWhereNothingWasLearned) {
  Keeper()->EpochEnded();
  EXPECT_FALSE(fs::exists(place_));
}

TEST_F(IndexKeeperTest, WritesAtTheEndOfAnEpochThatLearnedMuch) {
  const auto keeper = Keeper();
  for (uint64_t id = 0; id < 12; ++id) keeper->rows().Learn(id, MadeMarks(7, id));
  keeper->EpochEnded();
  keeper->EpochEnded();  // maybe another, while the first goes on
  while (keeper->report().file_entries < 12) std::this_thread::yield();
  EXPECT_EQ(keeper->report().learned.entries, 0u);  // the file has them
  EXPECT_EQ(Rows(*keeper, 11), 7u);
  EXPECT_EQ(RowsNow(11), 7u);
}

TEST_F(IndexKeeperTest, GoesOnWithWhatOthersHaveWrittenAfterAnEpoch) {
  const auto keeper = Keeper();
  LearnAndEnd(5, 9);
  EXPECT_EQ(Rows(*keeper, 5), 0u);
  keeper->EpochEnded();
  while (keeper->report().file_entries == 0) std::this_thread::yield();
  EXPECT_EQ(Rows(*keeper, 5), 9u);
}

TEST_F(IndexKeeperTest, KeepsOfEachSampleWhatCoversMoreRows) {
  const auto first = Keeper();
  const auto second = Keeper();
  for (uint64_t id = 0; id < 12; ++id) first->rows().Learn(id, MadeMarks(id % 2 == 0 ? 10 : 20, id));
  for (uint64_t id = 0; id < 11; ++id) second->rows().Learn(id, MadeMarks(15, id));
  EXPECT_TRUE(first->Save());
  EXPECT_TRUE(second->Save());
  for (uint64_t id = 0; id < 11; ++id) EXPECT_EQ(RowsNow(id), id % 2 == 0 ? 15u : 20u) << id;
  EXPECT_EQ(RowsNow(11), 20u);
}

TEST_F(IndexKeeperTest, APictureThatHasChangedIsLearnedAnewInTheFile) {
  LearnAndEnd(3, 7);
  const JpegMarks now = MadeMarks(7, 4);
  Keeper()->rows().Learn(3, now);
  JpegMarks found;
  const auto keeper = Keeper();
  keeper->rows().Find(3, found);
  EXPECT_EQ(BytesOf(found), BytesOf(now));
  EXPECT_EQ(keeper->report().learned.entries, 0u);
}

TEST_F(IndexKeeperTest, TriesAgainAfterAnotherHasKeptTheLock) {
  const std::string path = Keeper()->path();
  fs::create_directories(place_);
  IndexKeeper keeper(*source_, place_, kBudget, 0);
  keeper.rows().Learn(3, MadeMarks(7, 3));
  testing::internal::CaptureStderr();
  {
    const LockedIndex others(path, 0);
    EXPECT_FALSE(keeper.Save());
  }
  EXPECT_THAT(testing::internal::GetCapturedStderr(), AllOf(HasSubstr(path), HasSubstr("another process")));
  EXPECT_TRUE(keeper.Save());
  EXPECT_EQ(keeper.report().learned.entries, 1u);
  keeper.Reopen();
  EXPECT_EQ(keeper.report().learned.entries, 0u);
  EXPECT_EQ(Rows(keeper, 3), 7u);
}

// Several processes at once: nothing that one of them has learned is lost.
TEST_F(IndexKeeperTest, ProcessesThatSaveAtOnceLoseNothing) {
  std::vector<pid_t> children;
  for (uint64_t child = 0; child < 6; ++child) {
    const pid_t pid = fork();
    if (pid == 0) {
      IndexKeeper keeper(*source_, place_, kBudget);
      bool saved = true;
      for (uint32_t rows = 1; rows <= 5; ++rows) {
        keeper.rows().Learn(2 * child, MadeMarks(rows, child));
        keeper.rows().Learn(2 * child + 1, MadeMarks(rows, child));
        saved = keeper.Save() && saved;
      }
      _exit(saved ? 0 : 1);
    }
    children.push_back(pid);
  }
  for (const pid_t child : children) {
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
  for (uint64_t id = 0; id < 12; ++id) EXPECT_EQ(RowsNow(id), 5u) << id;
  EXPECT_EQ(std::distance(fs::directory_iterator(place_), {}), 2);  // the index and its lock
}

TEST_F(IndexKeeperTest, SaysWhyAFileIsNotUsedAndWritesItAnew) {
  LearnAndEnd(3, 7);
  const std::string path = Keeper()->path();
  fs::resize_file(path, fs::file_size(path) - 1);
  testing::internal::CaptureStderr();
  LearnAndEnd(4, 8);
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              AllOf(HasSubstr(path), HasSubstr("cut short"), HasSubstr("anew")));
  EXPECT_EQ(RowsNow(3), 0u);
  EXPECT_EQ(RowsNow(4), 8u);
}

TEST_F(IndexKeeperTest, SaysOnceWhatCannotBeWrittenAndGoesOn) {
  fs::create_directories(fs::path(place_).parent_path());
  std::ofstream(place_) << "a file in the way";
  testing::internal::CaptureStderr();
  {
    const auto keeper = Keeper();
    keeper->rows().Learn(3, MadeMarks(7, 3));
    EXPECT_FALSE(keeper->Save());
    EXPECT_FALSE(keeper->Save());
    EXPECT_EQ(Rows(*keeper, 3), 7u);
  }
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_THAT(said, AllOf(HasSubstr(place_), HasSubstr("--index")));
  EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 1);
}

TEST_F(IndexKeeperTest, AReadOnlyFolderIsReadWithoutAWord) {
  LearnAndEnd(3, 7);
  fs::permissions(place_, fs::perms::owner_read | fs::perms::owner_exec);
  testing::internal::CaptureStderr();
  EXPECT_EQ(RowsNow(3), 7u);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  fs::permissions(place_, fs::perms::owner_all);
}

TEST_F(IndexKeeperTest, AFullDiskIsSaidAndLeavesTheOldFile) {
  LearnAndEnd(3, 7);
  rlimit before = {};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit small = {20'000, before.rlim_max};  // of which stderr needs some, too
  testing::internal::CaptureStderr();
  setrlimit(RLIMIT_FSIZE, &small);
  {
    const auto keeper = Keeper();
    keeper->rows().Learn(4, MadeMarks(8000, 4));
    EXPECT_FALSE(keeper->Save());
  }
  setrlimit(RLIMIT_FSIZE, &before);
  EXPECT_THAT(testing::internal::GetCapturedStderr(), AllOf(HasSubstr("File too large"), HasSubstr(place_)));
  EXPECT_EQ(RowsNow(3), 7u);
  EXPECT_EQ(RowsNow(4), 0u);
}

}  // namespace
}  // namespace stoker

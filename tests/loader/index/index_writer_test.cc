#include "loader/index/index_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <system_error>

#include "tests/loader/index/made_marks.h"
#include "tests/loader/picture_folder.h"

namespace stoker {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr IndexedSet kSet = {100, {3, 4}};

class IndexWriterTest : public testing::Test {
 protected:
  void Write(uint32_t rows) const {
    JpegMarks marks;
    WriteIndexFile(path_, kSet, [&](uint64_t id) {
      marks = MadeMarks(rows, id);
      return marks.packed();
    });
  }
  std::string ErrorOf(uint32_t rows) const {
    try {
      Write(rows);
    } catch (const std::system_error& error) {
      return error.what();
    }
    return "";
  }
  uint32_t RowsAtPath() const {
    std::string trouble;
    const auto file = IndexFile::Open(path_, kSet, trouble);
    JpegMarks marks;
    if (file != nullptr) file->Find(99, marks);
    return JpegMarks::RowsIn(marks.packed());
  }
  size_t files() const {
    return static_cast<size_t>(std::distance(std::filesystem::directory_iterator(folder_.path()), {}));
  }

  const TempFolder folder_;
  const std::string path_ = (folder_.path() / "index").string();
};

TEST_F(IndexWriterTest, ReplacesAFileWhole) {
  Write(5);
  EXPECT_EQ(RowsAtPath(), 5u);
  JpegMarks marks;
  WriteIndexFile(path_, kSet, [&](uint64_t id) {
    EXPECT_EQ(RowsAtPath(), 5u) << id;  // while the new one is written
    marks = MadeMarks(6, id);
    return marks.packed();
  });
  EXPECT_EQ(RowsAtPath(), 6u);
  EXPECT_EQ(files(), 1u);
}

// A limit on the size of files stands in for a disk that fills up; its signal, too, would end the process.
TEST_F(IndexWriterTest, LeavesTheOldOneOnAFullDisk) {
  Write(5);
  rlimit before = {};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit small = {3000, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  const std::string error = ErrorOf(50);
  setrlimit(RLIMIT_FSIZE, &before);
  EXPECT_THAT(error, AllOf(HasSubstr("cannot write"), HasSubstr(path_), HasSubstr("File too large")));
  EXPECT_EQ(RowsAtPath(), 5u);
  EXPECT_EQ(files(), 1u);
}

TEST_F(IndexWriterTest, LeavesNothingBehindWhereTheNewOneCannotTakeItsPlace) {
  std::filesystem::create_directories(path_ + "/in the way");
  EXPECT_THAT(ErrorOf(5), AllOf(HasSubstr("cannot rename"), HasSubstr(path_)));
  EXPECT_EQ(files(), 1u);
}

TEST_F(IndexWriterTest, NamesAPathThatCannotBeWritten) {
  std::filesystem::remove(folder_.path());
  EXPECT_THAT(ErrorOf(5), AllOf(HasSubstr(path_), HasSubstr("No such file")));
  std::filesystem::create_directory(folder_.path());
}

TEST_F(IndexWriterTest, ADraftThatADeadProcessLeftIsOverwritten) {
  std::ofstream(path_ + ".new") << std::string(1'000'000, 'x');
  Write(5);
  EXPECT_EQ(RowsAtPath(), 5u);
  EXPECT_EQ(files(), 1u);
}

TEST_F(IndexWriterTest, OneHasTheLockAtATime) {
  {
    const LockedIndex lock(path_, 0);
    EXPECT_TRUE(lock.held());
    EXPECT_FALSE(LockedIndex(path_, 0).held());
    EXPECT_FALSE(LockedIndex(path_, 0).held());
  }
  EXPECT_TRUE(LockedIndex(path_, 0).held());
}

TEST_F(IndexWriterTest, AChildForkedMeanwhileKeepsNoLock) {
  int pipe_ends[2];
  ASSERT_EQ(pipe(pipe_ends), 0);
  pid_t child = -1;
  {
    const LockedIndex lock(path_, 0);
    child = fork();
    if (child == 0) {
      close(pipe_ends[1]);
      char end = 0;
      _exit(read(pipe_ends[0], &end, 1) == 0 ? 0 : 1);  // lives until the other end is closed
    }
  }
  EXPECT_TRUE(LockedIndex(path_, 0).held());
  close(pipe_ends[1]);
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  close(pipe_ends[0]);
}

TEST_F(IndexWriterTest, ALockThatCannotBeMadeIsNamed) {
  std::filesystem::create_directories(path_ + ".lock");
  EXPECT_THROW(LockedIndex(path_, 0), std::system_error);
}

TEST_F(IndexWriterTest, AProcessThatEndsLetsGoOfTheLock) {
  const pid_t child = fork();
  if (child == 0) {
    new LockedIndex(path_, 0);  // never given back
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  ASSERT_EQ(status, 0);
  EXPECT_TRUE(LockedIndex(path_, 0).held());
}

}  // namespace
}  // namespace stoker

#include "bench/index_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <stdexcept>

#include "bench/run_command.h"
#include "loader/error.h"
#include "loader/file_source.h"
#include "loader/index/index_file.h"
#include "loader/loader.h"
#include "tests/loader/picture_folder.h"

namespace stoker {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::Not;

class IndexCommandTest : public testing::Test {
 protected:
  // Runs the command; what it prints is kept in `printed_`.
  int Run() {
    testing::internal::CaptureStdout();
    testing::internal::CaptureStderr();
    const int code = IndexCommand(options_);
    printed_ = testing::internal::GetCapturedStdout();
    said_ = testing::internal::GetCapturedStderr();
    return code;
  }
  // Five JPEGs, of which three have rows to begin at, and what is none.
  void WriteData() {
    for (uint32_t i = 0; i < 3; ++i) data_.Write("a/" + std::to_string(i) + ".jpg", GoodJpeg(i));
    const Picture picture = MakePicture({40, 24}, 3, 1);
    data_.Write("a/progressive.jpg", EncodeJpeg(picture, {.progressive = true}));
    data_.Write("a/scans.jpg", EncodeJpeg(picture, {.interleaved = false}));
    data_.Write("b/some.png", EncodePng(picture));
    data_.Write("b/empty.jpg", {});
    data_.Write("b/text.jpg", {'n', 'o'});
    Bytes cut = GoodJpeg(4);
    cut.resize(20);
    data_.Write("b/cut.jpg", cut);
  }
  // Of the data, by an index that is opened now.
  uint64_t EntriesInFile() const {
    const auto source = OpenFolder(data_.string());
    const IndexedSet set = {source->size(), FingerprintOf(*source)};
    std::string trouble;
    const auto file = IndexFile::Open(options_.index + "/" + Hex(set.fingerprint) + ".stoker-index", set, trouble);
    EXPECT_EQ(trouble, "");
    return file == nullptr ? 0 : file->entries();
  }

  TempFolder data_;
  TempFolder out_;
  IndexOptions options_ = {
      .path = data_.string(), .list = {}, .index = (out_.path() / "indexes").string(), .workers = 2};
  std::string printed_, said_;
};

TEST_F(IndexCommandTest, CountsByReasonWhatHasNoRowsToLearn) {
  WriteData();
  ASSERT_EQ(Run(), kExitOk);
  EXPECT_THAT(printed_, HasSubstr("9: "));
  EXPECT_THAT(printed_, HasSubstr("1 not JPEG\n"));
  EXPECT_THAT(printed_, HasSubstr("3 broken"));
  EXPECT_THAT(said_, HasSubstr("indexing " + data_.string()));
}

TEST_F(IndexCommandTest, WritesTheRowsOfEveryJpegOfOursAndKnowsThemTheNextTime) {
  WriteData();
  ASSERT_EQ(Run(), kExitOk);
  EXPECT_THAT(printed_, HasSubstr("3 indexed, 0 known before"));
  EXPECT_THAT(printed_, HasSubstr("1 JPEGs that are left to libjpeg-turbo"));
  EXPECT_THAT(printed_, HasSubstr("1 JPEGs whose colours come in scans of their own"));
  EXPECT_THAT(printed_, HasSubstr(" 3 pictures, "));  // of the file
  EXPECT_THAT(printed_, HasSubstr("--index " + options_.index));
  EXPECT_EQ(EntriesInFile(), 3u);
  ASSERT_EQ(Run(), kExitOk);
  EXPECT_THAT(printed_, HasSubstr("0 indexed, 3 known before"));
}

// So a loader that finds it has nothing to learn.
TEST_F(IndexCommandTest, LeavesALoaderNothingToLearn) {
  for (uint32_t i = 0; i < 8; ++i) data_.Write("a/" + std::to_string(i) + ".jpg", GoodJpeg(i));
  ASSERT_EQ(Run(), kExitOk);
  LoaderOptions options;
  options.batch_size = 4;
  options.recipe = TrainRecipe(16, ElementType::kUint8);
  options.device = "cpu";
  options.report_every = 0;
  options.index = options_.index;
  Loader loader(options, OpenFolder(data_.string()));
  while (loader.Next()) {
  }
  EXPECT_EQ(loader.Report().index_file_entries, 8u);
  EXPECT_EQ(loader.Report().index_entries, 0u);
}

TEST_F(IndexCommandTest, FailsWhereTheIndexCannotBeWritten) {
  WriteData();
  out_.Write("indexes", {'x'});
  EXPECT_EQ(Run(), kExitFailed);
  EXPECT_THAT(said_, HasSubstr(options_.index));
}

TEST_F(IndexCommandTest, TakesTheUsersCacheWhereNoFolderIsGiven) {
  const char* const before = std::getenv("XDG_CACHE_HOME");
  const std::string old = before == nullptr ? "" : before;
  setenv("XDG_CACHE_HOME", out_.string().c_str(), 1);
  WriteData();
  options_.index = "";
  EXPECT_EQ(Run(), kExitOk);
  EXPECT_TRUE(fs::exists(out_.path() / "stoker"));
  if (before == nullptr) {
    unsetenv("XDG_CACHE_HOME");
  } else {
    setenv("XDG_CACHE_HOME", old.c_str(), 1);
  }
}

TEST_F(IndexCommandTest, WantsAFolderOfPicturesAndOneForTheIndex) {
  options_.list = "also a list";
  EXPECT_THROW(IndexCommand(options_), std::invalid_argument);
  options_.list = options_.path = "";
  EXPECT_THROW(IndexCommand(options_), std::invalid_argument);
  options_.path = data_.string();
  for (const char* word : {"off", "memory"}) {
    options_.index = word;
    EXPECT_THROW(IndexCommand(options_), std::invalid_argument) << word;
  }
  options_.index = out_.string();
  options_.path = (out_.path() / "nothing").string();
  EXPECT_THROW(IndexCommand(options_), Error);
}

}  // namespace
}  // namespace stoker

#include "loader/trace_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <csignal>
#include <fstream>
#include <system_error>

#include "tests/loader/picture_folder.h"
#include "tests/loader/trace_reading.h"

namespace stoker {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class TraceFileTest : public testing::Test {
 protected:
  // Writes a megabyte; the error's words, empty where there is none.
  static std::string ErrorOf(const std::string& path) {
    try {
      TraceFile file(path, 0);
      file.Row(1, "row");
      for (int64_t i = 0; i < 10000; ++i) file.Slice(1, "slice", "io", i, i + 1, "\"number\":1");
      file.Finish();
      return "";
    } catch (const std::system_error& error) {
      return error.what();
    }
  }
  std::string Content() const {
    std::ifstream in(path_);
    return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  }
  size_t files() const {
    using Files = std::filesystem::directory_iterator;
    return static_cast<size_t>(std::distance(Files(folder_.path()), Files()));
  }

  TempFolder folder_;
  const std::string path_ = (folder_.path() / "trace.json").string();
};

TEST_F(TraceFileTest, KeepsNanosecondsAfterHoursAndGapless) {
  constexpr int64_t kHours = int64_t{100} * 3600 * 1'000'000'000;
  TraceFile file(path_, 5);
  file.Row(1, "row");
  for (int64_t i = 0; i < 2000; ++i) file.Slice(1, "slice", "io", kHours + 7 * i, kHours + 7 * i + 7, "");
  file.Finish();
  const ReadTrace trace = ReadTraceFile(path_);
  EXPECT_EQ(trace.begin_ns, 5);
  for (size_t i = 0; i < 2000; ++i) {
    ASSERT_EQ(trace.slices.at("row")[i].from_ns, kHours - 5 + 7 * static_cast<int64_t>(i));
    ASSERT_EQ(trace.slices.at("row")[i].to_ns, kHours - 5 + 7 * static_cast<int64_t>(i) + 7);
  }
}

TEST_F(TraceFileTest, ReplacesAFileWholeAndFollowsLinks) {
  std::ofstream(path_) << "old";
  const std::string link = (folder_.path() / "link.json").string();
  std::filesystem::create_symlink("trace.json", link);
  {
    TraceFile file(link, 0);
    file.Row(1, "row");
    EXPECT_EQ(Content(), "old");
    file.Finish();
  }
  EXPECT_TRUE(std::filesystem::is_symlink(link));
  EXPECT_EQ(ReadTraceFile(path_).rows.size(), 1u);
  EXPECT_EQ(files(), 2u);
}

TEST_F(TraceFileTest, LeavesWhatWasThereWhereItIsNotFinished) {
  std::ofstream(path_) << "old";
  { TraceFile(path_, 0).Row(1, "row"); }
  EXPECT_EQ(Content(), "old");
  EXPECT_EQ(files(), 1u);
}

// A limit on the size of files stands in for a disk that fills up: the write that goes beyond it fails.
TEST_F(TraceFileTest, LeavesWhatWasThereOnAFullDisk) {
  std::ofstream(path_) << "old";
  rlimit before = {};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto old_handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small = {500'000, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  const std::string error = ErrorOf(path_);
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, old_handler);
  EXPECT_THAT(error, AllOf(HasSubstr("cannot write the trace to"), HasSubstr(path_), HasSubstr("has room"),
                           HasSubstr("File too large")));
  EXPECT_EQ(Content(), "old");
  EXPECT_EQ(files(), 1u);
  EXPECT_EQ(ErrorOf(path_), "");
}

TEST_F(TraceFileTest, NamesAPathThatCannotBeWritten) {
  EXPECT_THAT(ErrorOf((folder_.path() / "no/trace.json").string()),
              AllOf(HasSubstr("no/trace.json"), HasSubstr("can be written to"), HasSubstr("No such file")));
  EXPECT_THAT(ErrorOf(folder_.string()), HasSubstr("Is a directory"));
  EXPECT_THAT(ErrorOf(""), HasSubstr("cannot write the trace to "));
  EXPECT_EQ(files(), 0u);
}

TEST_F(TraceFileTest, PutsNoFileInThePlaceOfADevice) {
  const std::string pipe = (folder_.path() / "pipe").string();
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_THAT(ErrorOf(pipe), HasSubstr(pipe));
  EXPECT_TRUE(std::filesystem::is_fifo(pipe));
}

TEST(JsonString, EscapesWhatJsonDoesNotAllow) {
  EXPECT_EQ(JsonString("a\"b\\c\n\x01"
                       "\x7f/\xc3\xa9"),
            "\"a\\\"b\\\\c\\u000a\\u0001\x7f/\xc3\xa9\"");
  EXPECT_EQ(nlohmann::json::parse(JsonString("\xff\xc3")).get<std::string>(), "\\xff\\xc3");
  EXPECT_EQ(JsonString(std::string_view("\0", 1)), "\"\\u0000\"");
}

}  // namespace
}  // namespace stoker

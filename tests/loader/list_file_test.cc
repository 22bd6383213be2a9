#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <climits>
#include <filesystem>
#include <string>
#include <vector>

#include "loader/error.h"
#include "loader/file_source.h"
#include "tests/loader/picture_folder.h"

namespace stoker {
namespace {

using testing::HasSubstr;
using Lines = std::vector<std::string>;

class ListFile : public testing::Test {
 protected:
  std::string Write(const std::string& text, const std::string& name = "list.txt") const {
    folder_.Write(name, Bytes(text.begin(), text.end()));
    return (folder_.path() / name).string();
  }
  // "label path" of each sample, paths below the folder without it.
  Lines Samples(const std::string& text, const ScanOptions& options = {}) const {
    const auto source = OpenList(Write(text), options);
    Lines lines;
    for (uint32_t i = 0; i < source->size(); ++i) {
      char path[PATH_MAX];
      EXPECT_TRUE(source->Path(i, path, sizeof path));
      std::string name = path;
      if (name.starts_with(folder_.string())) name.erase(0, folder_.string().size() + 1);
      lines.push_back(std::to_string(source->Label(i)) + " " + name);
    }
    return lines;
  }
  std::string ErrorOf(const std::string& text, const ScanOptions& options = {}) const {
    try {
      OpenList(Write(text), options);
    } catch (const Error& error) {
      EXPECT_EQ(error.stage(), "scan");
      return error.what();
    }
    return "no error";
  }

  TempFolder folder_;
};

TEST_F(ListFile, ReadsPathsAndNumbers) {
  EXPECT_EQ(Samples("a.jpg 3\nsub/b.jpg 0\n/abs/c.jpg 2147483647"),
            (Lines{"3 a.jpg", "0 sub/b.jpg", "2147483647 /abs/c.jpg"}));
  EXPECT_TRUE(OpenList(Write("a.jpg 3\n"))->classes().empty());
}

TEST_F(ListFile, TakesSpacesTabsAndEveryLineEnd) {
  EXPECT_EQ(Samples("\xEF\xBB\xBFmy cat.jpg 1\r\n\r\n   \n\ttwo  spaces .jpg\t\t2  \r\n  a b c.png 3"),
            (Lines{"1 my cat.jpg", "2 two  spaces .jpg", "3 a b c.png"}));
}

TEST_F(ListFile, NumbersClassNamesInByteOrder) {
  EXPECT_EQ(Samples("a.jpg dog\nb.jpg Zebra\nc.jpg cat\nd.jpg dog\n"),
            (Lines{"2 a.jpg", "0 b.jpg", "1 c.jpg", "2 d.jpg"}));
  EXPECT_EQ(OpenList(Write("a.jpg dog\nb.jpg cat\n"))->classes(), (ClassNames{"cat", "dog"}));
}

TEST_F(ListFile, LabelsByGivenClasses) {
  const ScanOptions options = {.classes = ClassNames{"dog", "cat", "7"}};
  EXPECT_EQ(Samples("a.jpg cat\nb.jpg dog\nc.jpg 1\nd.jpg 7\n", options),
            (Lines{"1 a.jpg", "0 b.jpg", "1 c.jpg", "2 d.jpg"}));
  EXPECT_THAT(ErrorOf("a.jpg cat\nb.jpg bird\n", options), HasSubstr(":2: label \"bird\" is not one of the classes"));
  EXPECT_THAT(ErrorOf("a.jpg 3\n", options), HasSubstr(":1: label \"3\" is not one of the classes"));
}

TEST_F(ListFile, NamesTheLineThatIsWrong) {
  EXPECT_THAT(ErrorOf("a.jpg 1\n\nb.jpg\n"), HasSubstr("list.txt:3: \"b.jpg\" has no label"));
  EXPECT_THAT(ErrorOf("a.jpg 1\nb.jpg cat\n"), HasSubstr(":1: label \"1\" is a number, others are class names"));
  EXPECT_THAT(ErrorOf("a.jpg 1\nb.jpg -1\n"), HasSubstr(":2: label \"-1\" is not a class index"));
  EXPECT_THAT(ErrorOf("a.jpg -1\n"), HasSubstr(":1: label \"-1\" is not a class index"));
  EXPECT_THAT(ErrorOf("a.jpg 2147483648\n"), HasSubstr("is not a class index (0 to 2147483647)"));
  EXPECT_THAT(ErrorOf("\n\n"), HasSubstr("names no file"));
}

TEST_F(ListFile, SaysEverythingOnce) {
  EXPECT_EQ(ErrorOf("\n"), folder_.string() + "/list.txt:1: the list names no file");
}

TEST_F(ListFile, LeavesAMissingFileToItsRead) {
  folder_.Write("here.jpg", Bytes(5));
  const auto source = OpenList(Write("here.jpg 0\ngone.jpg 1\n"));
  ASSERT_EQ(source->size(), 2u);
  EXPECT_EQ(source->ExtentsOf(0, nullptr).bytes(), 5u);
  EXPECT_EQ(source->ExtentsOf(1, nullptr).bytes(), 0u);
}

TEST_F(ListFile, TakesFilesBesideTheRoot) {
  char path[PATH_MAX];
  const auto source = OpenList(Write("/a.jpg 0\n"));
  ASSERT_TRUE(source->Path(0, path, sizeof path));
  EXPECT_STREQ(path, "/a.jpg");
  EXPECT_EQ(source->Name(0), "/a.jpg");
}

TEST_F(ListFile, IsRelativeToTheWorkingFolderWithoutOneOfItsOwn) {
  const std::filesystem::path before = std::filesystem::current_path();
  Write("a.jpg 0\nsub/b.jpg 1\n");
  std::filesystem::current_path(folder_.path());
  const auto source = OpenList("list.txt");
  std::filesystem::current_path(before);
  EXPECT_EQ(source->Name(0), "a.jpg");
  EXPECT_EQ(source->Name(1), "sub/b.jpg");
}

TEST_F(ListFile, SaysThatTheListIsMissing) {
  try {
    OpenList(folder_.string() + "/none.txt");
    FAIL() << "opened nothing";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), std::errc::no_such_file_or_directory);
    EXPECT_EQ(std::string(error.what()), "cannot open " + folder_.string() + "/none.txt: No such file or directory");
  }
}

TEST_F(ListFile, ReadsClassNames) {
  EXPECT_EQ(ReadClassNames(Write("\xEF\xBB\xBF"
                                 "big dog\r\n\n cat \n")),
            (ClassNames{"big dog", "cat"}));
  EXPECT_THROW(ReadClassNames(Write("cat\ndog\ncat\n")), Error);
}

}  // namespace
}  // namespace stoker

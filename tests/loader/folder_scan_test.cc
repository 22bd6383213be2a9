#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "loader/error.h"
#include "loader/file_source.h"
#include "tests/loader/picture_folder.h"

namespace stoker {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class FolderScan : public testing::Test {
 protected:
  void Touch(const std::string& name, size_t bytes = 1) const { folder_.Write(name, Bytes(bytes, 7)); }
  void Link(const std::string& target, const std::string& name) const {
    fs::create_directories((folder_.path() / name).parent_path());
    fs::create_symlink(target, folder_.path() / name);
  }
  std::unique_ptr<FileSource> Open(const ScanOptions& options = {}) {
    summary_ = {};
    return OpenFolder(folder_.string(), options, &summary_);
  }
  std::vector<std::string> Names(const ScanOptions& options = {}) {
    const auto source = Open(options);
    std::vector<std::string> names;
    for (uint64_t i = 0; i < source->size(); ++i) {
      names.push_back(std::to_string(source->Label(i)) + " " + source->Name(i));
    }
    return names;
  }
  // The words of the error that opening throws.
  std::string ErrorOf(const ScanOptions& options = {}) { return ErrorOf(folder_.string(), options); }
  static std::string ErrorOf(const std::string& path, const ScanOptions& options = {}) {
    try {
      OpenFolder(path, options);
    } catch (const Error& error) {
      EXPECT_EQ(error.stage(), "scan");
      return error.what();
    }
    return "no error";
  }

  TempFolder folder_;
  ScanSummary summary_;
};

using Names_ = std::vector<std::string>;

TEST_F(FolderScan, OrdersClassesAndFilesByBytes) {
  for (const char* name : {"10/b.jpg", "10/B.jpg", "1/z.jpg", "2/a.jpg", "1/10.jpg", "1/9.jpg", "Zebra/a.jpg"}) {
    Touch(name);
  }
  EXPECT_EQ(Names(),
            (Names_{"0 1/10.jpg", "0 1/9.jpg", "0 1/z.jpg", "1 10/B.jpg", "1 10/b.jpg", "2 2/a.jpg", "3 Zebra/a.jpg"}));
  EXPECT_EQ(Open()->classes(), (ClassNames{"1", "10", "2", "Zebra"}));
  EXPECT_FALSE(summary_.flat);
}

TEST_F(FolderScan, FindsPicturesAtAnyDepthOfAClass) {
  for (const char* name : {"c/z.jpg", "c/a/b/d/e/f.jpg", "c/a/x.jpg", "d/1/2/3.png"}) Touch(name);
  EXPECT_EQ(Names(), (Names_{"0 c/z.jpg", "0 c/a/x.jpg", "0 c/a/b/d/e/f.jpg", "1 d/1/2/3.png"}));
}

TEST_F(FolderScan, TakesSizesWithoutReading) {
  Touch("c/a.jpg", 12345);
  Touch("c/b.jpg", 0);
  const auto source = Open();
  EXPECT_EQ(source->ExtentsOf(0, nullptr).bytes(), 12345u);
  EXPECT_EQ(source->ExtentsOf(1, nullptr).bytes(), 0u);
}

TEST_F(FolderScan, TakesAFlatFolder) {
  for (const char* name : {"b.jpg", "a.png", "readme.txt"}) Touch(name);
  fs::create_directory(folder_.path() / "empty");
  EXPECT_EQ(Names(), (Names_{"0 a.png", "0 b.jpg"}));
  EXPECT_TRUE(summary_.flat);
  EXPECT_EQ(summary_.ignored_files, 1u);
  EXPECT_TRUE(Open()->classes().empty());
}

TEST_F(FolderScan, CountsWhatItIgnores) {
  for (const char* name :
       {"c/a.jpg", "c/notes.txt", "c/.hidden.jpg", "c/.git/x.jpg", "root.jpg", "list.csv", ".cache/y.jpg"}) {
    Touch(name);
  }
  EXPECT_EQ(Names(), (Names_{"0 c/a.jpg"}));
  EXPECT_EQ(summary_.ignored_files, 3u);  // notes.txt, list.csv and the picture beside the classes
  EXPECT_EQ(summary_.hidden, 3u);
}

TEST_F(FolderScan, FollowsLinksToFiles) {
  Touch("c/a.jpg", 77);
  Link("a.jpg", "c/b.jpg");
  Link("gone.jpg", "c/dangling.jpg");
  const auto source = Open();
  ASSERT_EQ(source->size(), 3u);
  EXPECT_EQ(source->ExtentsOf(1, nullptr).bytes(), 77u);
  EXPECT_EQ(source->Name(2), "c/dangling.jpg");  // its error comes when it is read
  EXPECT_EQ(source->ExtentsOf(2, nullptr).bytes(), 0u);
}

TEST_F(FolderScan, EntersALinkedFolderOnceInEachClass) {
  const TempFolder elsewhere;
  elsewhere.Write("deep/x.jpg", Bytes(1));
  Touch("a/1.jpg");
  Touch("a/real/y.jpg");
  for (const char* link : {"a/first", "a/second", "b/other"}) Link(elsewhere.string(), link);
  Link("real", "a/again");
  EXPECT_EQ(Names(), (Names_{"0 a/1.jpg", "0 a/first/deep/x.jpg", "0 a/real/y.jpg", "1 b/other/deep/x.jpg"}));
  EXPECT_EQ(summary_.repeated_links, 2u);
}

TEST_F(FolderScan, RefusesLinksThatLeadBack) {
  Touch("c/d/a.jpg");
  Link("../..", "c/d/up");
  EXPECT_THAT(ErrorOf(), HasSubstr("c/d/up leads back to a folder that it lies in"));
}

TEST_F(FolderScan, RefusesLoopsThroughAnotherFolder) {
  const TempFolder elsewhere;
  Touch("c/a.jpg");
  Link(elsewhere.string(), "c/out");
  fs::create_symlink(folder_.path() / "c", elsewhere.path() / "back");
  EXPECT_THAT(ErrorOf(), HasSubstr("c/out/back leads back to a folder that it lies in"));
}

TEST_F(FolderScan, NamesClassesWithoutAPicture) {
  for (const char* name : {"a/x.jpg", "b/notes.txt", "d/x.jpg"}) Touch(name);
  fs::create_directory(folder_.path() / "c");
  EXPECT_THAT(ErrorOf(), HasSubstr("class folders without a picture: b, c;"));
  EXPECT_EQ(Names({.classes = {}, .allow_empty = true}), (Names_{"0 a/x.jpg", "3 d/x.jpg"}));
  EXPECT_EQ(summary_.empty_classes, (std::vector<std::string>{"b", "c"}));
}

TEST_F(FolderScan, LabelsByGivenClasses) {
  for (const char* name : {"cat/x.jpg", "dog/x.jpg"}) Touch(name);
  EXPECT_EQ(Names({.classes = ClassNames{"dog", "bird", "cat"}}), (Names_{"2 cat/x.jpg", "0 dog/x.jpg"}));
  EXPECT_EQ(Open({.classes = ClassNames{"dog", "bird", "cat"}})->classes(), (ClassNames{"dog", "bird", "cat"}));
  EXPECT_THAT(ErrorOf({.classes = ClassNames{"dog"}}), HasSubstr("given classes do not name: cat"));
}

TEST_F(FolderScan, SaysWhatIsWrongWithTheRoot) {
  EXPECT_THAT(ErrorOf(folder_.string() + "/missing"),
              HasSubstr("cannot open " + folder_.string() + "/missing: No such file"));
  EXPECT_THAT(ErrorOf(), HasSubstr("no picture found in " + folder_.string()));
  Touch("one.jpg");
  EXPECT_THAT(ErrorOf(folder_.string() + "/one.jpg"), HasSubstr("one.jpg is a file, not a folder"));
  EXPECT_EQ(OpenFolder(folder_.string() + "///")->Name(0), "one.jpg");
}

TEST_F(FolderScan, FindsNoPictureInAFolderOfOtherFiles) {
  Touch("c/notes.txt");
  Touch("readme.md");
  EXPECT_THAT(ErrorOf(), HasSubstr("(1 folders, 2 other files): expected FOLDER/CLASS"));
  EXPECT_EQ(Open({.classes = {}, .allow_empty = true})->size(), 0u);
}

TEST_F(FolderScan, OpensNamesOfAnyBytes) {
  const std::string composed = "caf\xC3\xA9.jpg", decomposed = "cafe\xCC\x81.jpg", latin1 = "caf\xE9.jpg";
  for (const std::string& name : {composed, decomposed, latin1}) Touch("c\xFF/" + name, name.size());
  const auto source = Open();
  ASSERT_EQ(source->size(), 3u);
  std::vector<std::string> names;
  for (uint32_t i = 0; i < 3; ++i) {
    char path[PATH_MAX];
    ASSERT_TRUE(source->Path(i, path, sizeof path));
    EXPECT_EQ(access(path, R_OK), 0) << path;
    names.push_back(source->Name(i));
  }
  EXPECT_EQ(names, (Names_{"c\\xff/cafe\xCC\x81.jpg", "c\\xff/caf\xC3\xA9.jpg", "c\\xff/caf\\xe9.jpg"}));
}

TEST_F(FolderScan, TakesLongNames) {
  const std::string longest(250, 'n');
  Touch("c/" + std::string(255, 'd') + "/" + longest + ".jpg");
  const auto source = Open();
  EXPECT_EQ(source->Name(0), "c/" + std::string(255, 'd') + "/" + longest + ".jpg");
}

// Runs `check` in a child without root's powers; 0 where it returned true.
int RunUnprivileged(const std::function<bool()>& check) {
  const pid_t child = fork();
  if (child == 0) _exit((geteuid() != 0 || setuid(65534) == 0) && check() ? 0 : 1);
  int status = -1;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  return status;
}

TEST_F(FolderScan, NamesAFolderThatItMayNotRead) {
  Touch("open/a.jpg");
  Touch("locked/a.jpg");
  fs::permissions(folder_.path(), fs::perms::all);
  fs::permissions(folder_.path() / "locked", fs::perms::none);
  EXPECT_EQ(RunUnprivileged([&] {
              const std::string words = ErrorOf();
              return words.find("cannot read folder") != std::string::npos &&
                     words.ends_with("locked: Permission denied");
            }),
            0);
  fs::permissions(folder_.path() / "locked", fs::perms::all);
}

}  // namespace
}  // namespace stoker

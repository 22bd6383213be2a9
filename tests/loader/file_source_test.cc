#include "loader/file_source.h"

#include <gtest/gtest.h>

#include <climits>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>

#include "tests/loader/picture_folder.h"

namespace stoker {
namespace {

std::string PathOf(const FileSource& source, uint32_t file) {
  char path[PATH_MAX];
  return source.Path(file, path, sizeof path) ? path : "(does not fit)";
}

TEST(FileSource, GivesBackWhatWasAdded) {
  FileSource::Builder builder;
  const uint32_t cats = builder.AddFolder("/photos/cats"), dogs = builder.AddFolder("/photos/dogs/big");
  builder.AddFile(dogs, "a.jpg", 1, 10);
  builder.AddFile(cats, "b b.png", 0, 0);
  builder.AddFile(dogs, "c.jpg", 1, uint64_t{1} << 40);
  const std::unique_ptr<FileSource> source = builder.Build("/photos", {"cats", "dogs"});
  ASSERT_EQ(source->size(), 3u);
  EXPECT_EQ(source->classes(), (ClassNames{"cats", "dogs"}));
  EXPECT_EQ(PathOf(*source, 0), "/photos/dogs/big/a.jpg");
  EXPECT_EQ(PathOf(*source, 1), "/photos/cats/b b.png");
  EXPECT_EQ(source->Name(2), "dogs/big/c.jpg");
  EXPECT_EQ(source->Label(1), 0);
  EXPECT_EQ(source->Label(2), 1);
  const Extents extents = source->ExtentsOf(2, nullptr);
  ASSERT_EQ(extents.size(), 1u);
  EXPECT_EQ(extents[0].file, 2u);
  EXPECT_EQ(extents[0].offset_bytes, 0u);
  EXPECT_EQ(extents[0].bytes, uint64_t{1} << 40);
  EXPECT_TRUE(extents[0].whole_file);
}

TEST(FileSource, TakesPathsOfAnyFolderAndTheirSizes) {
  const TempFolder folder;
  folder.Write("a/1.jpg", Bytes(11));
  folder.Write("b/2.jpg", Bytes(22));
  FileSource::Builder builder;
  builder.AddPath(folder.string() + "/a/1.jpg", 3);
  builder.AddPath(folder.string() + "/b/2.jpg", -1);
  builder.AddPath(folder.string() + "/a/gone.jpg", 0);
  builder.AddPath("/proc", 0);
  builder.AddPath("bare.jpg", 7);
  const std::unique_ptr<FileSource> source = builder.Build("", {});
  ASSERT_EQ(source->size(), 5u);
  EXPECT_EQ(PathOf(*source, 0), folder.string() + "/a/1.jpg");
  EXPECT_EQ(PathOf(*source, 1), folder.string() + "/b/2.jpg");
  EXPECT_EQ(PathOf(*source, 3), "/proc");
  EXPECT_EQ(PathOf(*source, 4), "bare.jpg");
  EXPECT_EQ(source->Label(1), -1);
  EXPECT_EQ(source->ExtentsOf(0, nullptr).bytes(), 11u);
  EXPECT_EQ(source->ExtentsOf(1, nullptr).bytes(), 22u);
  EXPECT_EQ(source->ExtentsOf(2, nullptr).bytes(), 0u);
}

TEST(FileSource, TakesTheSizesOfManyPathsSideBySide) {
  const TempFolder folder;
  for (int i = 0; i < 16; ++i) folder.Write(std::to_string(i) + ".jpg", Bytes(static_cast<size_t>(i)));
  FileSource::Builder builder;
  for (int i = 0; i < 10'000; ++i) builder.AddPath(folder.string() + "/" + std::to_string(i % 16) + ".jpg", 0);
  const auto source = builder.Build("", {});
  for (uint64_t i = 0; i < source->size(); ++i) ASSERT_EQ(source->ExtentsOf(i, nullptr).bytes(), i % 16);
}

TEST(FileSource, RefusesAPathThatDoesNotFit) {
  FileSource::Builder builder;
  builder.AddFile(builder.AddFolder("folder"), "name.jpg", 0, 1);
  const auto source = builder.Build("", {});
  const std::string path = "folder/name.jpg";
  std::string written(64, '#');
  for (size_t capacity = 0; capacity <= path.size(); ++capacity) {
    EXPECT_FALSE(source->Path(0, written.data(), capacity)) << capacity;
    EXPECT_EQ(written.find_first_not_of('#', capacity), std::string::npos);
  }
  EXPECT_TRUE(source->Path(0, written.data(), path.size() + 1));
  EXPECT_EQ(written.c_str(), path);
}

TEST(FileSource, MakesReadBuffersForNinetyNineOfAHundredFiles) {
  FileSource::Builder builder;
  const uint32_t folder = builder.AddFolder("f");
  for (uint64_t i = 0; i < 1000; ++i) builder.AddFile(folder, "x", 0, i * 7 % 1000 + 1);
  builder.AddFile(folder, "huge", 0, uint64_t{1} << 33);
  const uint64_t typical = builder.Build("f", {})->TypicalBytes();
  EXPECT_GE(typical, 985u);
  EXPECT_LE(typical, 1000u);
  EXPECT_EQ(FileSource::Builder().Build("", {})->TypicalBytes(), 0u);
}

TEST(FileSource, HoldsALargeSetInLessThanAHundredBytesAFile) {
  constexpr size_t kFiles = 200'000;
  FileSource::Builder builder;
  std::vector<uint32_t> folders;
  for (int i = 0; i < 1000; ++i) folders.push_back(builder.AddFolder("/data/train/n" + std::to_string(10000000 + i)));
  for (size_t i = 0; i < kFiles; ++i) {
    std::string name = "picture_" + std::to_string(100'000'000'000 + i) + ".jpg";
    ASSERT_EQ(name.size(), 24u);
    builder.AddFile(folders[i / 200], name, static_cast<int64_t>(i / 200), i);
  }
  const auto source = builder.Build("/data/train", {});
  EXPECT_EQ(source->Name(199'999), "n10000999/picture_100000199999.jpg");
  EXPECT_GT(source->memory_bytes(), kFiles * (24 + 25));
  EXPECT_LT(source->memory_bytes(), kFiles * 100);
}

TEST(IsPictureName, KnowsExtensionsInAnyCase) {
  for (const char* name : {"a.jpg", "a.JPG", "a.JpEg", "b.png", "c.WEBP", "d.bmp", "e.tif", "f.TIFF", "g.jpe", "h.jfif",
                           "i.dib", "j.ppm", "k.pgm", "two.txt.jpg"}) {
    EXPECT_TRUE(IsPictureName(name)) << name;
  }
  for (const char* name : {"", "jpg", ".jpg", "a.jpg.txt", "a.gif", "a.jp", "a.ajpg", "Thumbs.db", "a.jpg "}) {
    EXPECT_FALSE(IsPictureName(name)) << name;
  }
}

TEST(ValidUtf8, KeepsWhatIsValidAndWritesTheRestAsNumbers) {
  EXPECT_EQ(ValidUtf8("plain"), "plain");
  EXPECT_EQ(ValidUtf8("gr\xC3\xBC\xC3\x9F \xE2\x82\xAC \xF0\x9F\x90\xB1"),
            "gr\xC3\xBC\xC3\x9F \xE2\x82\xAC \xF0\x9F\x90\xB1");
  EXPECT_EQ(ValidUtf8("caf\xE9.jpg"), "caf\\xe9.jpg");               // Latin-1
  EXPECT_EQ(ValidUtf8("\xC3"), "\\xc3");                             // cut
  EXPECT_EQ(ValidUtf8("\xC0\xAF"), "\\xc0\\xaf");                    // overlong
  EXPECT_EQ(ValidUtf8("\xE0\x80\x80"), "\\xe0\\x80\\x80");           // overlong
  EXPECT_EQ(ValidUtf8("\xED\xA0\x80"), "\\xed\\xa0\\x80");           // surrogate
  EXPECT_EQ(ValidUtf8("\xF4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80");  // beyond U+10FFFF
  EXPECT_EQ(ValidUtf8("\xFF\xFE"), "\\xff\\xfe");
}

}  // namespace
}  // namespace stoker

#include "loader/index/fingerprint.h"

#include <gtest/gtest.h>

#include <new>
#include <string>
#include <vector>

#include "loader/file_source.h"
#include "tests/loader/picture_folder.h"

namespace stoker {
namespace {

// Names and sizes, and nothing else.
class NamedSource : public Source {
 public:
  struct File {
    std::string name;
    uint64_t bytes = 0;
  };
  explicit NamedSource(std::vector<File> files) : files_(std::move(files)) {}

  uint64_t size() const noexcept override { return files_.size(); }
  int64_t Label(uint64_t) const noexcept override { return 0; }
  std::string Name(uint64_t id) const override { return files_[id].name; }
  Extents ExtentsOf(uint64_t id, const DecodeRequest*) const noexcept override {
    Extents extents;
    extents.Add({static_cast<uint32_t>(id), 0, files_[id].bytes, true});
    return extents;
  }
  bool Path(uint32_t, char*, size_t) const noexcept override { return false; }
  uint64_t TypicalBytes() const noexcept override { return 0; }
  size_t memory_bytes() const noexcept override { return 0; }

 private:
  const std::vector<File> files_;
};

Fingerprint Of(std::vector<NamedSource::File> files) { return FingerprintOf(NamedSource(std::move(files))); }

TEST(Fingerprint, TellsNamesSizesAndOrderApart) {
  const Fingerprint some = Of({{"a/1.jpg", 10}, {"b/2.jpg", 20}});
  EXPECT_EQ(Of({{"a/1.jpg", 10}, {"b/2.jpg", 20}}), some);
  EXPECT_NE(Of({{"b/2.jpg", 20}, {"a/1.jpg", 10}}), some);
  EXPECT_NE(Of({{"a/1.jpg", 10}, {"b/2.jpg", 21}}), some);
  EXPECT_NE(Of({{"a/1.jpg", 10}, {"b/3.jpg", 20}}), some);
  EXPECT_NE(Of({{"a/1.jpg", 10}}), some);
  EXPECT_NE(Of({{"a/1.jpg", 10}, {"b/2.jpg", 20}, {"b/3.jpg", 0}}), some);
  EXPECT_NE(Of({}), some);
}

TEST(Fingerprint, LeavesOutTheFoldersThatAllNamesShare) {
  const Fingerprint some = Of({{"a/1.jpg", 10}, {"b/2.jpg", 20}});
  EXPECT_EQ(Of({{"/data/photos/a/1.jpg", 10}, {"/data/photos/b/2.jpg", 20}}), some);
  EXPECT_EQ(Of({{"ab/1.jpg", 10}, {"ac/2.jpg", 20}}), Of({{"x/ab/1.jpg", 10}, {"x/ac/2.jpg", 20}}));
  EXPECT_NE(Of({{"ab/1.jpg", 10}, {"ac/2.jpg", 20}}), Of({{"b/1.jpg", 10}, {"c/2.jpg", 20}}));
}

TEST(Fingerprint, SaysThatMemoryIsMissing) {
  class Short final : public NamedSource {
   public:
    using NamedSource::NamedSource;
    std::string Name(uint64_t id) const override { return id == 9000 ? throw std::bad_alloc() : NamedSource::Name(id); }
  };
  EXPECT_THROW(FingerprintOf(Short(std::vector<NamedSource::File>(10'000))), std::bad_alloc);
}

TEST(Fingerprint, ComesOfAllOfManySamples) {
  std::vector<NamedSource::File> files;
  for (uint64_t i = 0; i < 20'000; ++i) files.push_back({"a/" + std::to_string(i), i});
  const Fingerprint some = Of(files);
  for (const size_t i : {size_t{0}, size_t{4095}, size_t{4096}, files.size() - 1}) {
    ++files[i].bytes;
    EXPECT_NE(Of(files), some) << i;
    --files[i].bytes;
  }
  EXPECT_EQ(Of(files), some);
}

TEST(Fingerprint, IsTheSameForAFolderACopyAndAListOfItsFiles) {
  const TempFolder one, other;
  WritePictures(one, 12);
  WritePictures(other, 12);
  const auto folder = OpenFolder(one.string());
  EXPECT_EQ(FingerprintOf(*OpenFolder(other.string())), FingerprintOf(*folder));
  std::string list;
  for (uint64_t id = 0; id < folder->size(); ++id) list += folder->Name(id) + " 0\n";
  one.Write("list.txt", Bytes(list.begin(), list.end()));
  EXPECT_EQ(FingerprintOf(*OpenList(one.string() + "/list.txt")), FingerprintOf(*folder));
}

TEST(Fingerprint, IsWrittenAs32Digits) { EXPECT_EQ(Hex({0x1f, 0xab}), "00000000000000ab000000000000001f"); }

}  // namespace
}  // namespace stoker

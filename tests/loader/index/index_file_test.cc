#include "loader/index/index_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>

#include "loader/index/index_writer.h"
#include "tests/loader/index/made_marks.h"
#include "tests/loader/picture_folder.h"

namespace stoker {
namespace {

using testing::HasSubstr;

constexpr IndexedSet kSet = {2500, {0x1234, 0x5678}};

class IndexFileTest : public testing::Test {
 protected:
  // Of even samples as many rows as their number says; none of those from 1024 to 2047.
  static std::vector<uint8_t> Written(uint64_t id) {
    if (id % 2 == 1 || id / kSamplesARun == 1) return {};
    return BytesOf(MadeMarks(1 + id % 50, id));
  }
  void Write() const {
    std::vector<uint8_t> bytes;
    WriteIndexFile(path_, kSet, [&](uint64_t id) {
      bytes = Written(id);
      return std::span<const uint8_t>(bytes);
    });
  }
  std::string Trouble(const IndexedSet& set = kSet) const {
    std::string trouble;
    EXPECT_EQ(IndexFile::Open(path_, set, trouble), nullptr);
    return trouble;
  }
  std::shared_ptr<const IndexFile> Opened() const {
    std::string trouble;
    auto file = IndexFile::Open(path_, kSet, trouble);
    EXPECT_EQ(trouble, "");
    return file;
  }
  std::vector<char> Content() const {
    std::ifstream file(path_, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  void Put(const std::vector<char>& bytes) const {
    std::ofstream(path_, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  }
  static std::vector<uint8_t> Found(const IndexFile& file, uint64_t id) {
    JpegMarks marks = MadeMarks(2, 1);
    file.Find(id, marks);
    return BytesOf(marks);
  }

  const TempFolder folder_;
  const std::string path_ = (folder_.path() / "some.stoker-index").string();
};

TEST_F(IndexFileTest, GivesWhatWasWritten) {
  Write();
  const auto file = Opened();
  ASSERT_NE(file, nullptr);
  EXPECT_EQ(file->entries(), 512u + 226u);
  EXPECT_EQ(file->file_bytes(), std::filesystem::file_size(path_));
  for (uint64_t id = 0; id < kSet.samples; ++id) EXPECT_EQ(Found(*file, id), Written(id)) << id;
}

TEST_F(IndexFileTest, GivesItRunByRun) {
  Write();
  const auto file = Opened();
  std::vector<uint8_t> bytes;
  for (const uint64_t run : {0, 2}) {
    const std::span<const uint32_t> ends = file->ReadRun(run, bytes);
    ASSERT_EQ(ends.size(), SamplesInRun(kSet.samples, run) + 1);
    for (uint64_t i = 0; i + 1 < ends.size(); ++i) {
      const std::vector<uint8_t> packed(bytes.begin() + ends[i], bytes.begin() + ends[i + 1]);
      EXPECT_EQ(packed, Written(run * kSamplesARun + i));
    }
  }
  EXPECT_TRUE(file->ReadRun(1, bytes).empty());
}

TEST_F(IndexFileTest, OfNoSamplesIsAFile) {
  WriteIndexFile(path_, {0, {7, 7}}, [](uint64_t) { return std::span<const uint8_t>(); });
  std::string trouble;
  EXPECT_NE(IndexFile::Open(path_, {0, {7, 7}}, trouble), nullptr);
}

TEST_F(IndexFileTest, ThatIsMissingIsNoTrouble) { EXPECT_EQ(Trouble(), ""); }

TEST_F(IndexFileTest, SaysWhyItCannotBeUsed) {
  Write();
  EXPECT_THAT(Trouble({2501, kSet.fingerprint}), HasSubstr("another data set"));
  EXPECT_THAT(Trouble({2500, {0x1234, 0x5679}}), HasSubstr("another data set"));
  const std::vector<char> good = Content();
  const auto changed = [&](size_t at) {
    std::vector<char> bytes = good;
    bytes[at] = static_cast<char>(bytes[at] + 1);
    Put(bytes);
    return Trouble();
  };
  EXPECT_THAT(changed(0), HasSubstr("no index file"));
  EXPECT_THAT(changed(8), HasSubstr("version 2, this is version 1"));
  EXPECT_THAT(changed(12), HasSubstr("checksum"));
  EXPECT_THAT(changed(60), HasSubstr("checksum"));
  EXPECT_THAT(changed(sizeof(IndexHeader) + 3), HasSubstr("checksum"));
  for (const size_t bytes : {size_t{0}, size_t{63}, size_t{70}, good.size() - 1}) {
    Put({good.begin(), good.begin() + static_cast<ptrdiff_t>(bytes)});
    EXPECT_THAT(Trouble(), HasSubstr("cut short")) << bytes;
  }
  std::filesystem::remove(path_);
  std::filesystem::create_directory(path_);
  EXPECT_THAT(Trouble(), HasSubstr("cut short"));
}

TEST_F(IndexFileTest, GivesNoRunWhoseBytesAreDamaged) {
  Write();
  std::vector<char> bytes = Content();
  bytes.back() = static_cast<char>(bytes.back() + 1);
  Put(bytes);
  const auto file = Opened();
  std::vector<uint8_t> run;
  EXPECT_FALSE(file->ReadRun(0, run).empty());
  EXPECT_TRUE(file->ReadRun(2, run).empty());
}

// `cp` onto a file cuts it short first. A mapping would end the process here.
TEST_F(IndexFileTest, FindsNothingWhereItIsCutShortWhileItIsOpen) {
  Write();
  const auto file = Opened();
  std::filesystem::resize_file(path_, 100);
  std::vector<uint8_t> run;
  for (uint64_t id = 0; id < kSet.samples; ++id) EXPECT_TRUE(Found(*file, id).empty());
  EXPECT_TRUE(file->ReadRun(0, run).empty());
}

TEST_F(IndexFileTest, KnowsWhetherANewerOneTookItsPlace) {
  Write();
  const auto file = Opened();
  EXPECT_TRUE(file->IsAt(path_));
  Write();
  EXPECT_FALSE(file->IsAt(path_));
  EXPECT_EQ(Found(*file, 0), Written(0));
}

// Any bytes behind a header and a directory that are in order.
TEST_F(IndexFileTest, IsBoundedWhateverItsEntriesAre) {
  Write();
  const std::vector<char> good = Content();
  std::mt19937 random(1);
  std::vector<uint8_t> run;
  for (int i = 0; i < 200; ++i) {
    std::vector<char> bytes = good;
    const size_t begin = sizeof(IndexHeader) + RunsOf(kSet.samples) * sizeof(IndexRun);
    for (int j = 0; j < 2000; ++j) {
      // Mostly in the first run's table.
      bytes[begin + random() % (j % 4 == 0 ? good.size() - begin : 4100)] = static_cast<char>(random());
    }
    Put(bytes);
    const auto file = Opened();
    ASSERT_NE(file, nullptr);
    for (uint64_t id = 0; id < kSet.samples; ++id) EXPECT_LE(Found(*file, id).size(), JpegMarks::kMaxBytes);
    EXPECT_TRUE(file->ReadRun(0, run).empty());
  }
}

}  // namespace
}  // namespace stoker

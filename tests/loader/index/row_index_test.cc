#include "loader/index/row_index.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "loader/index/index_writer.h"
#include "tests/loader/index/made_marks.h"
#include "tests/loader/picture_folder.h"

namespace stoker {
namespace {

constexpr size_t kRoomy = size_t{8} << 20;

std::vector<uint8_t> Found(const RowIndex& index, uint64_t id) {
  JpegMarks marks = MadeMarks(3, 999);  // of the picture before
  index.Find(id, marks);
  EXPECT_FALSE(marks.grew());
  return BytesOf(marks);
}

uint32_t RowsFound(const RowIndex& index, uint64_t id) { return JpegMarks::RowsIn(Found(index, id)); }

TEST(RowIndex, FindsWhatWasLearnedOfEachSample) {
  RowIndex index(300, kRoomy);
  for (uint64_t id = 0; id < 300; id += 3) index.Learn(id, MadeMarks(10 + id % 40, id));
  for (uint64_t id = 0; id < 300; ++id) {
    const std::vector<uint8_t> expected = id % 3 == 0 ? BytesOf(MadeMarks(10 + id % 40, id)) : std::vector<uint8_t>();
    EXPECT_EQ(Found(index, id), expected) << id;
  }
  EXPECT_EQ(index.usage().entries, 100u);
  EXPECT_FALSE(index.usage().full);
}

TEST(RowIndex, KeepsWhatCoversMoreRows) {
  RowIndex index(2, kRoomy);
  for (const uint32_t rows : {5, 20, 8, 20, 30, 1}) index.Learn(1, MadeMarks(rows, 1));
  EXPECT_EQ(Found(index, 1), BytesOf(MadeMarks(30, 1)));
  EXPECT_EQ(RowsFound(index, 0), 0u);
  EXPECT_EQ(index.usage().entries, 1u);
  index.Learn(0, JpegMarks());
  EXPECT_EQ(index.usage().entries, 1u);
}

TEST(RowIndex, TakesEightBytesBesideAnEntryAndFourASample) {
  RowIndex index(1000, kRoomy);
  EXPECT_EQ(index.usage().bytes, 4000u);
  size_t packed = 0;
  for (uint64_t id = 0; id < 1000; ++id) {
    index.Learn(id, MadeMarks(45, id));
    packed += (MadeMarks(45, id).packed().size() + 3) / 4 * 4;
  }
  EXPECT_EQ(index.usage().bytes, 4000 + 8000 + packed);
}

// What has grown leaves no holes behind that are not used again: as many entries fit as if each had come at once.
TEST(RowIndex, UsesTheRoomOfEntriesThatGrewAgain) {
  const size_t entry = MadeMarks(45, 0).packed().size();
  constexpr uint64_t kSamples = 2000;
  RowIndex index(kSamples, kSamples * (4 + 8 + entry + 4) * 17 / 16 + 1000);
  for (const uint32_t rows : {9, 18, 27, 36, 45}) {
    for (uint64_t id = 0; id < kSamples; ++id) index.Learn(id, MadeMarks(rows, id));
  }
  EXPECT_FALSE(index.usage().full);
  for (uint64_t id = 0; id < kSamples; ++id) EXPECT_EQ(Found(index, id), BytesOf(MadeMarks(45, id))) << id;
}

TEST(RowIndex, LearnsNoMoreOnceItIsFullAndKeepsWhatItHas) {
  constexpr uint64_t kSamples = 1000;
  constexpr size_t kBudget = 100'000;
  RowIndex index(kSamples, kBudget);
  for (uint64_t id = 0; id < kSamples; ++id) index.Learn(id, MadeMarks(45, id));
  const RowIndexUsage usage = index.usage();
  EXPECT_TRUE(usage.full);
  EXPECT_LE(usage.bytes, kBudget);
  EXPECT_GT(usage.bytes, kBudget * 14 / 16);
  EXPECT_GT(usage.entries, 300u);
  uint64_t found = 0;
  for (uint64_t id = 0; id < kSamples; ++id) {
    const std::vector<uint8_t> bytes = Found(index, id);
    if (bytes.empty()) continue;
    EXPECT_EQ(bytes, BytesOf(MadeMarks(45, id))) << id;
    ++found;
  }
  EXPECT_EQ(found, usage.entries);
}

TEST(RowIndex, LearnsNothingWithoutABudget) {
  for (const size_t budget : {size_t{0}, size_t{400}}) {
    RowIndex index(100, budget);
    index.Learn(7, MadeMarks(5, 7));
    EXPECT_EQ(RowsFound(index, 7), 0u);
    EXPECT_EQ(index.usage().entries, 0u);
    EXPECT_TRUE(index.usage().full);
  }
}

TEST(RowIndex, IsNotFullForHavingFewerSamplesThanLocks) {
  EXPECT_FALSE(RowIndex(3, kRoomy).usage().full);
  EXPECT_FALSE(RowIndex(0, kRoomy).usage().full);
}

TEST(RowIndex, TakesTheLargestMarksThereCanBe) {
  RowIndex index(3, size_t{1} << 20);
  index.Learn(2, MadeMarks(8192, 2));
  EXPECT_EQ(Found(index, 2), BytesOf(MadeMarks(8192, 2)));
}

// Each worker learns more and more of all samples while the others look them up: what is found is always whole.
TEST(RowIndex, IsSharedByThreads) {
  constexpr uint64_t kSamples = 150;
  constexpr int kThreads = 4;
  RowIndex index(kSamples, size_t{3} << 20);
  std::atomic<int> torn{0};
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      JpegMarks marks;
      for (uint32_t rows = 1 + static_cast<uint32_t>(thread); rows < 60; rows += 3) {
        for (uint64_t id = 0; id < kSamples; ++id) {
          index.Learn(id, MadeMarks(rows, id));
          index.Find(id, marks);
          const uint32_t found = JpegMarks::RowsIn(marks.packed());
          if (found < rows || BytesOf(marks) != BytesOf(MadeMarks(found, id))) torn.fetch_add(1);
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(torn.load(), 0);
  EXPECT_EQ(index.usage().entries, kSamples);
}

class RowIndexOnAFile : public testing::Test {
 protected:
  static constexpr uint64_t kSamples = 3000;

  // Of every third sample 20 rows.
  std::shared_ptr<const IndexFile> File() const {
    const IndexedSet set = {kSamples, {1, 2}};
    const std::string path = (folder_.path() / "index").string();
    JpegMarks marks;
    WriteIndexFile(path, set, [&](uint64_t id) {
      marks = MadeMarks(20, id);
      return id % 3 == 0 ? marks.packed() : std::span<const uint8_t>();
    });
    std::string trouble;
    auto file = IndexFile::Open(path, set, trouble);
    EXPECT_EQ(trouble, "");
    return file;
  }

  const TempFolder folder_;
};

TEST_F(RowIndexOnAFile, FindsInMemoryFirstAndBelowWhatIsNotThere) {
  RowIndex index(kSamples, kRoomy);
  index.PutBelow(File());
  index.Learn(0, MadeMarks(25, 0));
  index.Learn(1, MadeMarks(5, 1));
  EXPECT_EQ(RowsFound(index, 0), 25u);
  EXPECT_EQ(RowsFound(index, 1), 5u);
  EXPECT_EQ(RowsFound(index, 2), 0u);
  EXPECT_EQ(Found(index, 2997), BytesOf(MadeMarks(20, 2997)));
  JpegMarks learned;
  index.FindLearned(2997, learned);
  EXPECT_TRUE(learned.packed().empty());
  EXPECT_EQ(index.usage().entries, 2u);
}

// The picture has changed since: the file's marks are of no use, and what was learned after it must not be lost.
TEST_F(RowIndexOnAFile, KeepsOtherMarksOfAsManyRows) {
  RowIndex index(kSamples, kRoomy);
  index.Learn(0, MadeMarks(20, 1));
  index.Learn(3, MadeMarks(19, 1));
  index.PutBelow(File());
  EXPECT_EQ(Found(index, 0), BytesOf(MadeMarks(20, 1)));
  EXPECT_EQ(Found(index, 3), BytesOf(MadeMarks(20, 3)));
  EXPECT_EQ(index.usage().entries, 1u);
}

TEST_F(RowIndexOnAFile, ForgetsWhatTheFileCoversAsWell) {
  constexpr size_t kSmall = 100'000;
  RowIndex index(kSamples, kSmall);
  for (uint64_t id = 0; id < kSamples; ++id) index.Learn(id, MadeMarks(id % 2 == 0 ? 20 : 21, id));
  ASSERT_TRUE(index.usage().full);
  const uint64_t before = index.usage().entries;
  index.PutBelow(File());
  EXPECT_FALSE(index.usage().full);
  EXPECT_EQ(index.usage().entries, before - (before + 5) / 6);
  index.Learn(2999, MadeMarks(21, 2999));  // in the room of those
  EXPECT_EQ(RowsFound(index, 2999), 21u);
  for (uint64_t id = 0; id < before; ++id) EXPECT_EQ(RowsFound(index, id), id % 2 == 0 ? 20u : 21u) << id;
}

}  // namespace
}  // namespace stoker

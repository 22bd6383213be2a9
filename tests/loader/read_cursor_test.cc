#include "loader/read_cursor.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "augment/random.h"
#include "loader/error.h"

namespace stoker {
namespace {

using Step = ReadCursor::Step;

Extents TwoExtents() {
  Extents extents;
  extents.Add({.file = 3, .offset_bytes = 1000, .bytes = 70, .whole_file = false});
  extents.Add({.file = 4, .offset_bytes = 0, .bytes = 30, .whole_file = true});
  return extents;
}

TEST(ReadCursor, LandsExtentsSideBySide) {
  std::vector<uint8_t> memory(101);
  ReadCursor cursor(TwoExtents(), memory);
  Diagnosis diagnosis;
  std::error_code error;
  EXPECT_EQ(cursor.file(), 3u);
  EXPECT_EQ(cursor.offset_bytes(), 1000u);
  EXPECT_EQ(cursor.target().data(), memory.data());
  EXPECT_EQ(cursor.target().size(), 70u);
  EXPECT_EQ(cursor.Advance(70, diagnosis, error), Step::kNextExtent);
  EXPECT_EQ(cursor.file(), 4u);
  EXPECT_EQ(cursor.target().data(), memory.data() + 70);
  EXPECT_EQ(cursor.target().size(), 31u);  // and one, to see growth
  EXPECT_EQ(cursor.Advance(30, diagnosis, error), Step::kDone);
  EXPECT_FALSE(error);
  EXPECT_EQ(cursor.landed_bytes(), 100u);
}

TEST(ReadCursor, AsksForTheRestAfterShortReadsOfAnyKind) {
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Random random({seed, 0, 0}, 0);
    std::vector<uint8_t> memory(101);
    ReadCursor cursor(TwoExtents(), memory);
    Diagnosis diagnosis;
    std::error_code error;
    uint64_t left_of_file = 30;
    Step step = Step::kSameFile;
    while (step != Step::kDone) {
      const bool second = cursor.file() == 4;
      const uint64_t there = second ? left_of_file : cursor.target().size();
      const uint64_t got =
          there == 0 ? 0 : 1 + random.Below(static_cast<uint32_t>(std::min<uint64_t>(there, cursor.target().size())));
      if (second) left_of_file -= got;
      step = cursor.Advance(got, diagnosis, error);
    }
    EXPECT_FALSE(error);
    EXPECT_EQ(cursor.landed_bytes(), 100u);
  }
}

TEST(ReadCursor, SeesThatAFileEndedEarlyOrGrew) {
  for (const uint64_t length : {uint64_t{12}, uint64_t{31}}) {
    Extents extents;
    extents.Add({.file = 0, .offset_bytes = 0, .bytes = 30, .whole_file = true});
    std::vector<uint8_t> memory(31);
    ReadCursor cursor(extents, memory);
    Diagnosis diagnosis;
    std::error_code error;
    Step step = cursor.Advance(length, diagnosis, error);
    if (length < 30) {
      EXPECT_EQ(step, Step::kSameFile);
      step = cursor.Advance(0, diagnosis, error);
    }
    EXPECT_EQ(step, Step::kDone);
    EXPECT_EQ(error, LoadError::kChangedSize);
    EXPECT_STRNE(diagnosis.detail, "");
  }
}

}  // namespace
}  // namespace stoker

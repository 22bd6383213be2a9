#include "decode/jpeg/marks.h"

#include <gtest/gtest.h>

#include <limits>
#include <random>
#include <vector>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace stoker {
namespace {

constexpr size_t kScanOffset = 300;

JpegFrame FrameOf(int rows, int components = kMaxComponents) {
  JpegFrame frame;
  frame.components = components;
  frame.size = {16, rows * kBlockSize};
  frame.mcus_across = 2;
  frame.mcus_down = rows;
  frame.scan_offset = kScanOffset;
  return frame;
}

std::vector<uint8_t> RandomBytes(size_t count, uint32_t seed = 1) {
  std::mt19937 random(seed);
  std::vector<uint8_t> bytes(count);
  for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random());
  return bytes;
}

// About 50 bytes a row, and any DC.
std::vector<RowMark> MarksOf(const JpegFrame& frame, int rows) {
  std::mt19937 random(2);
  std::vector<RowMark> marks = {{8 * frame.scan_offset, {}}};
  while (marks.size() < static_cast<size_t>(rows)) {
    RowMark mark = {marks.back().bit + 1 + random() % 800, {}};
    for (int c = 0; c < frame.components; ++c) mark.dc[static_cast<size_t>(c)] = static_cast<int16_t>(random());
    marks.push_back(mark);
  }
  return marks;
}

std::vector<uint8_t> Packed(std::span<const uint8_t> file, const JpegFrame& frame, std::span<const RowMark> marks) {
  JpegMarks packing;
  packing.Pack(file, frame, marks);
  return {packing.packed().begin(), packing.packed().end()};
}

std::vector<RowMark> Unpacked(std::span<const uint8_t> file, const JpegFrame& frame, std::span<const uint8_t> packed) {
  JpegMarks unpacking;
  unpacking.Assign(packed);
  const std::span<const RowMark> marks = unpacking.Unpack(file, frame);
  return {marks.begin(), marks.end()};
}

TEST(JpegMarks, UnpackToWhatWasPacked) {
  const std::vector<uint8_t> file = RandomBytes(8000);
  for (const int components : {1, 3}) {
    const JpegFrame frame = FrameOf(60, components);
    for (const int rows : {1, 2, 59, 60}) {
      const std::vector<RowMark> marks = MarksOf(frame, rows);
      const std::vector<uint8_t> packed = Packed(file, frame, marks);
      EXPECT_EQ(Unpacked(file, frame, packed), marks) << rows;
      EXPECT_EQ(JpegMarks::RowsIn(packed), static_cast<uint32_t>(rows));
    }
  }
}

TEST(JpegMarks, TakeFewBytesForSmallDifferences) {
  const std::vector<uint8_t> file = RandomBytes(8000);
  const JpegFrame frame = FrameOf(40);
  std::vector<RowMark> marks = {{8 * kScanOffset, {}}};
  for (int16_t row = 1; row < 40; ++row)
    marks.push_back({marks.back().bit + 1000, {row, static_cast<int16_t>(-row), 5}});
  EXPECT_EQ(Packed(file, frame, marks).size(), 10 + 39 * 5u);
}

TEST(JpegMarks, TakeTheMostRowsAndTheLargestDifferences) {
  const JpegFrame frame = FrameOf(8192);
  std::vector<uint8_t> file(64 << 20);
  std::vector<RowMark> marks = {{8 * kScanOffset, {}}};
  while (marks.size() < 8192) {
    const int16_t dc =
        marks.size() % 2 == 0 ? std::numeric_limits<int16_t>::min() : std::numeric_limits<int16_t>::max();
    marks.push_back({marks.back().bit + 65000, {dc, dc, dc}});
  }
  const std::vector<uint8_t> packed = Packed(file, frame, marks);
  EXPECT_LE(packed.size(), JpegMarks::kMaxBytes);
  EXPECT_EQ(Unpacked(file, frame, packed), marks);
}

TEST(JpegMarks, BelongToTheVeryBytesBeforeTheLast) {
  const JpegFrame frame = FrameOf(60);
  const std::vector<uint8_t> file = RandomBytes(8000);
  std::vector<RowMark> marks = MarksOf(frame, 60);
  for (const uint64_t bits_of_last_byte : {0, 1, 7}) {
    marks.back().bit = marks.back().bit / 8 * 8 + bits_of_last_byte;
    const std::vector<uint8_t> packed = Packed(file, frame, marks);
    const size_t covered = marks.back().bit / 8 + (bits_of_last_byte > 0 ? 1 : 0);
    for (const size_t at : {size_t{0}, kScanOffset, covered - 1, covered, file.size() - 1}) {
      std::vector<uint8_t> other = file;
      other[at] ^= 1;
      EXPECT_EQ(Unpacked(other, frame, packed).empty(), at < covered) << at;
    }
    const std::span<const uint8_t> whole = file;
    EXPECT_EQ(Unpacked(whole.first(covered), frame, packed), marks);
    EXPECT_TRUE(Unpacked(whole.first(covered - 1), frame, packed).empty());
    EXPECT_TRUE(Unpacked({}, frame, packed).empty());
  }
}

TEST(JpegMarks, OfAPictureWithFewerRowsAreRefused) {
  const std::vector<uint8_t> file = RandomBytes(8000);
  const std::vector<uint8_t> packed = Packed(file, FrameOf(60), MarksOf(FrameOf(60), 41));
  EXPECT_EQ(Unpacked(file, FrameOf(41), packed).size(), 41u);
  EXPECT_TRUE(Unpacked(file, FrameOf(40), packed).empty());
}

TEST(JpegMarks, OfOtherComponentsOrAnotherStartAreRefused) {
  const std::vector<uint8_t> file = RandomBytes(8000);
  const JpegFrame frame = FrameOf(60);
  const std::vector<uint8_t> packed = Packed(file, frame, MarksOf(frame, 60));
  EXPECT_TRUE(Unpacked(file, FrameOf(60, 1), packed).empty());
  JpegFrame later = frame;
  later.scan_offset += 2;
  EXPECT_TRUE(Unpacked(file, later, packed).empty());
}

TEST(JpegMarks, ThatAreCutOffOrLongerAreRefused) {
  const std::vector<uint8_t> file = RandomBytes(8000);
  const JpegFrame frame = FrameOf(60);
  std::vector<uint8_t> packed = Packed(file, frame, MarksOf(frame, 60));
  for (size_t size = 0; size < packed.size(); ++size) {
    EXPECT_TRUE(Unpacked(file, frame, std::span(packed).first(size)).empty()) << size;
  }
  packed.push_back(0);
  EXPECT_TRUE(Unpacked(file, frame, packed).empty());
}

TEST(JpegMarks, ThatWereChangedAreRefused) {
  const std::vector<uint8_t> file = RandomBytes(3000);
  const JpegFrame frame = FrameOf(20);
  const std::vector<uint8_t> packed = Packed(file, frame, MarksOf(frame, 20));
  std::mt19937 random(3);
  for (int round = 0; round < 20000; ++round) {
    std::vector<uint8_t> other = packed;
    for (uint32_t changes = 1 + random() % 3; changes > 0; --changes) {
      other[random() % other.size()] = static_cast<uint8_t>(random() % 2 == 0 ? 0xFF : random());
    }
    ASSERT_TRUE(other == packed || Unpacked(file, frame, other).empty());
  }
}

// Packed marks with a checksum that is right: of `rows`, of `content` behind the count, of a file's first `covered`
// bytes.
std::vector<uint8_t> Forged(std::span<const uint8_t> file, uint8_t rows, std::vector<uint8_t> content, size_t covered) {
  content.insert(content.begin(), {rows, 0});
  const uint64_t seed = XXH3_64bits(content.data(), content.size());
  const uint64_t checksum = XXH3_64bits_withSeed(file.data(), covered, seed);
  for (int byte = 7; byte >= 0; --byte) content.insert(content.begin(), static_cast<uint8_t>(checksum >> 8 * byte));
  return content;
}

TEST(JpegMarks, ThatSomebodyForgedStayInTheirBounds) {
  const std::vector<uint8_t> file = RandomBytes(1000);
  const JpegFrame frame = FrameOf(3, 1);
  constexpr uint8_t kByte = 8;
  constexpr uint8_t kNoChange = 0;
  const std::vector<RowMark> right = {{8 * kScanOffset, {}}, {8 * kScanOffset + 8, {}}};
  EXPECT_EQ(Unpacked(file, frame, Forged(file, 2, {kByte, kNoChange}, kScanOffset + 1)), right);
  EXPECT_TRUE(Unpacked(file, frame, Forged(file, 2, {0, kNoChange}, kScanOffset)).empty()) << "not rising";
  EXPECT_TRUE(Unpacked(file, frame, Forged(file, 2, {kByte, kNoChange, 0}, kScanOffset + 1)).empty()) << "too long";
  EXPECT_TRUE(Unpacked(file, frame, Forged(file, 2, {kByte}, kScanOffset + 1)).empty()) << "too short";
  EXPECT_TRUE(Unpacked(file, frame, Forged(file, 2, {0xE1, 0x2B, kNoChange}, 0)).empty()) << "behind the file";
  EXPECT_EQ(Unpacked(file, frame, Forged(file, 2, {0xE0, 0x2B, kNoChange}, 1000)).size(), 2u) << "at its very end";
  EXPECT_TRUE(Unpacked(file, frame, Forged(file, 0, {}, kScanOffset)).empty()) << "no rows";
  EXPECT_EQ(Unpacked(file, frame, Forged(file, 1, {}, kScanOffset)).size(), 1u);
  const std::vector<uint8_t> large = {kByte, 0xFE, 0xFF, 0x03, kByte, 0x02};  // DC 32767, and one more
  EXPECT_TRUE(Unpacked(file, frame, Forged(file, 3, large, kScanOffset + 2)).empty()) << "a DC that is too large";
  const std::vector<uint8_t> overlong = {0x88, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x00, kNoChange};
  EXPECT_TRUE(Unpacked(file, frame, Forged(file, 2, overlong, kScanOffset + 1)).empty()) << "an endless number";
  const std::vector<uint8_t> four = {kByte, kNoChange, kByte, kNoChange, kByte, kNoChange};
  EXPECT_TRUE(Unpacked(file, frame, Forged(file, 4, four, kScanOffset + 3)).empty()) << "more rows than there are";
}

TEST(JpegMarks, AreKeptWhereTheyAreMore) {
  const std::vector<uint8_t> file = RandomBytes(8000);
  const JpegFrame frame = FrameOf(60);
  const std::vector<RowMark> marks = MarksOf(frame, 60);
  JpegMarks kept;
  kept.Assign(Packed(file, frame, std::span(marks).first(30)));
  ASSERT_EQ(kept.Unpack(file, frame).size(), 30u);
  kept.Pack(file, frame, std::span(marks).first(30));
  EXPECT_FALSE(kept.grew());
  kept.Pack(file, frame, std::span(marks).first(31));
  EXPECT_TRUE(kept.grew());
  EXPECT_EQ(JpegMarks::RowsIn(kept.packed()), 31u);
  kept.Clear();
  EXPECT_FALSE(kept.grew());
  EXPECT_EQ(JpegMarks::RowsIn(kept.packed()), 0u);
}

TEST(JpegMarks, ReplaceThoseOfOtherBytes) {
  const std::vector<uint8_t> file = RandomBytes(8000);
  const JpegFrame frame = FrameOf(60);
  const std::vector<RowMark> marks = MarksOf(frame, 60);
  JpegMarks kept;
  kept.Assign(Packed(RandomBytes(8000, 9), frame, marks));
  ASSERT_TRUE(kept.Unpack(file, frame).empty());
  kept.Pack(file, frame, std::span(marks).first(2));
  EXPECT_TRUE(kept.grew());
  EXPECT_EQ(Unpacked(file, frame, kept.packed()).size(), 2u);
}

}  // namespace
}  // namespace stoker

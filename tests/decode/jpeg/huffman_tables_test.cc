#include "decode/jpeg/huffman_tables.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

#include "tests/decode/encode.h"
#include "tests/decode/jpeg/library_coefficients.h"

namespace stoker {
namespace {

// One code for each of so many symbols, of the given length.
HuffmanSpec SpecOf(size_t length, uint8_t symbols) {
  HuffmanSpec spec;
  spec.counts[length] = symbols;
  for (uint8_t i = 0; i < symbols; ++i) spec.symbols[i] = static_cast<uint8_t>(i % 16);
  return spec;
}

TEST(HuffmanTables, RefuseMoreCodesThanALengthHas) {
  HuffmanTables tables;
  EXPECT_NE(tables.Ac(SpecOf(4, 15)), nullptr);
  EXPECT_EQ(tables.Ac(SpecOf(4, 16)), nullptr);  // the last would be nothing but ones
  EXPECT_EQ(tables.Ac(SpecOf(4, 17)), nullptr);
  EXPECT_EQ(tables.Dc(SpecOf(2, 4)), nullptr);
  HuffmanSpec twice = SpecOf(1, 1);
  twice.counts[3] = 5;
  EXPECT_EQ(tables.Ac(twice), nullptr);
  HuffmanSpec many = SpecOf(9, 200);
  many.counts[10] = 57;
  EXPECT_EQ(tables.Ac(many), nullptr);
}

TEST(HuffmanTables, RefuseDcSymbolsThatAreNoSize) {
  HuffmanTables tables;
  HuffmanSpec spec = SpecOf(5, 16);
  EXPECT_NE(tables.Dc(spec), nullptr);
  spec.symbols[7] = 16;
  EXPECT_EQ(tables.Dc(spec), nullptr);
  EXPECT_NE(tables.Ac(spec), nullptr);
}

TEST(HuffmanTables, AreMadeOfNoCodesAtAll) {
  HuffmanTables tables;
  EXPECT_NE(tables.Ac({}), nullptr);
  EXPECT_NE(tables.Dc({}), nullptr);
}

TEST(HuffmanTables, AreKeptWhileTheyAreUsed) {
  HuffmanTables tables;
  const AcTable* const first = tables.Ac(SpecOf(8, 1));
  std::set<const AcTable*> all;
  for (uint8_t i = 2; i < 50; ++i) {
    all.insert(tables.Ac(SpecOf(8, i)));
    EXPECT_EQ(tables.Ac(SpecOf(8, 1)), first);
    EXPECT_EQ(first->spec, SpecOf(8, 1));
  }
  EXPECT_EQ(all.size(), 5u);  // and no more memory than that
}

// The memory of one that is not used any more may have been taken for one that was then refused.
TEST(HuffmanTables, AreWholeWhateverWasRefusedBetween) {
  HuffmanTables fresh;
  const AcTable* const expected = fresh.Ac(SpecOf(4, 15));
  HuffmanTables tables;
  for (uint8_t i = 1; i < 30; ++i) {
    const AcTable* const table = tables.Ac(SpecOf(4, 15));
    ASSERT_NE(table, nullptr);
    ASSERT_EQ(table->bytes, expected->bytes);
    ASSERT_EQ(table->book.limits, expected->book.limits);
    for (uint8_t k = 1; k <= i % 7; ++k) tables.Ac(SpecOf(9, k));
    HuffmanSpec refused = SpecOf(3, 2);
    refused.counts[5] = 200;
    ASSERT_EQ(tables.Ac(refused), nullptr);
  }
}

TEST(HuffmanTables, SayTheirShift) {
  HuffmanTables tables;
  EXPECT_EQ(IndexBits(tables.Ac(SpecOf(4, 15))->word()), kAcIndexBits);
  EXPECT_EQ(IndexBits(tables.Dc(SpecOf(4, 15))->word()), kDcIndexBits);
  EXPECT_EQ(IndexBits(StopTable()), kStopIndexBits);
  const DcTable* const table = tables.Dc(SpecOf(4, 15));
  EXPECT_EQ(&DcTable::Of(table->word()), table);
}

// The file's tables with a few numbers changed: refused where the library refuses the file.
TEST(HuffmanTables, AreRefusedWhereTheLibraryRefusesThem) {
  const Bytes file = EncodeJpeg(MakePicture({16, 16}, 3, 1));
  const Bytes marker = {0xFF, 0xC4};
  std::mt19937 random(1);
  int refused = 0;
  HuffmanTables tables;
  for (int round = 0; round < 5000; ++round) {
    Bytes changed = file;
    for (auto at = changed.begin();; at += 2) {
      at = std::search(at, changed.end(), marker.begin(), marker.end());
      if (at == changed.end()) break;
      // Behind marker, length and kind. The sum of the counts stays, for it is the segment's length.
      uint8_t* const counts = &*at + 5;
      uint8_t& from = counts[random() % 16];
      if (random() % 3 == 0 && from > 0) {
        --from;
        ++counts[random() % 16];
      }
      if (random() % 20 == 0) counts[16 + random() % 12] = static_cast<uint8_t>(random() % 32);
    }
    const LibraryScan library = ScanByTheLibrary(changed);
    ASSERT_TRUE(library.has_frame);
    bool taken = true;
    for (const JpegComponent& component : library.frame.component) {
      taken = taken && tables.Dc(component.dc) != nullptr && tables.Ac(component.ac) != nullptr;
    }
    ASSERT_EQ(taken, !library.failed) << round;
    refused += taken ? 0 : 1;
  }
  EXPECT_GT(refused, 500);
  EXPECT_LT(refused, 4500);
}

}  // namespace
}  // namespace stoker

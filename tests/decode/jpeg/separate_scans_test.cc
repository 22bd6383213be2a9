// By way of the entropy decoder, which lends it tables and rows.
#include "decode/jpeg/separate_scans.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <utility>

#include "decode/cpu_path.h"
#include "tests/decode/jpeg/library_coefficients.h"
#include "tests/decode/jpeg/scan_scripts.h"

namespace stoker {
namespace {

const ScanScript kScripts[] = {{{0}, {1}, {2}}, {{2}, {0}, {1}}, {{0, 1}, {2}}, {{1}, {0, 2}}, {{0}, {1, 2}}};

// Runs a check on each CPU path that this machine has.
template <class Check>
void OnEachPath(Check&& check) {
  for (int path = 0; path <= static_cast<int>(BestCpuPath()); ++path) {
    ForceCpuPath(static_cast<CpuPath>(path));
    SCOPED_TRACE(CpuPathName(static_cast<CpuPath>(path)));
    check();
  }
  ForceCpuPath(BestCpuPath());
}

McuWindow Whole(const JpegFrame& frame) { return {0, 0, frame.mcus_across, frame.mcus_down}; }

McuWindow RandomWindow(const JpegFrame& frame, std::mt19937& random) {
  const auto below = [&](int32_t n) { return static_cast<int32_t>(random() % static_cast<uint32_t>(n)); };
  McuWindow window;
  window.x0 = below(frame.mcus_across);
  window.y0 = below(frame.mcus_down);
  window.x1 = window.x0 + 1 + below(frame.mcus_across - window.x0);
  window.y1 = window.y0 + 1 + below(frame.mcus_down - window.y0);
  return window;
}

// In one scan, its first component sampled h by v.
Bytes Encoded(ImageSize size, int h, int v, int quality = 85) {
  return EncodeJpeg(MakePicture(size, 3, 7), {.quality = quality, .luma_h = h, .luma_v = v});
}

TEST(SeparateScans, GivesTheLibrarysCoefficients) {
  OnEachPath([] {
    std::mt19937 random(1);
    EntropyDecoder decoder;
    for (int round = 0; round < 300; ++round) {
      const ImageSize size = {1 + static_cast<int32_t>(random() % 70), 1 + static_cast<int32_t>(random() % 70)};
      const int h = 1 + round % 2;
      const int v = 1 + round / 2 % 2;
      const int restart_interval = round % 3 == 0 ? 0 : 1 + static_cast<int>(random() % 9);
      const int quality = round % 7 == 0 ? 100 : 60;
      const Bytes file = Rescanned(Encoded(size, h, v, quality), kScripts[random() % std::size(kScripts)],
                                   {restart_interval, round % 5 < 2});
      SCOPED_TRACE(std::to_string(size.width) + "x" + std::to_string(size.height) + ", " + std::to_string(h) +
                   std::to_string(v) + ", restart " + std::to_string(restart_interval));
      const LibraryScan library = ScanByTheLibrary(file);
      ASSERT_TRUE(library.has_frame);
      ASSERT_TRUE(library.frame.separate_scans);
      ASSERT_EQ(library.warnings, 0);
      for (const McuWindow& window : {Whole(library.frame), RandomWindow(library.frame, random)}) {
        decoder.set_lanes(1 + random() % 2);
        bool same = false;
        ASSERT_TRUE(DecodeAndCompare(decoder, file, library, window, {}, same));
        ASSERT_TRUE(same);
        EXPECT_TRUE(decoder.marks().empty());
      }
    }
  });
}

TEST(SeparateScans, GivesTheLibrarysCoefficientsOfALargePicture) {
  EntropyDecoder decoder;
  const Bytes file = Rescanned(Encoded({900, 700}, 2, 2), kScripts[0]);
  const LibraryScan library = ScanByTheLibrary(file);
  for (const size_t lanes : {1, 2}) {
    decoder.set_lanes(lanes);
    bool same = false;
    ASSERT_TRUE(DecodeAndCompare(decoder, file, library, Whole(library.frame), {}, same));
    EXPECT_TRUE(same) << lanes;
  }
}

TEST(SeparateScans, HoldsMemoryForTheWindowAlone) {
  const Bytes file = Rescanned(Encoded({900, 700}, 2, 2), kScripts[0]);
  const LibraryScan library = ScanByTheLibrary(file);
  const auto bytes_for = [&](const McuWindow& window) {
    EntropyDecoder decoder;
    bool same = false;
    EXPECT_TRUE(DecodeAndCompare(decoder, file, library, window, {}, same));
    return decoder.scratch_bytes();
  };
  const size_t blocks = size_t{6} * 57 * 44;
  EXPECT_GT(bytes_for(Whole(library.frame)), bytes_for({3, 3, 4, 4}) + blocks * sizeof(CoefficientBlock));
}

// Where the n-th marker of a kind is in the file.
size_t MarkerAt(const Bytes& file, uint8_t marker, int n) {
  const Bytes wanted = {0xFF, marker};
  auto at = std::search(file.begin(), file.end(), wanted.begin(), wanted.end());
  for (; n > 0; --n) at = std::search(at + 1, file.end(), wanted.begin(), wanted.end());
  return static_cast<size_t>(at - file.begin());
}

// Whether it is taken; then it must be right to.
bool IsTaken(EntropyDecoder& decoder, const Bytes& file) {
  const LibraryScan library = ScanByTheLibrary(file);
  bool same = false;
  if (!library.has_frame || !DecodeAndCompare(decoder, file, library, Whole(library.frame), {}, same)) return false;
  EXPECT_TRUE(same);
  EXPECT_FALSE(library.failed);
  EXPECT_EQ(library.warnings, 0);
  return true;
}

constexpr uint8_t kHuffmanTables = 0xC4;
constexpr uint8_t kEndOfImage = 0xD9;
constexpr uint8_t kStartOfScan = 0xDA;

TEST(SeparateScans, ReadsSegmentsBetweenScans) {
  EntropyDecoder decoder;
  const Bytes file = Rescanned(Encoded({60, 44}, 2, 2), kScripts[0], {.restart_interval = 3});
  ASSERT_TRUE(IsTaken(decoder, file));
  const auto with = [&](const Bytes& segment, uint8_t before, int n) {
    Bytes changed = file;
    changed.insert(changed.begin() + static_cast<ptrdiff_t>(MarkerAt(file, before, n)), segment.begin(), segment.end());
    return IsTaken(decoder, changed);
  };
  const Bytes table(file.begin() + static_cast<ptrdiff_t>(MarkerAt(file, 0xDB, 0)),
                    file.begin() + static_cast<ptrdiff_t>(MarkerAt(file, 0xDB, 1)));
  for (const auto& [before, n] : {std::pair{kStartOfScan, 1}, {kStartOfScan, 2}, {kEndOfImage, 0}}) {
    EXPECT_TRUE(with({0xFF, 0xFE, 0, 4, 1, 2}, before, n)) << "a comment";
    EXPECT_TRUE(with({0xFF, 0xE5, 0, 2}, before, n)) << "an application's segment";
    EXPECT_TRUE(with({0xFF, 0xDD, 0, 4, 0, 3}, before, n)) << "the same restart interval";
    EXPECT_EQ(with({0xFF, 0xDD, 0, 4, 0, 2}, before, n), before == kEndOfImage) << "another restart interval";
    EXPECT_FALSE(with({0xFF, 0xDD, 0, 5, 0, 3, 0}, before, n)) << "a segment that is too long";
    EXPECT_FALSE(with({0xFF, 0xFE, 0, 1}, before, n)) << "a length that cannot be";
    EXPECT_FALSE(with({0xFF, 0xFE, 0xFF, 0xFF}, before, n)) << "a segment that goes on behind the file";
    EXPECT_FALSE(with({0xFF, 0xE0, 0, 2}, before, n)) << "JFIF";
    EXPECT_FALSE(with(table, before, n)) << "quantization";
    EXPECT_FALSE(with({0xFF, 0xC4, 0, 5, 0, 1, 2}, before, n)) << "Huffman tables cut short";
    EXPECT_FALSE(with({1, 2}, before, n)) << "bytes that are none of a marker's";
  }
}

TEST(SeparateScans, WantsEachComponentInOneScan) {
  EntropyDecoder decoder;
  const Bytes file = Rescanned(Encoded({60, 44}, 2, 2), kScripts[0]);
  const auto scan = [&](int n) { return file.begin() + static_cast<ptrdiff_t>(MarkerAt(file, kStartOfScan, n)); };
  Bytes without_last(file.begin(), scan(2));
  without_last.insert(without_last.end(), {0xFF, kEndOfImage});
  EXPECT_FALSE(IsTaken(decoder, without_last));
  Bytes twice(file.begin(), file.end() - 2);
  twice.insert(twice.end(), scan(1), file.end());
  EXPECT_FALSE(IsTaken(decoder, twice));
  Bytes without_end(file.begin(), file.end() - 2);
  EXPECT_FALSE(IsTaken(decoder, without_end));
  Bytes more_behind = file;
  more_behind.insert(more_behind.end(), {0xFF, 0xDB, 1, 2, 3});
  EXPECT_TRUE(IsTaken(decoder, more_behind));
}

TEST(SeparateScans, LeavesComponentsOfOneNameToTheLibrary) {
  EntropyDecoder decoder;
  Bytes file = Rescanned(Encoded({60, 44}, 2, 2), {{0}, {1, 2}});
  ASSERT_TRUE(IsTaken(decoder, file));
  file[MarkerAt(file, 0xC0, 0) + 16] = 2;         // the third component's
  file[MarkerAt(file, kStartOfScan, 1) + 7] = 2;  // in its scan
  ASSERT_TRUE(ScanByTheLibrary(file).has_frame);
  EXPECT_FALSE(IsTaken(decoder, file));
}

TEST(SeparateScans, ForgetsTheTablesOfThePictureBefore) {
  EntropyDecoder decoder;
  const Bytes file = Rescanned(Encoded({60, 44}, 2, 2), kScripts[0]);
  ASSERT_TRUE(IsTaken(decoder, file));
  Bytes without_tables = file;
  for (;;) {
    const auto at = without_tables.begin() + static_cast<ptrdiff_t>(MarkerAt(without_tables, kHuffmanTables, 0));
    if (at == without_tables.end()) break;
    without_tables.erase(at, at + 2 + (at[2] << 8 | at[3]));
  }
  ASSERT_LT(without_tables.size(), file.size());
  EXPECT_FALSE(IsTaken(decoder, without_tables));  // the library would take the standard's
}

TEST(SeparateScans, WantsTheFirstScanWhereTheLibraryHasFoundIt) {
  EntropyDecoder decoder;
  const Bytes file = Rescanned(Encoded({60, 44}, 2, 2), kScripts[0]);
  JpegFrame frame = ScanByTheLibrary(file).frame;
  EXPECT_TRUE(decoder.Start(file, frame, Whole(frame), {}));
  ++frame.scan_offset;
  EXPECT_FALSE(decoder.Start(file, frame, Whole(frame), {}));
}

TEST(SeparateScans, WantsScansOfWholeCoefficients) {
  EntropyDecoder decoder;
  const Bytes file = Rescanned(Encoded({60, 44}, 1, 1), kScripts[0]);
  for (int n = 0; n < 3; ++n) {
    for (const auto& [offset, value] :
         {std::pair{4, 2}, {4, 0}, {5, 9}, {6, 0x44}, {6, 0x22}, {7, 1}, {8, 62}, {9, 16}, {9, 1}}) {
      Bytes changed = file;
      changed[MarkerAt(file, kStartOfScan, n) + static_cast<size_t>(offset)] = static_cast<uint8_t>(value);
      EXPECT_FALSE(IsTaken(decoder, changed)) << n << " " << offset;
    }
  }
}

// Bits flipped, bytes changed, left out, put in, and the end cut off, anywhere behind the first scan's header.
TEST(SeparateScans, AcceptsNoDamageOfWhichTheLibraryWarns) {
  OnEachPath([] {
    std::mt19937 random(3);
    EntropyDecoder decoder;
    int accepted = 0;
    int refused = 0;
    for (int round = 0; round < 1500; ++round) {
      const ScanScript& script = kScripts[static_cast<size_t>(round) % std::size(kScripts)];
      static const Bytes kPicture = Encoded({90, 60}, 2, 2, 40);
      Bytes file = Rescanned(kPicture, script, {round % 2 == 0 ? 0 : 5, round % 3 == 0});
      // Every third in what is between scans.
      const size_t first = MarkerAt(file, kStartOfScan, 0) + 12;
      size_t at = first + random() % (file.size() - first);
      if (round % 3 == 0) at = MarkerAt(file, random() % 2 == 0 ? kHuffmanTables : kStartOfScan, 1 + random() % 2);
      at = std::min(at + (round % 3 == 0 ? random() % 20 : 0), file.size() - 1);
      const auto place = file.begin() + static_cast<ptrdiff_t>(at);
      switch (random() % 5) {
        case 0:
          *place ^= static_cast<uint8_t>(1u << random() % 8);
          break;
        case 1:
          *place = static_cast<uint8_t>(random());
          break;
        case 2:
          file.erase(place);
          break;
        case 3:
          file.resize(at);
          break;
        default:
          file.insert(place, {0xFF, static_cast<uint8_t>(0xD0 + random() % 16)});
          break;
      }
      decoder.set_lanes(1 + random() % 2);
      ++(IsTaken(decoder, file) ? accepted : refused);
    }
    // Otherwise this would have tested nothing.
    EXPECT_GT(accepted, 100);
    EXPECT_GT(refused, 100);
  });
}

}  // namespace
}  // namespace stoker

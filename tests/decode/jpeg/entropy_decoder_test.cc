#include "decode/jpeg/entropy_decoder.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "decode/cpu_path.h"
#include "tests/decode/encode.h"
#include "tests/decode/jpeg/library_coefficients.h"

namespace stoker {
namespace {

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

class EntropyDecoderOnPath : public testing::TestWithParam<CpuPath> {
 protected:
  void SetUp() override {
    if (GetParam() > BestCpuPath()) GTEST_SKIP() << "this machine lacks it";
    before_ = ChosenCpuPath();
    ForceCpuPath(GetParam());
  }
  void TearDown() override {
    if (GetParam() <= BestCpuPath()) ForceCpuPath(before_);
  }

  // One and two lanes; no marks, some, all; the whole picture and a random window: all must give the library's
  // coefficients, and learn the same marks.
  void ExpectTheLibrarysCoefficients(const Bytes& file, const std::string& what) {
    const LibraryScan library = ScanByTheLibrary(file);
    ASSERT_TRUE(library.has_frame) << what;
    ASSERT_EQ(library.warnings, 0) << what;
    const McuWindow whole = Whole(library.frame);
    std::vector<RowMark> marks;
    bool same = false;
    for (const int lanes : {1, 2}) {
      decoder_.set_lanes(lanes);
      ASSERT_TRUE(DecodeAndCompare(decoder_, file, library, whole, {}, same)) << what;
      ASSERT_TRUE(same) << what;
      ASSERT_EQ(decoder_.marks().size(), static_cast<size_t>(whole.y1)) << what;
      if (lanes == 1) marks.assign(decoder_.marks().begin(), decoder_.marks().end());
      ASSERT_TRUE(std::equal(marks.begin(), marks.end(), decoder_.marks().begin())) << what;
      for (const size_t known : {size_t{0}, 1 + random_() % marks.size(), marks.size()}) {
        for (const McuWindow& window : {whole, RandomWindow(library.frame, random_)}) {
          ASSERT_TRUE(DecodeAndCompare(decoder_, file, library, window, std::span(marks).first(known), same)) << what;
          ASSERT_TRUE(same) << what << ", " << lanes << " lanes, " << known << " marks";
          const size_t rows = std::min(static_cast<size_t>(window.y1) + 1, marks.size());
          ASSERT_GE(decoder_.marks().size(), rows - 1) << what;
          ASSERT_TRUE(std::equal(decoder_.marks().begin(), decoder_.marks().end(), marks.begin())) << what;
        }
      }
    }
  }

  EntropyDecoder decoder_;
  std::mt19937 random_{1};

 private:
  CpuPath before_ = CpuPath::kBaseline;
};

struct Sampling {
  int h, v, channels;
};

TEST_P(EntropyDecoderOnPath, GivesTheLibrarysCoefficients) {
  for (const Sampling sampling : {Sampling{1, 1, 1}, {1, 1, 3}, {2, 1, 3}, {1, 2, 3}, {2, 2, 3}}) {
    for (const ImageSize size : {ImageSize{1, 1}, {16, 16}, {33, 17}, {100, 61}, {7, 90}, {130, 5}, {190, 140}}) {
      const Picture picture = MakePicture(size, sampling.channels, 1);
      for (const int quality : {3, 50, 90, 98, 100}) {
        for (const int restart_interval : {0, 1, 3, (size.width + 15) / 16, 20}) {
          JpegOptions options;
          options.quality = quality;
          options.colour = sampling.channels == 1 ? JpegColour::kGray : JpegColour::kYcc;
          options.luma_h = sampling.h;
          options.luma_v = sampling.v;
          options.restart_interval = restart_interval;
          options.optimized = (quality + restart_interval) % 2 == 0;
          ASSERT_NO_FATAL_FAILURE(ExpectTheLibrarysCoefficients(
              EncodeJpeg(picture, options),
              std::to_string(size.width) + "x" + std::to_string(size.height) + ", " + std::to_string(sampling.h) +
                  std::to_string(sampling.v) + std::to_string(sampling.channels) + ", quality " +
                  std::to_string(quality) + ", restart " + std::to_string(restart_interval)));
        }
      }
    }
  }
}

TEST_P(EntropyDecoderOnPath, GivesTheLibrarysCoefficientsOfALargePicture) {
  const Picture picture = MakePicture({1500, 900}, 3, 5);
  for (const int quality : {40, 95}) {
    ExpectTheLibrarysCoefficients(EncodeJpeg(picture, {.quality = quality, .luma_h = 2, .luma_v = 2}), "large");
  }
}

// Bits flipped, bytes changed, left out, put in, and the end cut off, anywhere behind the header.
Bytes Damaged(const Bytes& file, size_t scan_offset, std::mt19937& random) {
  Bytes damaged = file;
  const size_t at = scan_offset + random() % (file.size() - scan_offset);
  const auto place = damaged.begin() + static_cast<ptrdiff_t>(at);
  switch (random() % 6) {
    case 0:
      *place ^= static_cast<uint8_t>(1u << random() % 8);
      break;
    case 1:
      *place = static_cast<uint8_t>(random());
      break;
    case 2:
      damaged.erase(place);
      break;
    case 3:
      damaged.resize(at);
      break;
    case 4:
      *place = 0xFF;
      break;
    default:
      damaged.insert(place, {0xFF, static_cast<uint8_t>(0xD0 + random() % 10)});
      break;
  }
  return damaged;
}

TEST_P(EntropyDecoderOnPath, AcceptsNoDamageOfWhichTheLibraryWarns) {
  int accepted = 0;
  int refused = 0;
  for (const int quality : {20, 75, 95}) {
    for (const int restart_interval : {0, 2, 5, 7}) {  // the last is a row's MCUs
      // Without restarts, large enough for a second lane.
      const ImageSize size = restart_interval == 0 ? ImageSize{160, 130} : ImageSize{100, 60};
      const Bytes file = EncodeJpeg(MakePicture(size, 3, 2), {.quality = quality,
                                                              .luma_h = restart_interval == 2 ? 1 : 2,
                                                              .luma_v = 2,
                                                              .restart_interval = restart_interval});
      const size_t scan_offset = ScanByTheLibrary(file).frame.scan_offset;
      for (int round = 0; round < 500; ++round) {
        Bytes damaged = Damaged(file, scan_offset, random_);
        if (round % 3 == 0 && damaged.size() > scan_offset) damaged = Damaged(damaged, scan_offset, random_);
        const LibraryScan library = ScanByTheLibrary(damaged);
        ASSERT_TRUE(library.has_frame);
        decoder_.set_lanes(1 + round % 2);
        bool same = false;
        const bool taken = DecodeAndCompare(decoder_, damaged, library, Whole(library.frame), {}, same);
        ++(taken ? accepted : refused);
        if (!taken) continue;
        ASSERT_FALSE(library.failed) << round;
        ASSERT_EQ(library.warnings, 0) << round;
        ASSERT_TRUE(same) << round;
        // What it has learned of it is as good.
        const std::vector<RowMark> marks(decoder_.marks().begin(), decoder_.marks().end());
        ASSERT_TRUE(DecodeAndCompare(decoder_, damaged, library, RandomWindow(library.frame, random_), marks, same));
        ASSERT_TRUE(same) << round;
      }
    }
  }
  // Otherwise this would have tested nothing.
  EXPECT_GT(accepted, 100);
  EXPECT_GT(refused, 100);
}

TEST_P(EntropyDecoderOnPath, WantsEachRestartMarkerInItsPlace) {
  for (const int restart_interval : {1, 3, 7, 14}) {  // 7 MCUs a row
    const Bytes file =
        EncodeJpeg(MakePicture({100, 60}, 3, 2), {.luma_h = 2, .luma_v = 2, .restart_interval = restart_interval});
    int markers = 0;
    for (size_t at = ScanByTheLibrary(file).frame.scan_offset; at + 2 < file.size(); ++at) {
      if (file[at] != 0xFF || file[at + 1] == 0) continue;
      ++markers;
      Bytes changed = file;
      changed[at + 1] = static_cast<uint8_t>(0xD0 + (file[at + 1] + 1) % 8);
      const LibraryScan library = ScanByTheLibrary(changed);
      ASSERT_GT(library.warnings, 0);
      bool same = false;
      EXPECT_FALSE(DecodeAndCompare(decoder_, changed, library, Whole(library.frame), {}, same)) << restart_interval;
    }
    EXPECT_EQ(markers, (7 * 4 + restart_interval - 1) / restart_interval - 1);
  }
}

TEST_P(EntropyDecoderOnPath, SeesAMarkThatCutsTheRowBeforeItShort) {
  const Bytes file = EncodeJpeg(MakePicture({100, 60}, 3, 2), {.luma_h = 2, .luma_v = 2});
  const LibraryScan library = ScanByTheLibrary(file);
  bool same = false;
  ASSERT_TRUE(DecodeAndCompare(decoder_, file, library, Whole(library.frame), {}, same));
  std::vector<RowMark> marks(decoder_.marks().begin(), decoder_.marks().end());
  marks[2].bit = marks[1].bit + (marks[2].bit - marks[1].bit) / 2;
  const McuWindow second_row = {0, 1, library.frame.mcus_across, 2};
  EXPECT_FALSE(DecodeAndCompare(decoder_, file, library, second_row, marks, same));
}

// Any places in the file, rising: nothing is expected of what is decoded, but that it ends and stays in its memory.
TEST_P(EntropyDecoderOnPath, SurvivesAnyMarks) {
  const Bytes file = EncodeJpeg(MakePicture({100, 90}, 3, 2), {.luma_h = 2, .luma_v = 2, .restart_interval = 4});
  const LibraryScan library = ScanByTheLibrary(file);
  int given_up = 0;
  for (int round = 0; round < 2000; ++round) {
    std::vector<RowMark> marks = {{8 * library.frame.scan_offset, {}}};
    while (marks.size() < static_cast<size_t>(library.frame.mcus_down)) {
      const uint64_t bit = marks.back().bit + 1 + random_() % (8 * file.size() / 8);
      if (bit > 8 * file.size()) break;
      marks.push_back({bit, {static_cast<int16_t>(random_()), static_cast<int16_t>(random_()), 0}});
    }
    bool same = false;
    const McuWindow window = RandomWindow(library.frame, random_);
    given_up += DecodeAndCompare(decoder_, file, library, window, marks, same) ? 0 : 1;
  }
  EXPECT_GT(given_up, 1000);
}

TEST_P(EntropyDecoderOnPath, LeavesAFileThatEndsInTheDataToTheLibrary) {
  const Bytes file = EncodeJpeg(MakePicture({100, 90}, 3, 2));
  LibraryScan library = ScanByTheLibrary(file);
  bool same = false;
  for (size_t size = library.frame.scan_offset; size + 1 < file.size(); ++size) {
    const std::span<const uint8_t> cut = std::span(file).first(size);
    EXPECT_FALSE(DecodeAndCompare(decoder_, cut, library, Whole(library.frame), {}, same)) << size;
  }
  EXPECT_TRUE(DecodeAndCompare(decoder_, file, library, Whole(library.frame), {}, same));
}

INSTANTIATE_TEST_SUITE_P(EveryPath, EntropyDecoderOnPath,
                         testing::Values(CpuPath::kBaseline, CpuPath::kAvx2, CpuPath::kAvx512),
                         [](const auto& path) { return std::string(CpuPathName(path.param)); });

}  // namespace
}  // namespace stoker

#include "decode/jpeg_frame.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "tests/decode/encode.h"
#include "tests/decode/jpeg/library_coefficients.h"

namespace stoker {
namespace {

const Picture& Colour() {
  static const Picture picture = MakePicture({50, 30}, 3, 1);
  return picture;
}

TEST(ReadFrame, TakesOverWhatTheHeaderSays) {
  const Bytes file = EncodeJpeg(Colour(), {.luma_h = 2, .luma_v = 2, .restart_interval = 5});
  const LibraryScan scan = ScanByTheLibrary(file);
  ASSERT_TRUE(scan.has_frame);
  EXPECT_EQ(scan.frame.size, (ImageSize{50, 30}));
  EXPECT_EQ(scan.frame.components, 3);
  EXPECT_EQ(scan.frame.max_h, 2);
  EXPECT_EQ(scan.frame.max_v, 2);
  EXPECT_EQ(scan.frame.mcus_across, 4);
  EXPECT_EQ(scan.frame.mcus_down, 2);
  EXPECT_EQ(scan.frame.restart_interval, 5);
  // The scan's header ends with its parameters.
  EXPECT_EQ((Bytes(file.begin() + static_cast<ptrdiff_t>(scan.frame.scan_offset) - 3,
                   file.begin() + static_cast<ptrdiff_t>(scan.frame.scan_offset))),
            (Bytes{0, 63, 0}));
}

TEST(ReadFrame, TakesAGrayPictureAsBlocksInARow) {
  const Bytes file = EncodeJpeg(MakePicture({50, 30}, 1, 1), {.colour = JpegColour::kGray, .luma_h = 2, .luma_v = 2});
  const LibraryScan scan = ScanByTheLibrary(file);
  ASSERT_TRUE(scan.has_frame);
  EXPECT_EQ(scan.frame.max_h, 1);
  EXPECT_EQ(scan.frame.mcus_across, 7);
  EXPECT_EQ(scan.frame.mcus_down, 4);
}

TEST(ReadFrame, LeavesOtherKindsToTheLibrary) {
  EXPECT_TRUE(ScanByTheLibrary(EncodeJpeg(Colour(), {.luma_v = 2})).has_frame);
  EXPECT_FALSE(ScanByTheLibrary(EncodeJpeg(Colour(), {.progressive = true})).has_frame);
  EXPECT_FALSE(ScanByTheLibrary(EncodeJpeg(Colour(), {.arithmetic = true})).has_frame);
  EXPECT_FALSE(ScanByTheLibrary(EncodeJpeg(Colour(), {.colour = JpegColour::kRgb})).has_frame);
  EXPECT_FALSE(ScanByTheLibrary(EncodeJpeg(Colour(), {.luma_h = 4})).has_frame);
  EXPECT_FALSE(ScanByTheLibrary(EncodeJpeg(MakePicture({50, 30}, 4, 1), {.colour = JpegColour::kCmyk})).has_frame);
}

// The header with one byte changed, `offset` bytes behind a marker.
LibraryScan WithByte(uint8_t marker, size_t offset, uint8_t value) {
  Bytes file = EncodeJpeg(Colour());
  const Bytes wanted = {0xFF, marker};
  const auto at = std::search(file.begin(), file.end(), wanted.begin(), wanted.end());
  *(at + 2 + static_cast<ptrdiff_t>(offset)) = value;
  return ScanByTheLibrary(file);
}

TEST(ReadFrame, LeavesWhatTheLibraryWarnsOfOrRefusesToIt) {
  constexpr uint8_t kFrame = 0xC0;
  constexpr uint8_t kScan = 0xDA;
  ASSERT_TRUE(WithByte(kScan, 9, 0).has_frame);
  EXPECT_FALSE(WithByte(kScan, 9, 1).has_frame) << "spectral selection";
  EXPECT_FALSE(WithByte(kScan, 10, 62).has_frame) << "spectral selection";
  EXPECT_FALSE(WithByte(kScan, 11, 0x10).has_frame) << "successive approximation";
  EXPECT_FALSE(WithByte(kScan, 11, 0x01).has_frame) << "successive approximation";
  EXPECT_FALSE(WithByte(kScan, 4, 0x20).has_frame) << "a table that is not there";
  EXPECT_FALSE(WithByte(kScan, 4, 0xF0).has_frame) << "a table that cannot be";
  EXPECT_FALSE(WithByte(kScan, 4, 0x0F).has_frame) << "a table that cannot be";
  EXPECT_FALSE(WithByte(kFrame, 10, 2).has_frame) << "a table that is not there";
  EXPECT_FALSE(WithByte(kFrame, 10, 255).has_frame) << "a table that cannot be";
}

}  // namespace
}  // namespace stoker

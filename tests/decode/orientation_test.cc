#include "decode/orientation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "tests/decode/decoded.h"

namespace stoker {
namespace {

// Decodes with orientation applied: the whole, a region in upright coordinates, and in gray.
void ExpectUpright(const Bytes& bytes, const Picture& stored, int orientation) {
  const DecodeLimits limits = {.apply_exif = true};
  const Picture upright = Turned(stored, orientation);
  Decoder decoder(limits);
  ImageSize size;
  Diagnosis diagnosis;
  ASSERT_FALSE(decoder.Peek(bytes, size, diagnosis)) << diagnosis.detail;
  EXPECT_EQ(size, upright.size);
  EXPECT_EQ(DecodeWith(decoder, bytes).picture, upright) << orientation;
  const Rect box = {3, 5, size.width / 2, size.height / 3};
  EXPECT_EQ(DecodeWith(decoder, bytes, box).picture, CutOut(upright, box)) << orientation;
  EXPECT_EQ(DecodeWith(decoder, bytes, box, Channels::kGray).picture, GrayOf(CutOut(upright, box))) << orientation;
  EXPECT_EQ(DecodeOnce(bytes).picture, stored) << "not asked for";
}

TEST(Orientation, IsAppliedToEveryJpeg) {
  for (int orientation = 1; orientation <= 8; ++orientation) {
    const Bytes app1 = MakeApp1(orientation, orientation % 2 == 0);
    for (const JpegOptions& options :
         {JpegOptions{.luma_h = 2, .luma_v = 2, .app1 = app1}, JpegOptions{.progressive = true, .app1 = app1},
          JpegOptions{.colour = JpegColour::kCmyk, .app1 = app1},
          JpegOptions{.colour = JpegColour::kGray, .app1 = app1}}) {
      const int channels = options.colour == JpegColour::kCmyk ? 4 : options.colour == JpegColour::kGray ? 1 : 3;
      const Bytes bytes = EncodeJpeg(MakePicture({45, 33}, channels, 1), options);
      ExpectUpright(bytes, DecodeOnce(bytes).picture, orientation);
    }
  }
}

TEST(Orientation, IsAppliedToPngWebpAndTiff) {
  const Picture picture = MakePicture({45, 33}, 3, 2);
  for (int orientation = 1; orientation <= 8; ++orientation) {
    const Bytes exif = MakeExif(orientation, orientation % 2 == 0);
    ExpectUpright(EncodePng(picture, {.chunks = {{"eXIf", exif}}}), picture, orientation);
    ExpectUpright(EncodePng(picture, {.interlaced = true, .chunks = {{"eXIf", exif}}}), picture, orientation);
    ExpectUpright(EncodeWebp(picture, {.exif = exif}), picture, orientation);
    ExpectUpright(EncodeWebp(picture, {.exif = MakeApp1(orientation)}), picture, orientation);
    ExpectUpright(EncodeTiff(picture, {.orientation = orientation}), picture, orientation);
  }
}

TEST(Orientation, ScaledRegionsAreTurnedWithTheirBox) {
  Picture picture{{320, 240}, 3, Bytes(320 * 240 * 3, 20)};
  for (int y = 96; y < 160; ++y) {
    for (int x = 128; x < 192; ++x) picture.at(x, y)[0] = 220;
  }
  for (int orientation = 1; orientation <= 8; ++orientation) {
    const Bytes bytes = EncodeJpeg(picture, {.quality = 100, .luma_h = 2, .luma_v = 2, .app1 = MakeApp1(orientation)});
    const RegionBox square_box =
        TurnBox({128, 96, 192, 160}, picture.size, Orientation::FromExif(static_cast<uint32_t>(orientation)));
    const Rect region = {static_cast<int>(square_box.x0), static_cast<int>(square_box.y0), 64, 64};
    Decoder decoder({.apply_exif = true});
    Image image;
    RegionBox box;
    Diagnosis diagnosis;
    ASSERT_FALSE(decoder.Decode(bytes, {region, Channels::kRgb, {16, 16}}, image, box, diagnosis));
    ASSERT_EQ(box.x1 - box.x0, 16);
    const Picture square = CutOut(image, box);
    for (int i = 1; i < 15; ++i) EXPECT_NEAR(square.at(i, i)[0], 220, 6) << orientation;
  }
}

TEST(Orientation, ValuesOutOfRangeMeanUpright) {
  for (const int value : {0, 9, 255, 65535}) {
    EXPECT_EQ(ReadOrientation(Format::kJpeg, EncodeJpeg(MakePicture({8, 8}, 3, 3), {.app1 = MakeApp1(value)})),
              Orientation{});
  }
}

TEST(Orientation, TheFirstExifSegmentCounts) {
  const Bytes bytes = EncodeJpeg(MakePicture({8, 8}, 3, 4), {.app1 = MakeApp1(6)});
  const Bytes app1 = MakeApp1(3);
  Bytes segment = {0xFF, 0xE1, 0, static_cast<uint8_t>(app1.size() + 2)};
  segment.insert(segment.end(), app1.begin(), app1.end());
  Bytes both = bytes;
  both.insert(both.begin() + 2, segment.begin(), segment.end());
  EXPECT_EQ(ReadOrientation(Format::kJpeg, both), Orientation::FromExif(3));
}

// A JPEG whose APP1 has this length field, and enough bytes behind it.
Bytes WithApp1Length(uint8_t high, uint8_t low) {
  Bytes bytes = EncodeJpeg(MakePicture({8, 8}, 3, 5));
  const uint8_t segment[] = {0xFF, 0xE1, high, low};
  bytes.insert(bytes.begin() + 2, std::begin(segment), std::end(segment));
  return bytes;
}

TEST(Orientation, BadSegmentLengthsDoNotStopTheDecode) {
  for (const uint8_t length : {0, 1, 2}) {
    const Decoded decoded = DecodeOnce(WithApp1Length(0, length), {.apply_exif = true});
    EXPECT_FALSE(decoded.error) << decoded.diagnosis.detail;
    EXPECT_EQ(decoded.picture.size, (ImageSize{8, 8}));
  }
  EXPECT_EQ(ReadOrientation(Format::kJpeg, WithApp1Length(0xFF, 0xFF)), Orientation{});
}

TEST(Orientation, DamagedDirectoriesMeanUprightOrTheirValue) {
  const Bytes exif = MakeExif(6);
  // Offsets: 4 the directory, 8 the number of entries, 10 the tag, 12 its type, 14 its count, 18 its value.
  struct Patch {
    size_t offset;
    uint8_t value;
    bool still_found;
  };
  for (const Patch& patch : {Patch{0, 'X', false}, Patch{2, 43, false}, Patch{4, 0, false}, Patch{4, 4, false},
                             Patch{7, 0xFF, false}, Patch{9, 0xFF, true}, Patch{8, 0, false}, Patch{12, 2, false},
                             Patch{14, 0, false}, Patch{17, 0xFF, false}, Patch{22, 8, true}}) {
    Bytes bad = exif;
    bad[patch.offset] = patch.value;
    const Bytes bytes = EncodePng(MakePicture({3, 2}, 3, 6), {.chunks = {{"eXIf", bad}}});
    EXPECT_EQ(ReadOrientation(Format::kPng, bytes), patch.still_found ? Orientation::FromExif(6) : Orientation{})
        << patch.offset;
    EXPECT_FALSE(DecodeOnce(bytes, {.apply_exif = true}).error);
  }
}

// Each cut copy lies in memory of exactly its size, so that sanitizers see any read behind it.
TEST(Orientation, ReadsNothingBehindTheData) {
  const Picture picture = MakePicture({8, 8}, 3, 7);
  const std::pair<Format, Bytes> files[] = {{Format::kJpeg, EncodeJpeg(picture, {.app1 = MakeApp1(6)})},
                                            {Format::kPng, EncodePng(picture, {.chunks = {{"eXIf", MakeExif(6)}}})},
                                            {Format::kWebp, EncodeWebp(picture, {.exif = MakeExif(6)})},
                                            {Format::kTiff, EncodeTiff(picture, {.orientation = 6})}};
  for (const auto& [format, bytes] : files) {
    int found = 0;
    for (size_t length = 0; length <= bytes.size(); ++length) {
      const std::unique_ptr<uint8_t[]> cut(new uint8_t[length]);
      std::copy_n(bytes.begin(), length, cut.get());
      if (ReadOrientation(format, {cut.get(), length}) == Orientation::FromExif(6)) ++found;
    }
    EXPECT_GT(found, 0);
  }
}

}  // namespace
}  // namespace stoker

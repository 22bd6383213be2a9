// BMP and TIFF, through the module that is loaded on demand.
#include <gtest/gtest.h>

#include <iostream>
#include <string>

#include "tests/decode/decoded.h"

namespace stoker {
namespace {

TEST(OpencvDecoder, BmpIsExact) {
  for (const ImageSize size : {ImageSize{61, 43}, ImageSize{1, 1}, ImageSize{3, 2}}) {
    const Picture picture = MakePicture(size, 3, 1);
    for (const bool top_down : {false, true}) {
      for (const int bits : {24, 32}) {
        const Decoded decoded = DecodeOnce(EncodeBmp(picture, {.bits = bits, .top_down = top_down}));
        ASSERT_FALSE(decoded.error) << decoded.diagnosis.detail;
        EXPECT_EQ(decoded.picture, picture);
      }
    }
  }
}

TEST(OpencvDecoder, PaletteBmpIsExact) {
  const Picture picture = MakePicture({61, 43}, 1, 2);
  const Bytes bytes = EncodeBmp(picture, {.bits = 8});
  EXPECT_EQ(DecodeOnce(bytes, {}, {}, Channels::kGray).picture, picture);
  EXPECT_EQ(DecodeOnce(bytes).picture.channels, 3);
}

TEST(OpencvDecoder, TiffIsExactInBothByteOrders) {
  for (const bool big_endian : {false, true}) {
    const Picture rgb = MakePicture({61, 43}, 3, 3);
    for (const int bits : {8, 16}) {
      EXPECT_EQ(DecodeOnce(EncodeTiff(rgb, {.bits = bits, .big_endian = big_endian})).picture, rgb) << bits;
      const Picture gray = MakePicture({61, 43}, 1, 4);
      EXPECT_EQ(DecodeOnce(EncodeTiff(gray, {.bits = bits, .big_endian = big_endian}), {}, {}, Channels::kGray).picture,
                gray);
    }
  }
}

TEST(OpencvDecoder, AlphaOfTiffIsDroppedNotMultiplied) {
  const Picture rgba = MakePicture({61, 43}, 4, 5);
  Picture rgb{rgba.size, 3, {}};
  for (size_t i = 0; i < rgba.pixels.size(); ++i) {
    if (i % 4 != 3) rgb.pixels.push_back(rgba.pixels[i]);
  }
  for (const int bits : {8, 16}) {
    EXPECT_EQ(DecodeOnce(EncodeTiff(rgba, {.bits = bits, .extra_samples = 2})).picture, rgb) << bits;
    EXPECT_EQ(DecodeOnce(EncodeTiff(rgba, {.bits = bits, .extra_samples = 0})).picture, rgb) << bits;
  }
  const Decoded premultiplied = DecodeOnce(EncodeTiff(rgba, {.extra_samples = 1}));
  EXPECT_EQ(premultiplied.error, DecodeError::kUnsupported);
  EXPECT_STREQ(premultiplied.diagnosis.detail, "TIFF with premultiplied alpha is not supported");
}

TEST(OpencvDecoder, OpencvDoesNotTurnTiffByItself) {
  const Picture picture = MakePicture({21, 13}, 3, 6);
  for (int orientation = 1; orientation <= 8; ++orientation) {
    for (const bool big_endian : {false, true}) {
      const Bytes bytes = EncodeTiff(picture, {.big_endian = big_endian, .orientation = orientation});
      EXPECT_EQ(DecodeOnce(bytes).picture, picture);
      EXPECT_EQ(DecodeOnce(bytes, {.apply_exif = true}).picture, Turned(picture, orientation));
    }
  }
}

TEST(OpencvDecoder, VariantsThatAreNotReadAreNamed) {
  Decoded decoded = DecodeOnce(EncodeTiff(MakePicture({8, 8}, 1, 7), {.sample_format = 3}));
  EXPECT_EQ(decoded.error, DecodeError::kUnsupported);
  EXPECT_STREQ(decoded.diagnosis.detail, "TIFF with float or signed samples is not supported");
  Bytes big_tiff = EncodeTiff(MakePicture({8, 8}, 1, 7));
  big_tiff[2] = 43;
  EXPECT_STREQ(DecodeOnce(big_tiff).diagnosis.detail, "BigTIFF is not supported");

  Bytes bmp = EncodeBmp(MakePicture({8, 8}, 3, 7));
  bmp[30] = 1;
  EXPECT_STREQ(DecodeOnce(bmp).diagnosis.detail, "compressed BMP is not supported");
  bmp[30] = 0;
  bmp[28] = 16;
  EXPECT_STREQ(DecodeOnce(bmp).diagnosis.detail, "16-bit BMP is not supported");
  bmp[28] = 17;
  EXPECT_EQ(DecodeOnce(bmp).error, DecodeError::kCorrupt);
}

TEST(OpencvDecoder, CutFilesAreErrorsWithoutAWordOnStderr) {
  testing::internal::CaptureStderr();
  for (const Bytes& bytes : {EncodeBmp(MakePicture({61, 43}, 3, 8)), EncodeTiff(MakePicture({61, 43}, 3, 8))}) {
    for (size_t length = 4; length < bytes.size(); length += 64) {
      EXPECT_TRUE(DecodeOnce(Bytes(bytes.begin(), bytes.begin() + static_cast<ptrdiff_t>(length))).error);
    }
  }
  // A directory in front of pixels that are not there: only OpenCV can notice, and it would say so on std::cerr.
  Bytes bytes = EncodeTiff(MakePicture({61, 43}, 3, 8));
  const size_t directory = static_cast<size_t>(bytes[4] | bytes[5] << 8);
  for (size_t entry = directory + 2; entry + 12 <= bytes.size(); entry += 12) {
    if (bytes[entry] == 273 % 256 && bytes[entry + 1] == 1) bytes[entry + 10] = 0x7F;  // the strip lies far away
  }
  const Decoded decoded = DecodeOnce(bytes);
  EXPECT_EQ(decoded.error, DecodeError::kCorrupt);
  EXPECT_STRNE(decoded.diagnosis.detail, "");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

TEST(OpencvDecoder, LeavesStderrToOthers) {
  ASSERT_FALSE(DecodeOnce(EncodeBmp(MakePicture({8, 8}, 3, 9))).error);
  testing::internal::CaptureStderr();
  std::cerr << "ours" << 1 << '\n' << std::flush;
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "ours1\n");
}

TEST(OpencvDecoder, ZeroSidesAndBombsAreRefusedOnTheHeader) {
  Bytes bmp = EncodeBmp(MakePicture({8, 8}, 3, 10));
  bmp[18] = 0;
  EXPECT_EQ(DecodeOnce(bmp).error, DecodeError::kCorrupt);
  bmp[20] = bmp[24] = 0x20;
  EXPECT_EQ(DecodeOnce(bmp).error, DecodeError::kTooLarge);
  Bytes tiff = EncodeTiff(MakePicture({8, 8}, 3, 10));
  const size_t width_value = static_cast<size_t>(tiff[4] | tiff[5] << 8) + 2 + 8;
  tiff[width_value] = 0;
  EXPECT_EQ(DecodeOnce(tiff).error, DecodeError::kCorrupt);
  tiff[width_value + 3] = 0x70;
  EXPECT_EQ(DecodeOnce(tiff).error, DecodeError::kTooLarge);
}

}  // namespace
}  // namespace stoker

// JPEGs that are cut, broken, hostile, or of kinds that are not read.
#include <gtest/gtest.h>

#include <random>
#include <string>

#include "tests/decode/jpeg_twin.h"

namespace stoker {
namespace {

TEST(JpegSession, CutFilesGivePixelsAndWarningsTwiceTheSame) {
  for (const bool progressive : {false, true}) {
    const Bytes bytes =
        EncodeJpeg(MakePicture({120, 90}, 3, 7), {.luma_h = 2, .luma_v = 2, .progressive = progressive});
    int with_pixels = 0;
    for (size_t length = 1; length < bytes.size(); length += 64) {
      const Bytes cut(bytes.begin(), bytes.begin() + static_cast<ptrdiff_t>(length));
      const Decoded first = DecodeOnce(cut);
      const Decoded second = DecodeOnce(cut);
      EXPECT_EQ(first.error, second.error);
      EXPECT_EQ(first.picture, second.picture);
      EXPECT_STREQ(first.diagnosis.detail, second.diagnosis.detail);
      if (first.error) {
        EXPECT_TRUE(first.error == DecodeError::kTruncated || length < 3) << first.error.message();
        continue;
      }
      ++with_pixels;
      EXPECT_GT(first.diagnosis.warnings, 0);
      EXPECT_STREQ(first.diagnosis.detail, "Premature end of JPEG file");
      EXPECT_EQ(first.diagnosis.offset_bytes, static_cast<int64_t>(length));
      EXPECT_EQ(first.picture, DecodeWholeByTheManual(cut, JCS_RGB));
      EXPECT_EQ(DecodeOnce(cut, {.strict = true}).error, DecodeError::kWarnings);
    }
    EXPECT_GT(with_pixels, 5);
  }
}

TEST(JpegSession, RegionsOfCutFilesEqualTheWholeToo) {
  std::mt19937 random(22);
  int compared = 0;
  for (const bool progressive : {false, true}) {
    Bytes bytes = EncodeJpeg(MakePicture({120, 90}, 3, 8), {.luma_h = 2, .luma_v = 2, .progressive = progressive});
    for (const size_t percent : {40, 60, 80, 99}) {
      const Bytes cut(bytes.begin(), bytes.begin() + static_cast<ptrdiff_t>(bytes.size() * percent / 100));
      if (const std::error_code error = DecodeOnce(cut).error) {  // cut inside a later scan's header
        EXPECT_EQ(error, DecodeError::kTruncated);
        continue;
      }
      ++compared;
      const Picture whole = DecodeWholeByTheManual(cut, JCS_RGB);
      for (int i = 0; i < 20; ++i) {
        const Rect box = RandomBox(random, whole.size);
        ASSERT_EQ(DecodeOnce(cut, {}, box).picture, CutOut(whole, box));
      }
    }
  }
  EXPECT_GE(compared, 6);
}

TEST(JpegSession, StrictSeesDamageBelowTheRegion) {
  Bytes bytes = EncodeJpeg(MakePicture({120, 90}, 3, 9));
  bytes.resize(bytes.size() * 9 / 10);
  const Rect top = {0, 0, 120, 20};
  EXPECT_FALSE(DecodeOnce(bytes, {}, top).error);
  const Decoded strict = DecodeOnce(bytes, {.strict = true}, top);
  EXPECT_EQ(strict.error, DecodeError::kWarnings);
  EXPECT_STREQ(strict.diagnosis.detail, "Premature end of JPEG file");
}

TEST(JpegSession, MissingEndMarkerIsAWarningOnlyInStrict) {
  Bytes bytes = EncodeJpeg(MakePicture({40, 40}, 3, 11));
  bytes.resize(bytes.size() - 2);
  EXPECT_FALSE(DecodeOnce(bytes).error);
  EXPECT_EQ(DecodeOnce(bytes, {.strict = true}).error, DecodeError::kWarnings);
}

TEST(JpegSession, CutHeadersAreTruncated) {
  const Bytes bytes = EncodeJpeg(MakePicture({40, 40}, 3, 12));
  const Decoded decoded = DecodeOnce(Bytes(bytes.begin(), bytes.begin() + 100));
  EXPECT_EQ(decoded.error, DecodeError::kTruncated);
  EXPECT_STREQ(decoded.diagnosis.detail, "truncated after 100 bytes");
  EXPECT_EQ(decoded.diagnosis.offset_bytes, 100);
  EXPECT_EQ(DecodeOnce({0xFF, 0xD8}).error, DecodeError::kTruncated);
  EXPECT_EQ(DecodeOnce({0xFF, 0xD8, 0xFF, 0xD9}).error, DecodeError::kCorrupt);
}

// The offset of the content of the first segment of this marker.
size_t FindSegment(const Bytes& bytes, uint8_t marker) {
  for (size_t i = 2; i + 4 < bytes.size(); i += 2u + static_cast<size_t>(bytes[i + 2] << 8 | bytes[i + 3])) {
    if (bytes[i + 1] == marker) return i + 4;
  }
  ADD_FAILURE() << "no such segment";
  return 0;
}

TEST(JpegSession, UnsupportedKindsAreNamed) {
  const Bytes bytes = EncodeJpeg(MakePicture({40, 40}, 3, 13));
  const size_t frame = FindSegment(bytes, 0xC0);
  Bytes twelve = bytes;
  twelve[frame] = 12;
  Decoded decoded = DecodeOnce(twelve);
  EXPECT_EQ(decoded.error, DecodeError::kUnsupported);
  EXPECT_STREQ(decoded.diagnosis.detail, "12-bit JPEG is not supported");
  Bytes lossless = bytes;
  lossless[frame - 3] = 0xC3;
  decoded = DecodeOnce(lossless);
  EXPECT_EQ(decoded.error, DecodeError::kUnsupported);
  EXPECT_STREQ(decoded.diagnosis.detail, "lossless JPEG is not supported");
}

TEST(JpegSession, ZeroSidesAndBombsAreRefusedOnTheHeader) {
  const Bytes bytes = EncodeJpeg(MakePicture({40, 40}, 3, 14), {.progressive = true});
  const size_t frame = FindSegment(bytes, 0xC2);
  for (const size_t side : {frame + 1, frame + 3}) {
    Bytes zero = bytes;
    zero[side] = zero[side + 1] = 0;
    EXPECT_EQ(DecodeOnce(zero).error, DecodeError::kCorrupt);
  }
  Bytes bomb = bytes;
  bomb[frame + 1] = bomb[frame + 3] = 0xEA;  // about 60,000 x 60,000
  const Decoded decoded = DecodeOnce(bomb);
  EXPECT_EQ(decoded.error, DecodeError::kTooLarge);
  EXPECT_STREQ(decoded.diagnosis.detail, "59944 x 59944 pixels are more than the limit of 178956970");
  bomb[frame + 1] = bomb[frame + 3] = 0xFF;
  EXPECT_EQ(DecodeOnce(bomb).error, DecodeError::kTooLarge);
}

TEST(JpegSession, TooManyScansAreCorrupt) {
  const Bytes bytes = EncodeJpeg(MakePicture({16, 16}, 1, 15), {.colour = JpegColour::kGray, .progressive = true});
  const size_t first_scan = FindSegment(bytes, 0xDA) - 4;
  // The last scan, again and again: it refines nothing new, and libjpeg would go on.
  size_t last_scan = first_scan;
  for (size_t i = first_scan; i + 1 < bytes.size(); ++i) {
    if (bytes[i] == 0xFF && bytes[i + 1] == 0xDA) last_scan = i;
  }
  Bytes many(bytes.begin(), bytes.end() - 2);
  for (int i = 0; i < 600; ++i)
    many.insert(many.end(), bytes.begin() + static_cast<ptrdiff_t>(last_scan), bytes.end() - 2);
  many.insert(many.end(), {0xFF, 0xD9});
  const Decoded decoded = DecodeOnce(many);
  EXPECT_EQ(decoded.error, DecodeError::kCorrupt);
  EXPECT_STREQ(decoded.diagnosis.detail, "too many scans");
}

// libjpeg keeps tables in a struct that is used again: a file without its own must not borrow its predecessor's.
TEST(JpegSession, PicturesLeaveNothingForTheNext) {
  const Bytes good = EncodeJpeg(MakePicture({40, 40}, 3, 16));
  Bytes tableless = good;
  for (int i = 0; i < 2; ++i) {
    const auto table = tableless.begin() + static_cast<ptrdiff_t>(FindSegment(tableless, 0xDB)) - 4;
    tableless.erase(table, table + 2 + (table[2] << 8 | table[3]));
  }
  Decoder decoder({});
  const Decoded fresh = DecodeOnce(tableless);
  EXPECT_EQ(fresh.error, DecodeError::kCorrupt);
  ASSERT_FALSE(DecodeWith(decoder, good).error);
  EXPECT_EQ(DecodeWith(decoder, tableless).error, fresh.error);
  EXPECT_EQ(DecodeWith(decoder, good).picture, DecodeWholeByTheManual(good, JCS_RGB));
}

TEST(JpegSession, WarningsOfCorruptDataAreCounted) {
  Bytes bytes = EncodeJpeg(MakePicture({120, 90}, 3, 17), {.restart_interval = 4});
  std::mt19937 random(23);
  int with_warnings = 0;
  for (int i = 0; i < 50; ++i) {
    Bytes broken = bytes;
    for (int k = 0; k < 5; ++k)
      broken[broken.size() / 2 + random() % (broken.size() / 2)] = static_cast<uint8_t>(random());
    const Decoded decoded = DecodeOnce(broken);
    if (decoded.error || decoded.diagnosis.warnings == 0) continue;
    ++with_warnings;
    EXPECT_STRNE(decoded.diagnosis.detail, "");
    EXPECT_GT(decoded.diagnosis.offset_bytes, 0);
    EXPECT_EQ(decoded.picture, DecodeWholeByTheManual(broken, JCS_RGB));
  }
  EXPECT_GT(with_warnings, 10);
}

}  // namespace
}  // namespace stoker

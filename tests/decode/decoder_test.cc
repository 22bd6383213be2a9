// What holds for every format alike.
#include "decode/decoder.h"

#include <gtest/gtest.h>
#include <malloc.h>

#include <random>

#include "tests/decode/decoded.h"

namespace stoker {
namespace {

// One file of each format and of each path inside it.
std::vector<Bytes> OneOfEach() {
  const Picture picture = MakePicture({64, 48}, 3, 1);
  const WebpFrame frames[] = {{picture, 0, 0}};
  return {EncodeJpeg(picture, {.luma_h = 2, .luma_v = 2}),
          EncodeJpeg(picture, {.progressive = true}),
          EncodeJpeg(MakePicture({64, 48}, 4, 1), {.colour = JpegColour::kYcck}),
          EncodeJpeg(MakePicture({64, 48}, 1, 1), {.colour = JpegColour::kGray}),
          EncodePng(picture),
          EncodePng(picture, {.colour = PngColour::kPalette, .interlaced = true}),
          EncodeWebp(picture),
          EncodeWebp(picture, {.lossless = false}),
          EncodeWebpAnimation({64, 48}, frames),
          EncodeBmp(picture),
          EncodeTiff(picture)};
}

TEST(Decoder, EmptyFilesAreEmpty) {
  const Decoded decoded = DecodeOnce({});
  EXPECT_EQ(decoded.error, DecodeError::kEmpty);
  EXPECT_STREQ(decoded.diagnosis.detail, "the file is empty");
}

TEST(Decoder, OtherContentIsNamed) {
  struct Case {
    std::string_view content;
    DecodeError error;
    const char* words;
  };
  for (const Case& c :
       {Case{"GIF89a\1\0\1\0", DecodeError::kUnsupported, "found GIF instead of a supported picture"},
        Case{"<html><body>404", DecodeError::kUnsupported, "found HTML page instead of a supported picture"},
        Case{"\x1F\x8B\x08", DecodeError::kUnsupported, "found gzip instead of a supported picture"},
        Case{"version https://git-lfs.github.com/spec/v1", DecodeError::kUnsupported,
             "found git-lfs pointer instead of a supported picture; run `git lfs pull` to fetch the pictures"},
        Case{"hello", DecodeError::kNotAnImage, "no known picture signature"},
        Case{"h", DecodeError::kNotAnImage, "no known picture signature"}}) {
    const Decoded decoded = DecodeOnce(Bytes(c.content.begin(), c.content.end()));
    EXPECT_EQ(decoded.error, c.error) << c.content;
    EXPECT_STREQ(decoded.diagnosis.detail, c.words);
  }
}

TEST(Decoder, LimitsHoldForEachFormat) {
  for (const Bytes& bytes : OneOfEach()) {
    EXPECT_FALSE(DecodeOnce(bytes, {.max_pixels = 64 * 48}).error);
    const Decoded decoded = DecodeOnce(bytes, {.max_pixels = 64 * 48 - 1});
    EXPECT_EQ(decoded.error, DecodeError::kTooLarge);
    EXPECT_STREQ(decoded.diagnosis.detail, "64 x 48 pixels are more than the limit of 3071");
    Decoder decoder({.max_pixels = 64 * 48 - 1});
    Image image;
    RegionBox box;
    Diagnosis diagnosis;
    EXPECT_EQ(decoder.Decode(bytes, {{0, 0, 64, 48}, Channels::kRgb, {}}, image, box, diagnosis),
              DecodeError::kTooLarge);
    EXPECT_EQ(image.capacity_bytes(), 0u);
  }
}

TEST(Decoder, ChannelsAreAlwaysThoseAskedFor) {
  Decoder decoder({});
  for (const Bytes& bytes : OneOfEach()) {
    const Decoded rgb = DecodeWith(decoder, bytes, {}, Channels::kRgb);
    const Decoded gray = DecodeWith(decoder, bytes, {}, Channels::kGray);
    ASSERT_FALSE(rgb.error || gray.error) << rgb.diagnosis.detail;
    EXPECT_EQ(rgb.picture.channels, 3);
    EXPECT_EQ(gray.picture, GrayOf(rgb.picture));
  }
}

TEST(Decoder, NamesTheFormat) {
  const Format formats[] = {Format::kJpeg, Format::kJpeg, Format::kJpeg, Format::kJpeg, Format::kPng, Format::kPng,
                            Format::kWebp, Format::kWebp, Format::kWebp, Format::kBmp,  Format::kTiff};
  const std::vector<Bytes> files = OneOfEach();
  ASSERT_EQ(files.size(), std::size(formats));
  for (size_t i = 0; i < files.size(); ++i) EXPECT_EQ(DecodeOnce(files[i]).diagnosis.format, formats[i]);
}

TEST(Decoder, OtherFormatsIgnoreTheSmallestSize) {
  const Picture picture = MakePicture({64, 48}, 3, 2);
  Decoder decoder({});
  for (const Bytes& bytes : {EncodePng(picture), EncodeWebp(picture), EncodeBmp(picture), EncodeTiff(picture)}) {
    Image image;
    RegionBox box;
    Diagnosis diagnosis;
    ASSERT_FALSE(decoder.Decode(bytes, {{8, 8, 40, 40}, Channels::kRgb, {5, 5}}, image, box, diagnosis));
    EXPECT_EQ(CutOut(image, box), CutOut(picture, {8, 8, 40, 40}));
  }
}

TEST(Decoder, ScratchIsHeldOnlyForWhatNeedsASecondStep) {
  Decoder decoder({});
  const size_t tables = decoder.scratch_bytes();
  EXPECT_LE(tables, 256u << 10);
  const Bytes png = EncodePng(MakePicture({64, 48}, 3, 3));
  ASSERT_FALSE(DecodeWith(decoder, png).error);
  EXPECT_EQ(decoder.scratch_bytes(), tables);
  ASSERT_FALSE(DecodeWith(decoder, png, {}, Channels::kGray).error);
  EXPECT_GE(decoder.scratch_bytes(), tables + 64u * 48 * 3);
}

// Bytes changed at random: whatever comes out, it comes out twice, and the decoder is as good as new after it.
TEST(Decoder, DamagedFilesGiveTheSameResultTwice) {
  constexpr unsigned kSeed = 30;
  std::mt19937 random(kSeed);
  Decoder used({.apply_exif = true});
  testing::internal::CaptureStderr();
  for (const Bytes& bytes : OneOfEach()) {
    const Picture healthy = DecodeOnce(bytes).picture;
    for (int i = 0; i < 60; ++i) {
      Bytes broken = bytes;
      for (int k = 0; k < 1 + i % 4; ++k) broken[random() % broken.size()] = static_cast<uint8_t>(random());
      const DecodeLimits limits = {.max_pixels = 1 << 20, .apply_exif = true};
      const Decoded first = DecodeOnce(broken, limits);
      const Decoded second = DecodeOnce(broken, limits);
      ASSERT_EQ(first.error, second.error);
      ASSERT_EQ(first.picture, second.picture);
      ASSERT_STREQ(first.diagnosis.detail, second.diagnosis.detail);
    }
    ASSERT_EQ(DecodeWith(used, bytes).picture, healthy);
  }
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

TEST(Decoder, BrokenFilesLeaveNoMemoryBehind) {
  std::vector<Bytes> broken;
  for (const Bytes& bytes : OneOfEach()) {
    broken.emplace_back(bytes.begin(), bytes.begin() + static_cast<ptrdiff_t>(bytes.size() / 2));
    broken.push_back(bytes);
    for (size_t i = bytes.size() / 3; i < bytes.size() / 3 + 8; ++i) broken.back()[i] ^= 0xA5;
  }
  const auto decode_all = [&broken](int rounds) {
    Decoder decoder({});
    for (int i = 0; i < rounds; ++i) {
      for (const Bytes& bytes : broken) DecodeWith(decoder, bytes);
    }
  };
  decode_all(3);  // what libraries keep for good is kept now
  const size_t before = mallinfo2().uordblks + mallinfo2().hblkhd;
  decode_all(200);
  const size_t after = mallinfo2().uordblks + mallinfo2().hblkhd;
  EXPECT_LT(after, before + 16 * 1024);
}

TEST(DecoderDeathTest, RegionsOutsideThePictureAreABug) {
  const Bytes bytes = EncodePng(MakePicture({64, 48}, 3, 4));
  Decoder decoder({});
  Image image;
  RegionBox box;
  Diagnosis diagnosis;
  for (const Rect& region :
       {Rect{0, 0, 65, 48}, Rect{1, 0, 64, 48}, Rect{0, 0, 0, 1}, Rect{-1, 0, 5, 5}, Rect{5, 48, 1, 1}}) {
    EXPECT_DEATH((void)decoder.Decode(bytes, {region, Channels::kRgb, {}}, image, box, diagnosis), "region");
  }
}

}  // namespace
}  // namespace stoker

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>

#include "tests/decode/decoded.h"

namespace stoker {
namespace {

// What EncodePng's file must look like, worked out from the picture.
Picture Expected(const Picture& picture, const PngOptions& options) {
  Picture rgb{picture.size, 3, {}};
  const int levels = (1 << std::min(options.bit_depth, 8)) - 1;
  for (int y = 0; y < picture.size.height; ++y) {
    for (int x = 0; x < picture.size.width; ++x) {
      for (int c = 0; c < 3; ++c) {
        const bool coloured = options.colour == PngColour::kRgb || options.colour == PngColour::kRgba;
        const int stored = picture.at(x, y)[coloured ? c : 0] >> (8 - std::min(options.bit_depth, 8));
        rgb.pixels.push_back(options.colour == PngColour::kPalette ? PaletteSample(stored, c)
                                                                   : static_cast<uint8_t>(stored * 255 / levels));
      }
    }
  }
  return rgb;
}

struct Kind {
  PngColour colour;
  int bit_depth;
};
constexpr Kind kKinds[] = {{PngColour::kGray, 1},       {PngColour::kGray, 2},    {PngColour::kGray, 4},
                           {PngColour::kGray, 8},       {PngColour::kGray, 16},   {PngColour::kGrayAlpha, 8},
                           {PngColour::kGrayAlpha, 16}, {PngColour::kPalette, 1}, {PngColour::kPalette, 2},
                           {PngColour::kPalette, 4},    {PngColour::kPalette, 8}, {PngColour::kRgb, 8},
                           {PngColour::kRgb, 16},       {PngColour::kRgba, 8},    {PngColour::kRgba, 16}};

TEST(PngDecoder, EveryColourTypeAndDepthIsExact) {
  for (const Kind& kind : kKinds) {
    for (const bool interlaced : {false, true}) {
      for (const ImageSize size : {ImageSize{61, 43}, ImageSize{1, 1}, ImageSize{2, 1}, ImageSize{7, 19}}) {
        const Picture picture = MakePicture(size, 3, 1);
        const PngOptions options = {.colour = kind.colour, .bit_depth = kind.bit_depth, .interlaced = interlaced};
        const Decoded decoded = DecodeOnce(EncodePng(picture, options), {.strict = true});
        ASSERT_FALSE(decoded.error) << decoded.diagnosis.detail;
        EXPECT_EQ(decoded.picture, Expected(picture, options))
            << "colour " << static_cast<int>(kind.colour) << " depth " << kind.bit_depth << " interlaced "
            << interlaced;
      }
    }
  }
}

// A transparency chunk once made four channels where three had room.
TEST(PngDecoder, TransparencyIsDroppedNotBlended) {
  for (const PngColour colour : {PngColour::kPalette, PngColour::kGray, PngColour::kRgb}) {
    for (const ImageSize size : {ImageSize{2, 1}, ImageSize{500, 300}, ImageSize{13, 7}}) {
      const Picture picture = MakePicture(size, 3, 2);
      const PngOptions options = {.colour = colour, .transparency = true};
      EXPECT_EQ(DecodeOnce(EncodePng(picture, options)).picture, Expected(picture, options));
    }
  }
}

TEST(PngDecoder, RegionsEqualTheSamePartOfTheWhole) {
  const Picture picture = MakePicture({61, 43}, 3, 3);
  for (const bool interlaced : {false, true}) {
    const Bytes bytes = EncodePng(picture, {.interlaced = interlaced});
    for (const Rect& box :
         {Rect{0, 0, 61, 43}, Rect{5, 7, 20, 10}, Rect{60, 42, 1, 1}, Rect{0, 42, 61, 1}, Rect{3, 0, 2, 43}}) {
      EXPECT_EQ(DecodeOnce(bytes, {}, box).picture, CutOut(picture, box));
      EXPECT_EQ(DecodeOnce(bytes, {.strict = true}, box).picture, CutOut(picture, box));
      EXPECT_EQ(DecodeOnce(bytes, {}, box, Channels::kGray).picture, GrayOf(CutOut(picture, box)));
    }
  }
}

TEST(PngDecoder, ACutFileIsAnErrorWhateverTheRegion) {
  Bytes bytes = EncodePng(MakePicture({200, 200}, 3, 4));
  bytes.resize(bytes.size() / 2);
  EXPECT_EQ(DecodeOnce(bytes, {}, Rect{10, 0, 50, 20}).error, DecodeError::kTruncated);
}

TEST(PngDecoder, CutFilesAreErrors) {
  for (const bool interlaced : {false, true}) {
    const Bytes bytes = EncodePng(MakePicture({61, 43}, 3, 5), {.interlaced = interlaced});
    for (size_t length = 8; length < bytes.size(); length += 64) {
      const Decoded decoded = DecodeOnce(Bytes(bytes.begin(), bytes.begin() + static_cast<ptrdiff_t>(length)));
      EXPECT_EQ(decoded.error, DecodeError::kTruncated);
      EXPECT_EQ(std::string(decoded.diagnosis.detail), "truncated after " + std::to_string(length) + " bytes");
    }
    const Bytes without_end(bytes.begin(), bytes.end() - 12);
    EXPECT_EQ(DecodeOnce(without_end).error, DecodeError::kTruncated);
  }
}

TEST(PngDecoder, DamageIsCorruptInTheLibrarysWords) {
  Bytes bytes = EncodePng(MakePicture({61, 43}, 3, 6));
  bytes[bytes.size() / 2] ^= 0x55;
  const Decoded decoded = DecodeOnce(bytes);
  EXPECT_EQ(decoded.error, DecodeError::kCorrupt);
  EXPECT_STRNE(decoded.diagnosis.detail, "");
  EXPECT_GT(decoded.diagnosis.offset_bytes, 0);
}

TEST(PngDecoder, ZeroSidesAndBombsAreRefusedOnTheHeader) {
  const Bytes bytes = EncodePng(MakePicture({61, 43}, 3, 7));
  for (const size_t side : {16, 20}) {
    Bytes zero = bytes;
    std::memset(&zero[side], 0, 4);
    EXPECT_EQ(DecodeOnce(zero).error, DecodeError::kCorrupt);
    Bytes negative = bytes;
    negative[side] = 0x80;
    EXPECT_EQ(DecodeOnce(negative).error, DecodeError::kCorrupt);
  }
  Bytes bomb = bytes;
  bomb[17] = bomb[21] = 1;
  EXPECT_EQ(DecodeOnce(bomb).error, DecodeError::kTooLarge);
}

// Chunks that libpng would inflate or complain about: none is looked at, so none can stop the picture.
TEST(PngDecoder, OtherChunksAreSkippedUnread) {
  const Picture picture = MakePicture({3, 2}, 3, 8);
  Bytes text = {'k', 0, 0, 0x78, 0x9C};
  text.resize(100'000, 0xFF);  // not even a valid stream
  Bytes profile = {'n', 0, 9, 1, 2, 3};
  const Bytes bytes = EncodePng(
      picture, {.chunks = {{"zTXt", text}, {"iCCP", profile}, {"iTXt", text}, {"gAMA", {0, 0}}, {"abCd", text}}});
  const Decoded decoded = DecodeOnce(bytes, {.strict = true});
  EXPECT_FALSE(decoded.error) << decoded.diagnosis.detail;
  EXPECT_EQ(decoded.diagnosis.warnings, 0);
  EXPECT_EQ(decoded.picture, picture);
}

TEST(PngDecoder, IndicesBeyondThePaletteAreBlack) {
  Bytes bytes = EncodePng(MakePicture({9, 9}, 3, 9), {.colour = PngColour::kPalette, .bit_depth = 4});
  // A palette of one entry, with its checksum, in the place of the sixteen.
  constexpr std::string_view kType = "PLTE";
  const auto plte = std::search(bytes.begin(), bytes.end(), kType.begin(), kType.end());
  ASSERT_NE(plte, bytes.end());
  const Bytes one_entry = {0, 0, 0, 3, 'P', 'L', 'T', 'E', 1, 2, 3, 0x0D, 0x87, 0x64, 0xD5};
  Bytes patched(bytes.begin(), plte - 4);
  patched.insert(patched.end(), one_entry.begin(), one_entry.end());
  patched.insert(patched.end(), plte + 4 + 48 + 4, bytes.end());
  const Decoded decoded = DecodeOnce(patched);
  ASSERT_FALSE(decoded.error) << decoded.diagnosis.detail;
  for (size_t i = 0; i < decoded.picture.pixels.size(); i += 3) {
    const uint8_t* const p = &decoded.picture.pixels[i];
    EXPECT_TRUE((p[0] == 0 && p[1] == 0 && p[2] == 0) || (p[0] == 1 && p[1] == 2 && p[2] == 3));
  }
}

}  // namespace
}  // namespace stoker

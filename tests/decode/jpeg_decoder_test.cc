// The pixels of JPEGs: equal to the library's, whole and in regions.
#include <gtest/gtest.h>

#include <random>
#include <string>

#include "tests/decode/jpeg_twin.h"

namespace stoker {
namespace {

// Pillow's formula for inverted CMYK.
Picture RgbOfInverted(const Picture& cmyk) {
  Picture rgb{cmyk.size, 3, {}};
  for (size_t i = 0; i < cmyk.pixels.size(); i += 4) {
    for (size_t c = 0; c < 3; ++c) {
      const int white = cmyk.pixels[i + 3];
      const int product = (255 - cmyk.pixels[i + c]) * white + 128;
      rgb.pixels.push_back(static_cast<uint8_t>(white - ((product + (product >> 8)) >> 8)));
    }
  }
  return rgb;
}

struct Kind {
  const char* name;
  JpegOptions options;
};

std::vector<Kind> AllKinds() {
  std::vector<Kind> kinds;
  const int samplings[][2] = {{1, 1}, {2, 1}, {2, 2}, {1, 2}, {4, 1}, {4, 2}, {2, 4}, {1, 4}, {3, 1}};
  for (const auto [h, v] : samplings) {
    const JpegOptions base = {.luma_h = h, .luma_v = v};
    kinds.push_back({"baseline", base});
    JpegOptions restarts = base;
    restarts.restart_interval = 3;
    kinds.push_back({"restarts", restarts});
    JpegOptions progressive = base;
    progressive.progressive = true;
    kinds.push_back({"progressive", progressive});
    JpegOptions separate = base;
    separate.interleaved = false;
    kinds.push_back({"one scan a component", separate});
    JpegOptions arithmetic = base;
    arithmetic.arithmetic = true;
    kinds.push_back({"arithmetic", arithmetic});
  }
  kinds.push_back({"gray", {.colour = JpegColour::kGray}});
  kinds.push_back({"gray with 2x2", {.colour = JpegColour::kGray, .luma_h = 2, .luma_v = 2}});
  kinds.push_back({"RGB", {.colour = JpegColour::kRgb}});
  kinds.push_back({"CMYK", {.colour = JpegColour::kCmyk}});
  kinds.push_back({"CMYK without marker", {.colour = JpegColour::kCmyk, .adobe_marker = false}});
  kinds.push_back({"YCCK 4:2:0", {.colour = JpegColour::kYcck, .luma_h = 2, .luma_v = 2}});
  kinds.push_back({"YCCK 4:2:2 progressive", {.colour = JpegColour::kYcck, .luma_h = 2, .progressive = true}});
  return kinds;
}

std::string Describe(const Kind& kind, ImageSize size) {
  return std::string(kind.name) + " " + std::to_string(kind.options.luma_h) + "x" +
         std::to_string(kind.options.luma_v) + " of " + std::to_string(size.width) + "x" + std::to_string(size.height);
}

Bytes EncodeKind(const Kind& kind, ImageSize size, uint32_t seed) {
  const JpegColour colour = kind.options.colour;
  const bool four = colour == JpegColour::kCmyk || colour == JpegColour::kYcck;
  return EncodeJpeg(MakePicture(size, four ? 4 : colour == JpegColour::kGray ? 1 : 3, seed), kind.options);
}

Picture Reference(const Bytes& bytes, JpegColour colour) {
  const bool four = colour == JpegColour::kCmyk || colour == JpegColour::kYcck;
  return four ? RgbOfInverted(DecodeWholeByTheManual(bytes, JCS_CMYK)) : DecodeWholeByTheManual(bytes, JCS_RGB);
}

TEST(JpegDecoder, WholePicturesEqualTheLibrarys) {
  for (const Kind& kind : AllKinds()) {
    const ImageSize size = {93, 71};
    const Bytes bytes = EncodeKind(kind, size, 1);
    const Decoded decoded = DecodeOnce(bytes);
    ASSERT_FALSE(decoded.error) << Describe(kind, size) << ": " << decoded.diagnosis.detail;
    EXPECT_EQ(decoded.picture, Reference(bytes, kind.options.colour)) << Describe(kind, size);
    EXPECT_EQ(decoded.diagnosis.warnings, 0);
  }
}

TEST(JpegDecoder, RegionsEqualTheSamePartOfTheWhole) {
  constexpr unsigned kSeed = 20;
  std::mt19937 random(kSeed);
  Decoder decoder({});
  for (const Kind& kind : AllKinds()) {
    const ImageSize size = {131 + static_cast<int>(random() % 60), 101 + static_cast<int>(random() % 60)};
    const Bytes bytes = EncodeKind(kind, size, 2);
    const Picture whole = Reference(bytes, kind.options.colour);
    for (int i = 0; i < 60; ++i) {
      const Rect box = RandomBox(random, size);
      const Decoded decoded = DecodeWith(decoder, bytes, box);
      ASSERT_FALSE(decoded.error);
      ASSERT_EQ(decoded.picture, CutOut(whole, box))
          << Describe(kind, size) << " at " << box.x << "," << box.y << " " << box.width << "x" << box.height;
    }
  }
}

TEST(JpegDecoder, TinyPicturesAndTheirRegionsAreExact) {
  constexpr unsigned kSeed = 21;
  std::mt19937 random(kSeed);
  Decoder decoder({});
  for (const Kind& kind : AllKinds()) {
    for (int i = 0; i < 40; ++i) {
      const ImageSize size = {i + 1, 1 + static_cast<int>(random() % 40)};
      const Bytes bytes = EncodeKind(kind, size, 3);
      const Picture whole = Reference(bytes, kind.options.colour);
      ASSERT_EQ(DecodeWith(decoder, bytes).picture, whole) << Describe(kind, size);
      for (int k = 0; k < 4; ++k) {
        const Rect box = RandomBox(random, size);
        ASSERT_EQ(DecodeWith(decoder, bytes, box).picture, CutOut(whole, box))
            << Describe(kind, size) << " at " << box.x << "," << box.y << " " << box.width << "x" << box.height;
      }
    }
  }
}

TEST(JpegDecoder, DecodesOnlyTheRowsAndBlocksThatTheRegionNeeds) {
  const Bytes bytes = EncodeJpeg(MakePicture({640, 480}, 3, 4), {.luma_h = 2, .luma_v = 2});
  Decoder decoder({});
  Image image;
  RegionBox box;
  Diagnosis diagnosis;
  ASSERT_FALSE(decoder.Decode(bytes, {{320, 100, 64, 50}, Channels::kRgb, {}}, image, box, diagnosis));
  EXPECT_EQ(image.size().height, 50);
  EXPECT_LE(image.size().width, 64 + 16 + 16);
  EXPECT_EQ(box.y0, 0);
  EXPECT_EQ(box.x1 - box.x0, 64);
}

TEST(JpegDecoder, GrayIsLumaOfTheRgbPicture) {
  for (const Kind& kind : AllKinds()) {
    const Bytes bytes = EncodeKind(kind, {50, 40}, 5);
    const Rect box = {3, 5, 31, 22};
    const Decoded gray = DecodeOnce(bytes, {}, box, Channels::kGray);
    ASSERT_FALSE(gray.error);
    EXPECT_EQ(gray.picture, GrayOf(CutOut(Reference(bytes, kind.options.colour), box))) << kind.name;
  }
}

TEST(JpegDecoder, GrayFilesGiveTheirLuma) {
  const Bytes bytes = EncodeKind({"gray", {.colour = JpegColour::kGray}}, {50, 40}, 5);
  EXPECT_EQ(DecodeOnce(bytes, {}, {}, Channels::kGray).picture, DecodeWholeByTheManual(bytes, JCS_GRAYSCALE));
}

TEST(JpegDecoder, ScalesOnlyWhileTheRegionStaysLargeEnough) {
  const Bytes bytes = EncodeJpeg(MakePicture({800, 600}, 3, 6), {.luma_h = 2, .luma_v = 2});
  Decoder decoder({});
  const Rect region = {101, 53, 515, 401};
  struct Case {
    ImageSize at_least;
    int denominator;
  };
  for (const Case& c : {Case{{515, 401}, 1}, Case{{258, 1}, 1}, Case{{257, 200}, 2}, Case{{257, 201}, 1},
                        Case{{128, 100}, 4}, Case{{64, 50}, 8}, Case{{1, 1}, 8}}) {
    Image image;
    RegionBox box;
    Diagnosis diagnosis;
    ASSERT_FALSE(decoder.Decode(bytes, {region, Channels::kRgb, c.at_least}, image, box, diagnosis));
    EXPECT_DOUBLE_EQ(box.x1 - box.x0, 515.0 / c.denominator);
    EXPECT_DOUBLE_EQ(box.y1 - box.y0, 401.0 / c.denominator);
    EXPECT_GE(box.x0, 0);
    EXPECT_GE(box.y0, 0);
    EXPECT_LE(box.x1, image.size().width);
    EXPECT_LE(box.y1, image.size().height);
  }
}

// The mean colour of a flat area survives every scale, so the box must point at the right place.
TEST(JpegDecoder, ScaledRegionsLieWhereTheBoxSays) {
  Picture picture{{320, 240}, 3, Bytes(320 * 240 * 3, 20)};
  for (int y = 96; y < 160; ++y) {
    for (int x = 128; x < 192; ++x) picture.at(x, y)[0] = 220;
  }
  for (const int sampling : {1, 2}) {
    const Bytes bytes = EncodeJpeg(picture, {.quality = 100, .luma_h = sampling, .luma_v = sampling});
    for (const int size : {32, 16, 8}) {
      Decoder decoder({});
      Image image;
      RegionBox box;
      Diagnosis diagnosis;
      ASSERT_FALSE(decoder.Decode(bytes, {{128, 96, 64, 64}, Channels::kRgb, {size, size}}, image, box, diagnosis));
      ASSERT_EQ(box.x1 - box.x0, size);
      const Picture region = CutOut(image, box);
      for (int i = 1; i < size - 1; ++i) EXPECT_NEAR(region.at(i, i)[0], 220, 6);
    }
  }
}

TEST(JpegDecoder, StrictGivesTheSamePixelsOfHealthyFiles) {
  for (const Kind& kind : AllKinds()) {
    const Bytes bytes = EncodeKind(kind, {70, 50}, 10);
    const Rect box = {20, 10, 30, 20};
    const Decoded strict = DecodeOnce(bytes, {.strict = true}, box);
    ASSERT_FALSE(strict.error) << strict.diagnosis.detail;
    EXPECT_EQ(strict.picture, DecodeOnce(bytes, {}, box).picture);
  }
}

}  // namespace
}  // namespace stoker

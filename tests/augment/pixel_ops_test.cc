#include "augment/pixel_ops.h"

#include <gtest/gtest.h>

#include <vector>

#include "tests/augment/color_oracle.h"
#include "tests/augment/oracle.h"

namespace stoker {
namespace {

using Bytes = std::vector<uint8_t>;

const Bytes kPixels = {0,   0,  0,  255, 255, 255, 255, 0,   0,   12, 200, 77,
                       200, 12, 77, 10,  20,  230, 128, 127, 126, 90, 180, 30};

// What Pillow 13 itself gives.
TEST(ToGray, EqualsPillowsStoredResults) {
  Bytes gray(8);
  ToGray(kPixels.data(), 8, 3, 1, gray.data());
  EXPECT_EQ(gray, (Bytes{0, 255, 76, 130, 76, 41, 127, 136}));
}

TEST(ToGray, TakesAndGivesOneOrThreeChannels) {
  for (const int32_t from : {1, 3}) {
    for (const int32_t to : {1, 3}) {
      const oracle::Picture picture = oracle::RandomPicture(131, 1, from, 4);
      Bytes gray(static_cast<size_t>(131 * to));
      ToGray(picture.pixels.data(), 131, from, to, gray.data());
      EXPECT_EQ(gray, oracle::Grayed(picture, to).pixels) << from << " to " << to;
    }
  }
}

// Over what it is made of, as the whole sample is.
TEST(ToGray, WorksInPlace) {
  for (const int32_t to : {1, 3}) {
    oracle::Picture picture = oracle::RandomPicture(131, 1, 3, 4);
    const Bytes expected = oracle::Grayed(picture, to).pixels;
    ToGray(picture.pixels.data(), 131, 3, to, picture.pixels.data());
    picture.pixels.resize(expected.size());
    EXPECT_EQ(picture.pixels, expected);
  }
}

Bytes Adjusted(Bytes pixels, ColorOp op, double factor, int32_t channels = 3) {
  Adjust({op, factor}, channels, pixels.size() / static_cast<size_t>(channels), pixels.data());
  return pixels;
}

// What torchvision 0.29's functional gives for a Pillow 13 image.
TEST(Adjust, EqualsTorchvisionsStoredResults) {
  EXPECT_EQ(
      Adjusted(kPixels, ColorOp::kBrightness, 1.3),
      (Bytes{0, 0, 0, 255, 255, 255, 255, 0, 0, 15, 255, 100, 255, 15, 100, 13, 26, 255, 166, 165, 163, 116, 233, 39}));
  EXPECT_EQ(Adjusted(kPixels, ColorOp::kContrast, 0.3),
            (Bytes{73,  73, 73, 150, 150, 150, 150, 73,  73,  77,  133, 96,
                   133, 77, 96, 76,  79,  142, 111, 111, 111, 100, 127, 82}));
  EXPECT_EQ(Adjusted(kPixels, ColorOp::kSaturation, 1.9),
            (Bytes{0, 0, 0, 255, 255, 255, 255, 0, 0, 0, 255, 29, 255, 0, 77, 0, 1, 255, 128, 127, 125, 48, 219, 0}));
  EXPECT_EQ(Adjusted(kPixels, ColorOp::kHue, 0.2), (Bytes{0,   0,   0,  255, 255, 255, 204, 255, 0,   13, 101, 200,
                                                          200, 167, 13, 230, 11,  196, 127, 128, 126, 30, 180, 150}));
  EXPECT_EQ(Adjusted(kPixels, ColorOp::kHue, -0.45), (Bytes{0,  0,   0,   255, 255, 255, 0,   168, 255, 200, 13, 74,
                                                            13, 200, 193, 171, 230, 11,  126, 127, 128, 171, 30, 180}));
  // A hue that turns by nothing loses bits on its way all the same.
  EXPECT_EQ(Adjusted(kPixels, ColorOp::kHue, 0), (Bytes{0,   0,  0,  255, 255, 255, 255, 0,   0,   13, 200, 74,
                                                        200, 13, 79, 11,  21,  230, 128, 127, 126, 90, 180, 30}));
}

TEST(Adjust, EqualsPillowsArithmetic) {
  for (const int32_t channels : {1, 3}) {
    for (const int32_t width : {1, 7, 64, 131}) {
      const oracle::Picture picture = oracle::RandomPicture(width, 9, channels, static_cast<uint32_t>(width));
      for (const ColorOp op : {ColorOp::kBrightness, ColorOp::kContrast, ColorOp::kSaturation}) {
        for (const double factor : {0.0, 0.1, 0.7, 1.0, 1.3, 2.5, 1e9}) {
          EXPECT_EQ(Adjusted(picture.pixels, op, factor, channels), oracle::Adjusted(picture, {op, factor}).pixels)
              << "op " << static_cast<int>(op) << ", factor " << factor << ", " << channels << " channels";
        }
      }
      for (const double turns : {-0.5, -0.1, -0.001, 0.0, 0.03, 0.25, 0.5}) {
        EXPECT_EQ(Adjusted(picture.pixels, ColorOp::kHue, turns, channels),
                  oracle::Adjusted(picture, {ColorOp::kHue, turns}).pixels)
            << turns;
      }
    }
  }
}

// Every pair of the largest and the smallest channel, at some places between them, in every order.
TEST(Adjust, TurnsEveryKindOfColor) {
  oracle::Picture picture(256 * 256, 1, 3);
  for (int32_t x = 0; x < picture.width; ++x) {
    const int32_t max = x / 256, min = x % 256;
    const int32_t channels[3] = {max, min, (max * (x % 5) + min * (4 - x % 5)) / 4};
    for (int32_t c = 0; c < 3; ++c) picture.pixels[picture.At(x, 0, c)] = static_cast<uint8_t>(channels[(c + x) % 3]);
  }
  for (const double turns : {0.0, 0.4}) {
    EXPECT_EQ(Adjusted(picture.pixels, ColorOp::kHue, turns), oracle::Adjusted(picture, {ColorOp::kHue, turns}).pixels);
  }
}

}  // namespace
}  // namespace stoker

#include "decode/jpeg/reconstruction.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

#include "decode/cpu_path.h"
#include "tests/decode/jpeg/coefficients.h"
#include "tests/decode/jpeg_twin.h"

namespace stoker {
namespace {

// The region's pixels; none where the reconstruction leaves them to libjpeg.
std::optional<Picture> Reconstructed(Reconstruction& reconstruction, const Coefficients& coefficients,
                                     const Rect& region, int denominator, int channels) {
  const JpegFrame& frame = coefficients.frame();
  const McuWindow window = Reconstruction::WindowOf(frame, region, denominator);
  Image image;
  if (!reconstruction.Start(frame, region, denominator, channels, image)) return {};
  for (int32_t y = window.y0; y < window.y1; ++y) {
    if (!reconstruction.Add(coefficients.Row(window, y))) return {};
  }
  const double width = region.width;
  const double height = region.height;
  return CutOut(image, {0, 0, width, height});
}

std::string Words(const Rect& rect) {
  return std::to_string(rect.x) + "," + std::to_string(rect.y) + " " + std::to_string(rect.width) + "x" +
         std::to_string(rect.height);
}

class ReconstructionTest : public testing::TestWithParam<CpuPath> {
 protected:
  void SetUp() override {
    if (GetParam() > BestCpuPath()) GTEST_SKIP() << "this machine lacks it";
    ForceCpuPath(GetParam());
  }
  void TearDown() override { ForceCpuPath(BestCpuPath()); }

  // Whole, in the corner, and in `boxes` random boxes, at both scales.
  void ExpectTheLibrarysPixels(const Bytes& bytes, int boxes, const std::string& what) {
    const Coefficients coefficients(bytes);
    ASSERT_TRUE(coefficients.is_ours()) << what;
    const int channels = coefficients.frame().components == 1 && boxes % 2 == 1 ? 1 : 3;
    for (const int denominator : {1, 2}) {
      const Picture whole = DecodeWholeAt(bytes, channels, denominator);
      const auto expect = [&](const Rect& box) {
        const std::optional<Picture> pixels = Reconstructed(reconstruction_, coefficients, box, denominator, channels);
        ASSERT_TRUE(pixels.has_value());
        EXPECT_TRUE(*pixels == CutOut(whole, box)) << what << " 1/" << denominator << " at " << Words(box);
      };
      expect({0, 0, whole.size.width, whole.size.height});
      expect({whole.size.width - 1, whole.size.height - 1, 1, 1});
      for (int i = 0; i < boxes; ++i) expect(RandomBox(random_, whole.size));
    }
  }

  std::mt19937 random_{7};
  Reconstruction reconstruction_;
};

INSTANTIATE_TEST_SUITE_P(Paths, ReconstructionTest,
                         testing::Values(CpuPath::kBaseline, CpuPath::kAvx2, CpuPath::kAvx512),
                         [](const auto& path) { return std::string(CpuPathName(path.param)); });

struct Kind {
  JpegColour colour;
  int luma_h;
  int luma_v;
};
constexpr Kind kKinds[] = {{JpegColour::kGray, 1, 1},
                           {JpegColour::kYcc, 1, 1},
                           {JpegColour::kYcc, 2, 1},
                           {JpegColour::kYcc, 1, 2},
                           {JpegColour::kYcc, 2, 2}};

Bytes Encode(const Picture& picture, const Kind& kind, int quality) {
  JpegOptions options;
  options.quality = quality;
  options.colour = kind.colour;
  options.luma_h = kind.luma_h;
  options.luma_v = kind.luma_v;
  return EncodeJpeg(picture, options);
}

int Channels(const Kind& kind) { return kind.colour == JpegColour::kGray ? 1 : 3; }

TEST_P(ReconstructionTest, PixelsOfEverySmallSizeAreTheLibrarys) {
  for (const Kind& kind : kKinds) {
    for (int size = 1; size <= 70; ++size) {
      const ImageSize wide = {size, 1 + (size * 29) % 37};
      for (const ImageSize each : {wide, ImageSize{wide.height, wide.width}}) {
        const Bytes bytes = Encode(MakePicture(each, Channels(kind), 5), kind, 1 + size * 31 % 100);
        ExpectTheLibrarysPixels(bytes, 3, std::to_string(each.width) + "x" + std::to_string(each.height));
      }
    }
  }
}

TEST_P(ReconstructionTest, PixelsOfEveryQualityAreTheLibrarys) {
  const ImageSize size = {331, 213};
  for (const Kind& kind : kKinds) {
    const Picture picture = MakePicture(size, Channels(kind), 9);
    for (int quality = 1; quality <= 100; quality += 3) {
      ExpectTheLibrarysPixels(Encode(picture, kind, quality), 8, "quality " + std::to_string(quality));
    }
  }
}

TEST_P(ReconstructionTest, PixelsOfPureNoiseAreTheLibrarys) {
  for (const Kind& kind : kKinds) {
    Picture noise = MakePicture({93, 71}, Channels(kind), 1);
    for (uint8_t& sample : noise.pixels) sample = random_() % 2 == 0 ? 0 : 255;
    for (const int quality : {1, 10, 50, 90, 100}) {
      ExpectTheLibrarysPixels(Encode(noise, kind, quality), 6, "noise " + std::to_string(quality));
    }
  }
}

// At growing amplitude the arithmetic of 16 bits fails somewhere; up to there and beyond, what is accepted is right.
TEST_P(ReconstructionTest, MadeUpCoefficientsAreTheLibrarysOrRefused) {
  int accepted = 0;
  int refused = 0;
  for (const Kind& kind : kKinds) {
    for (const int amplitude : {100, 300, 500, 768, 1023, 1500, 2500, 4000, 8000, 16000, 33000, 70000, 10000000}) {
      for (int round = 0; round < 24; ++round) {
        MadeUpJpeg made_up;
        made_up.size = {17 + round, 16};
        made_up.components = Channels(kind);
        made_up.luma_h = kind.luma_h;
        made_up.luma_v = kind.luma_v;
        const int limit = std::min(amplitude, 1023);
        made_up.quantizer = static_cast<uint16_t>(amplitude / limit);
        // From blocks of one coefficient to full ones.
        const unsigned density = 1 + static_cast<unsigned>(round) % 6 * 5;
        made_up.fill = [this, limit, density](JCOEF* block) {
          for (size_t i = 0; i < density; ++i) {
            const size_t at = random_() % (random_() % 2 == 0 ? 64 : 4);
            const auto value = static_cast<int>(random_() % static_cast<unsigned>(2 * limit + 1)) - limit;
            block[at] = static_cast<JCOEF>(random_() % 3 == 0 ? limit : value);
          }
        };
        const Bytes bytes = EncodeMadeUp(made_up);
        const Coefficients coefficients(bytes);
        ASSERT_TRUE(coefficients.is_ours());
        for (const int denominator : {1, 2}) {
          const Picture whole = DecodeWholeAt(bytes, 3, denominator);
          const auto pixels =
              Reconstructed(reconstruction_, coefficients, {0, 0, whole.size.width, whole.size.height}, denominator, 3);
          ++(pixels ? accepted : refused);
          if (pixels) {
            EXPECT_TRUE(*pixels == whole) << amplitude << " density " << density << " 1/" << denominator;
          }
          if (amplitude <= 300) {
            EXPECT_TRUE(pixels.has_value()) << amplitude << " density " << density;
          }
        }
      }
    }
  }
  EXPECT_GT(accepted, 1000);
  EXPECT_GT(refused, 500);
}

// Each coefficient alone, at both signs, just below and above what the first pass may leave.
TEST_P(ReconstructionTest, SingleCoefficientsAreTheLibrarysOrRefused) {
  for (int place = 0; place < kBlockCoefficients; ++place) {
    for (const int amplitude : {1, 1000, 3500, 4095, 4096, 4097, 5600, 8191, 8192, 16383, 16384, 32767, 32768, 50000}) {
      for (const int sign : {1, -1}) {
        MadeUpJpeg made_up;
        made_up.size = {40, 8};
        made_up.components = 1;
        made_up.quantizer = static_cast<uint16_t>(amplitude);
        made_up.fill = [place, sign](JCOEF* block) { block[place] = static_cast<JCOEF>(sign); };
        const Bytes bytes = EncodeMadeUp(made_up);
        const Coefficients coefficients(bytes);
        for (const int denominator : {1, 2}) {
          const Picture whole = DecodeWholeAt(bytes, 1, denominator);
          const auto pixels =
              Reconstructed(reconstruction_, coefficients, {0, 0, whole.size.width, whole.size.height}, denominator, 1);
          if (pixels) {
            EXPECT_TRUE(*pixels == whole) << place << ": " << sign * amplitude << " 1/" << denominator;
          }
          if (amplitude < 2000) {
            EXPECT_TRUE(pixels.has_value()) << place << ": " << sign * amplitude;
          }
        }
      }
    }
  }
}

TEST_P(ReconstructionTest, ASecondPictureOfTheSizeTakesNoMemory) {
  const Coefficients coefficients(Encode(MakePicture({200, 120}, 3, 1), kKinds[4], 80));
  ASSERT_TRUE(Reconstructed(reconstruction_, coefficients, {0, 0, 200, 120}, 1, 3).has_value());
  const size_t held = reconstruction_.capacity_bytes();
  EXPECT_GT(held, 200U * 16 * 2);
  ASSERT_TRUE(Reconstructed(reconstruction_, coefficients, {10, 10, 190, 110}, 1, 3).has_value());
  EXPECT_EQ(reconstruction_.capacity_bytes(), held);
}

TEST(ReconstructionWindowTest, HoldsTheRegionAndWhatUpsamplingLooksAt) {
  const Coefficients full(Encode(MakePicture({200, 120}, 3, 1), kKinds[1], 80));
  EXPECT_EQ(Reconstruction::WindowOf(full.frame(), {16, 8, 8, 16}, 1), (McuWindow{2, 1, 3, 3}));
  EXPECT_EQ(Reconstruction::WindowOf(full.frame(), {16, 8, 8, 16}, 2), (McuWindow{4, 2, 6, 6}));
  const Coefficients doubled(Encode(MakePicture({200, 120}, 3, 1), kKinds[4], 80));
  EXPECT_EQ(Reconstruction::WindowOf(doubled.frame(), {32, 32, 16, 16}, 1), (McuWindow{1, 1, 4, 4}));
  EXPECT_EQ(Reconstruction::WindowOf(doubled.frame(), {33, 33, 14, 14}, 1), (McuWindow{2, 2, 3, 3}));
  EXPECT_EQ(Reconstruction::WindowOf(doubled.frame(), {0, 0, 200, 120}, 1), (McuWindow{0, 0, 13, 8}));
  // Half of the luma, all of the chroma: nothing to upsample.
  EXPECT_EQ(Reconstruction::WindowOf(doubled.frame(), {16, 16, 8, 8}, 2), (McuWindow{2, 2, 3, 3}));
}

}  // namespace
}  // namespace stoker

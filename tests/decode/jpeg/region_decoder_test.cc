// Our own decoder within JpegDecoder: on every CPU path, with and without marks, what libjpeg-turbo gives.
#include "decode/jpeg/region_decoder.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <string>

#include "decode/cpu_path.h"
#include "tests/decode/jpeg_twin.h"

namespace stoker {
namespace {

// A picture that comes back to the decoder, as in a later epoch.
class Visitor {
 public:
  explicit Visitor(JpegEntropy entropy) : decoder_({.jpeg_entropy = entropy}) {}

  Decoded Decode(const Bytes& bytes, const Rect& region, JpegMarks* marks = nullptr, ImageSize at_least = {}) {
    Decoded decoded;
    DecodeRequest request = {region, Channels::kRgb, at_least};
    request.marks = marks;
    decoded.error = decoder_.Decode(bytes, request, image_, decoded.box, decoded.diagnosis);
    if (!decoded.error && at_least == ImageSize{}) decoded.picture = CutOut(image_, decoded.box);
    return decoded;
  }
  const Image& image() const { return image_; }

 private:
  Decoder decoder_;
  Image image_;
};

// Runs a check on each CPU path that this machine has.
template <class Check>
void OnEachPath(Check&& check) {
  for (int path = 0; path <= static_cast<int>(BestCpuPath()); ++path) {
    ForceCpuPath(static_cast<CpuPath>(path));
    SCOPED_TRACE(CpuPathName(static_cast<CpuPath>(path)));
    check();
  }
  ForceCpuPath(BestCpuPath());
}

std::vector<JpegOptions> OwnKinds() {
  std::vector<JpegOptions> kinds = {{.colour = JpegColour::kGray},
                                    {.colour = JpegColour::kGray, .luma_h = 2, .luma_v = 2}};
  for (const auto& [h, v] : {std::pair{1, 1}, {2, 1}, {1, 2}, {2, 2}}) {
    for (const int interval : {0, 3}) {
      for (const int quality : {30, 90}) {
        kinds.push_back({.quality = quality, .luma_h = h, .luma_v = v, .restart_interval = interval});
        kinds.push_back({.quality = quality,
                         .luma_h = h,
                         .luma_v = v,
                         .interleaved = false,
                         .restart_interval = interval,
                         .optimized = quality == 90});
      }
    }
  }
  return kinds;
}

TEST(RegionDecoder, GivesTheLibrarysPixelsInEveryEpoch) {
  OnEachPath([] {
    std::mt19937 random(5);
    Visitor own(JpegEntropy::kOwn);
    for (const JpegOptions& options : OwnKinds()) {
      for (const ImageSize size : {ImageSize{211, 187}, {64, 64}, {17, 90}, {300, 1}, {1, 1}}) {
        const int channels = options.colour == JpegColour::kGray ? 1 : 3;
        const Bytes bytes = EncodeJpeg(MakePicture(size, channels, random()), options);
        const Picture whole = DecodeWholeByTheManual(bytes, JCS_RGB);
        JpegMarks marks;
        for (int visit = 0; visit < 8; ++visit) {
          const Rect region = RandomBox(random, size);
          const Decoded decoded = own.Decode(bytes, region, visit % 4 == 3 ? nullptr : &marks);
          ASSERT_FALSE(decoded.error) << decoded.diagnosis.detail;
          EXPECT_EQ(decoded.diagnosis.jpeg_path, JpegPath::kOwn);
          ASSERT_EQ(decoded.picture, CutOut(whole, region))
              << size.width << "x" << size.height << " " << options.luma_h << "x" << options.luma_v << ", restarts "
              << options.restart_interval << ", region " << region.x << "," << region.y << " " << region.width << "x"
              << region.height << ", visit " << visit;
        }
      }
    }
  });
}

TEST(RegionDecoder, HalfScaleEqualsTheLibrarys) {
  OnEachPath([] {
    std::mt19937 random(6);
    Visitor own(JpegEntropy::kAuto), library(JpegEntropy::kLibrary);
    for (const JpegOptions& options : OwnKinds()) {
      const ImageSize size = {331, 278};
      const int channels = options.colour == JpegColour::kGray ? 1 : 3;
      const Bytes bytes = EncodeJpeg(MakePicture(size, channels, random()), options);
      for (int visit = 0; visit < 6; ++visit) {
        Rect region = RandomBox(random, size);
        region.width = std::max(region.width, std::min(8, size.width - region.x));
        region.height = std::max(region.height, std::min(8, size.height - region.y));
        const ImageSize at_least = {std::max(1, region.width / 2), std::max(1, region.height / 2)};
        if (region.width < 2 * at_least.width || region.height < 2 * at_least.height) continue;
        const Decoded ours = own.Decode(bytes, region, nullptr, at_least);
        const Decoded theirs = library.Decode(bytes, region, nullptr, at_least);
        ASSERT_FALSE(ours.error);
        ASSERT_FALSE(theirs.error);
        EXPECT_EQ(ours.diagnosis.jpeg_path, JpegPath::kOwn);
        ASSERT_EQ(ours.box.x1 - ours.box.x0, theirs.box.x1 - theirs.box.x0);
        // Every pixel that the box touches, wherever it lies in either image.
        const auto touched = [](const Image& image, const RegionBox& box) {
          const RegionBox outer = {std::floor(box.x0), std::floor(box.y0), std::ceil(box.x1), std::ceil(box.y1)};
          return CutOut(image, outer);
        };
        ASSERT_EQ(touched(own.image(), ours.box), touched(library.image(), theirs.box))
            << options.luma_h << "x" << options.luma_v << " region " << region.x << "," << region.y << " "
            << region.width << "x" << region.height;
      }
    }
  });
}

TEST(RegionDecoder, DamageGivesTheLibrarysPixelsAndWords) {
  std::mt19937 random(7);
  Visitor own(JpegEntropy::kAuto), library(JpegEntropy::kLibrary);
  int started_over = 0;
  for (const JpegOptions& options : OwnKinds()) {
    const ImageSize size = {120, 96};
    const Bytes good = EncodeJpeg(MakePicture(size, options.colour == JpegColour::kGray ? 1 : 3, random()), options);
    for (int i = 0; i < 40; ++i) {
      Bytes bytes = good;
      const size_t at = bytes.size() / 4 + random() % (3 * bytes.size() / 4);
      if (i % 4 == 0) {
        bytes.resize(at);
      } else {
        bytes[at] = i % 4 == 1 ? 0xFF : static_cast<uint8_t>(random());
      }
      // The whole picture, so that libjpeg, too, sees all that we see.
      JpegMarks marks;
      const Decoded theirs = library.Decode(bytes, {0, 0, size.width, size.height});
      for (int visit = 0; visit < 2; ++visit) {
        const Decoded ours = own.Decode(bytes, {0, 0, size.width, size.height}, &marks);
        ASSERT_EQ(ours.error, theirs.error);
        ASSERT_EQ(ours.picture, theirs.picture);
        ASSERT_EQ(ours.diagnosis.warnings, theirs.diagnosis.warnings);
        ASSERT_STREQ(ours.diagnosis.detail, theirs.diagnosis.detail);
        ASSERT_EQ(ours.diagnosis.offset_bytes, theirs.diagnosis.offset_bytes);
        if (ours.diagnosis.jpeg_path == JpegPath::kStartedOver) ++started_over;
      }
    }
  }
  EXPECT_GT(started_over, 100);
}

TEST(RegionDecoder, StaleMarksCostTimeAndNoPixel) {
  std::mt19937 random(8);
  Visitor own(JpegEntropy::kOwn);
  const ImageSize size = {160, 160};
  const Bytes first = EncodeJpeg(MakePicture(size, 3, 1), {.luma_h = 2, .luma_v = 2});
  const Bytes second = EncodeJpeg(MakePicture(size, 3, 2), {.luma_h = 2, .luma_v = 2});
  JpegMarks marks;
  ASSERT_FALSE(own.Decode(first, {0, 0, 160, 160}, &marks).error);
  ASSERT_TRUE(marks.grew());
  const std::vector<uint8_t> of_first(marks.packed().begin(), marks.packed().end());
  for (int i = 0; i < 50; ++i) {
    marks.Assign(of_first);
    const Rect region = RandomBox(random, size);
    const Decoded decoded = own.Decode(second, region, &marks);
    ASSERT_FALSE(decoded.error);
    ASSERT_EQ(decoded.picture, CutOut(DecodeWholeByTheManual(second, JCS_RGB), region));
  }
}

TEST(RegionDecoder, WhatIsTheLibrarysIsRefusedWhereOnlyOursIsAllowed) {
  const Picture picture = MakePicture({40, 40}, 3, 1);
  Visitor own(JpegEntropy::kOwn), either(JpegEntropy::kAuto), library(JpegEntropy::kLibrary);
  for (const JpegOptions& options : {JpegOptions{.progressive = true}, JpegOptions{.arithmetic = true},
                                     JpegOptions{.colour = JpegColour::kRgb}, JpegOptions{.luma_h = 4}}) {
    const Bytes bytes = EncodeJpeg(picture, options);
    EXPECT_EQ(own.Decode(bytes, {0, 0, 40, 40}).error, DecodeError::kUnsupported);
    const Decoded decoded = either.Decode(bytes, {0, 0, 40, 40});
    EXPECT_FALSE(decoded.error);
    EXPECT_EQ(decoded.diagnosis.jpeg_path, JpegPath::kLibrary);
  }
  EXPECT_EQ(library.Decode(EncodeJpeg(picture), {0, 0, 40, 40}).diagnosis.jpeg_path, JpegPath::kLibrary);
}

}  // namespace
}  // namespace stoker

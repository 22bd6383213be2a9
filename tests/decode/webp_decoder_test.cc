#include <gtest/gtest.h>
#include <webp/decode.h>

#include <cstring>
#include <string>

#include "tests/decode/decoded.h"

namespace stoker {
namespace {

// The slow twin: libwebp's simplest call.
Picture DecodeByTheLibrary(const Bytes& bytes) {
  int width = 0;
  int height = 0;
  uint8_t* const pixels = WebPDecodeRGB(bytes.data(), bytes.size(), &width, &height);
  Picture picture{{width, height}, 3, Bytes(pixels, pixels + static_cast<ptrdiff_t>(width) * height * 3)};
  WebPFree(pixels);
  return picture;
}

TEST(WebpDecoder, LosslessIsExact) {
  for (const ImageSize size : {ImageSize{61, 43}, ImageSize{1, 13}, ImageSize{13, 1}, ImageSize{1, 1}}) {
    const Picture picture = MakePicture(size, 3, 1);
    EXPECT_EQ(DecodeOnce(EncodeWebp(picture), {.strict = true}).picture, picture);
  }
}

TEST(WebpDecoder, LossyEqualsTheLibrarys) {
  for (const bool alpha : {false, true}) {
    const Bytes bytes = EncodeWebp(MakePicture({61, 43}, 3, 2), {.lossless = false, .alpha = alpha});
    EXPECT_EQ(DecodeOnce(bytes).picture, DecodeByTheLibrary(bytes));
  }
}

TEST(WebpDecoder, AlphaIsDroppedNotBlended) {
  const Picture picture = MakePicture({61, 43}, 3, 3);
  EXPECT_EQ(DecodeOnce(EncodeWebp(picture, {.alpha = true})).picture, picture);
}

TEST(WebpDecoder, RegionsEqualTheSamePartOfTheWhole) {
  const Picture picture = MakePicture({61, 43}, 3, 4);
  const Bytes bytes = EncodeWebp(picture);
  for (const Rect& box : {Rect{5, 7, 20, 10}, Rect{60, 42, 1, 1}, Rect{0, 0, 61, 1}}) {
    EXPECT_EQ(DecodeOnce(bytes, {}, box).picture, CutOut(picture, box));
    EXPECT_EQ(DecodeOnce(bytes, {}, box, Channels::kGray).picture, GrayOf(CutOut(picture, box)));
  }
}

TEST(WebpDecoder, AnimationsGiveTheirFirstFrame) {
  const Picture first = MakePicture({40, 30}, 3, 5);
  const WebpFrame frames[] = {{first, 0, 0}, {MakePicture({40, 30}, 3, 6), 0, 0}};
  EXPECT_EQ(DecodeOnce(EncodeWebpAnimation({40, 30}, frames)).picture, first);
}

TEST(WebpDecoder, AFirstFrameSmallerThanTheCanvasLiesOnBlack) {
  const Picture frame = MakePicture({20, 10}, 3, 7);
  const WebpFrame frames[] = {{frame, 8, 12}};
  const Bytes bytes = EncodeWebpAnimation({40, 30}, frames);
  Picture expected{{40, 30}, 3, Bytes(40 * 30 * 3, 0)};
  for (int y = 0; y < 10; ++y) std::memcpy(expected.at(8, 12 + y), frame.at(0, y), 20 * 3);
  Decoder decoder({});
  for (int i = 0; i < 2; ++i) EXPECT_EQ(DecodeWith(decoder, bytes).picture, expected);  // also over old pixels
}

TEST(WebpDecoder, FramesOutsideTheCanvasAreCorrupt) {
  const WebpFrame frames[] = {{MakePicture({20, 10}, 3, 8), 30, 12}};
  EXPECT_EQ(DecodeOnce(EncodeWebpAnimation({40, 30}, frames)).error, DecodeError::kCorrupt);
}

TEST(WebpDecoder, CutFilesAreErrorsTwiceTheSame) {
  const Picture picture = MakePicture({61, 43}, 3, 9);
  const WebpFrame frames[] = {{picture, 0, 0}};
  for (const Bytes& bytes :
       {EncodeWebp(picture), EncodeWebp(picture, {.lossless = false}),
        EncodeWebp(picture, {.lossless = false, .alpha = true}), EncodeWebpAnimation({61, 43}, frames)}) {
    for (size_t length = 12; length + 2 < bytes.size(); length += 64) {
      const Bytes cut(bytes.begin(), bytes.begin() + static_cast<ptrdiff_t>(length));
      const Decoded decoded = DecodeOnce(cut);
      EXPECT_EQ(decoded.error, DecodeError::kTruncated) << length << " of " << bytes.size();
      EXPECT_EQ(std::string(decoded.diagnosis.detail), "truncated after " + std::to_string(length) + " bytes");
      EXPECT_EQ(DecodeOnce(cut).error, decoded.error);
    }
  }
}

TEST(WebpDecoder, DamageIsAnError) {
  const Picture picture = MakePicture({61, 43}, 3, 10);
  Bytes bytes = EncodeWebp(picture);
  for (size_t i = 25; i < 60; ++i) bytes[i] = 0xFF;
  const Decoded decoded = DecodeOnce(bytes);
  EXPECT_EQ(decoded.error, DecodeError::kCorrupt) << decoded.diagnosis.detail;
  EXPECT_STRNE(decoded.diagnosis.detail, "");
}

TEST(WebpDecoder, BombsAreRefusedOnTheHeader) {
  Bytes bytes = EncodeWebpAnimation({40, 30}, {});
  bytes[25] = bytes[28] = 0x80;  // the canvas's sides: 32 thousand each
  EXPECT_EQ(DecodeOnce(bytes).error, DecodeError::kTooLarge);
}

}  // namespace
}  // namespace stoker

#include "decode/jpeg/sampling.h"

#include <gtest/gtest.h>

namespace stoker {
namespace {

JpegFrame FrameOf(ImageSize size, int luma_h, int luma_v) {
  JpegFrame frame;
  frame.size = size;
  frame.components = 3;
  frame.max_h = frame.component[0].h = luma_h;
  frame.max_v = frame.component[0].v = luma_v;
  return frame;
}

TEST(SamplingTest, ChromaOfATriangleFilterReachesOneSampleFurther) {
  const Sampling chroma = SamplingOf(FrameOf({100, 60}, 2, 2), {20, 21, 10, 10}, 1, 1);
  EXPECT_TRUE(chroma.fancy_x && chroma.fancy_y);
  EXPECT_EQ(chroma.size, (ImageSize{50, 30}));
  EXPECT_EQ(chroma.needed, (Rect{9, 10, 7, 6}));  // 20 looks left, 29 right; 21 down, 30 up
}

TEST(SamplingTest, TheFilterEndsAtThePicturesEdges) {
  const Sampling chroma = SamplingOf(FrameOf({99, 59}, 2, 2), {0, 0, 99, 59}, 1, 2);
  EXPECT_EQ(chroma.needed, (Rect{0, 0, 50, 30}));
}

TEST(SamplingTest, TheNarrowestPicturesAreFilteredOnlyAcrossRowsAlone) {
  EXPECT_FALSE(SamplingOf(FrameOf({4, 40}, 2, 2), {0, 0, 4, 40}, 1, 1).fancy_y);
  EXPECT_FALSE(SamplingOf(FrameOf({4, 40}, 2, 1), {0, 0, 4, 40}, 1, 1).fancy_x);
  EXPECT_TRUE(SamplingOf(FrameOf({5, 40}, 2, 1), {0, 0, 5, 40}, 1, 1).fancy_x);
  EXPECT_TRUE(SamplingOf(FrameOf({2, 40}, 1, 2), {0, 0, 2, 40}, 1, 1).fancy_y);
}

TEST(SamplingTest, HalfSizeKeepsChromaThatHasHalfTheSamplesBothWays) {
  const Sampling whole_chroma = SamplingOf(FrameOf({101, 61}, 2, 2), {0, 0, 51, 31}, 2, 1);
  EXPECT_EQ(whole_chroma.block_size, 8);
  EXPECT_EQ(whole_chroma.doubling_x, 0);
  EXPECT_EQ(whole_chroma.size, (ImageSize{51, 31}));
  const Sampling halved_chroma = SamplingOf(FrameOf({101, 61}, 2, 1), {0, 0, 51, 31}, 2, 1);
  EXPECT_EQ(halved_chroma.block_size, 4);
  EXPECT_EQ(halved_chroma.doubling_x, 1);
  EXPECT_EQ(halved_chroma.doubling_y, 0);
  EXPECT_EQ(halved_chroma.size, (ImageSize{26, 31}));
}

}  // namespace
}  // namespace stoker

#include "decode/image.h"

#include <gtest/gtest.h>

#include <cstring>

namespace stoker {
namespace {

TEST(Image, RowsAreAlignedAndPadded) {
  Image image;
  ASSERT_TRUE(image.Reset({33, 7}, 3));
  for (int y = 0; y < 7; ++y) EXPECT_EQ(reinterpret_cast<uintptr_t>(image.row(y)) % 64, 0u);
  EXPECT_GE(image.stride_bytes(), 99u);
  EXPECT_GE(image.capacity_bytes(), image.stride_bytes() * 7 + kImagePadding);
  std::memset(image.row(0), 1, image.capacity_bytes());  // all of it is ours; address sanitizers watch
  EXPECT_EQ(image.view().row(6), image.row(6));
  EXPECT_EQ(image.view().size, (ImageSize{33, 7}));
  EXPECT_EQ(image.view().channels, 3);
}

TEST(Image, KeepsItsMemoryForSmallerPictures) {
  Image image;
  ASSERT_TRUE(image.Reset({100, 100}, 3));
  const uint8_t* const pixels = image.row(0);
  const size_t capacity = image.capacity_bytes();
  ASSERT_TRUE(image.Reset({50, 120}, 1));
  EXPECT_EQ(image.row(0), pixels);
  EXPECT_EQ(image.capacity_bytes(), capacity);
  EXPECT_EQ(image.size(), (ImageSize{50, 120}));
}

TEST(Image, SaysWhereThereIsNoMemory) {
  Image image;
  ASSERT_TRUE(image.Reset({10, 10}, 3));
  EXPECT_FALSE(image.Reset({INT32_MAX, INT32_MAX}, 3));
  EXPECT_EQ(image.capacity_bytes(), 0u);
  EXPECT_TRUE(image.Reset({10, 10}, 3));
}

}  // namespace
}  // namespace stoker

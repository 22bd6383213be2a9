#include "bench/budget/picture_sizes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "loader/file_source.h"
#include "tests/loader/picture_folder.h"

namespace stoker {
namespace {

TEST(LookAtPictures, ReadsEverySizeOfASmallSet) {
  const TempFolder folder;
  WritePictures(folder, 12);
  const auto source = OpenFolder(folder.string());
  const std::vector<ImageSize> sizes = LookAtPictures(*source, LoaderOptions()).sizes;
  EXPECT_EQ(sizes.size(), 12u);
  EXPECT_THAT(sizes, testing::Contains(ImageSize{60 + 77, 50 + 143 % 70}));
}

TEST(LookAtPictures, LooksAtSomeOfALargeSet) {
  const TempFolder folder;
  WritePictures(folder, 12);
  const auto source = OpenFolder(folder.string());
  EXPECT_EQ(LookAtPictures(*source, LoaderOptions(), 4).sizes.size(), 4u);
}

TEST(LookAtPictures, PassesOverWhatIsNoPictureTooLargeOrGone) {
  const TempFolder folder;
  folder.Write("a/0.jpg", {'n', 'o'});
  folder.Write("a/1.jpg", GoodJpeg(1));
  folder.Write("a/2.jpg", Bytes(100'000));
  folder.Write("a/3.jpg", GoodJpeg(2));
  const auto source = OpenFolder(folder.string());
  LoaderOptions options;
  options.max_file_bytes = 50'000;
  std::filesystem::remove(folder.path() / "a/3.jpg");
  EXPECT_EQ(LookAtPictures(*source, options).sizes.size(), 1u);
}

TEST(LookAtPictures, SeesWhetherPicturesAreTurned) {
  const TempFolder folder;
  folder.Write("a/0.jpg", GoodJpeg(1));
  const auto upright = OpenFolder(folder.string());
  LoaderOptions options;
  options.limits.apply_exif = true;
  EXPECT_FALSE(LookAtPictures(*upright, options).turned);
  folder.Write("a/1.jpg", EncodeJpeg(MakePicture({40, 30}, 3, 1), {.app1 = MakeApp1(6)}));
  const auto source = OpenFolder(folder.string());
  EXPECT_TRUE(LookAtPictures(*source, options).turned);
  EXPECT_EQ(LookAtPictures(*source, options).sizes.back(), (ImageSize{30, 40}));
  options.limits.apply_exif = false;
  EXPECT_FALSE(LookAtPictures(*source, options).turned);
}

}  // namespace
}  // namespace stoker

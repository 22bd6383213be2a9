#include "bench/budget/worker_scratch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace stoker {
namespace {

Term Scratch(LoaderOptions options, const PictureSizes& pictures) {
  return WorkerScratch(options, CompiledRecipe(options.recipe), pictures);
}

TEST(WorkerScratch, FollowsTheLargestPicture) {
  LoaderOptions options;
  options.num_workers = 2;
  const Term term = Scratch(options, {.sizes = {{640, 480}, {4000, 3000}, {500, 375}}});
  EXPECT_TRUE(term.estimate);
  EXPECT_NEAR(term.bytes, 2 * 36e6, 2e6);
  EXPECT_THAT(term.formula, testing::HasSubstr("4000x3000"));
}

TEST(WorkerScratch, IsTwoPicturesWhereTheyAreTurnedOrMadeGray) {
  LoaderOptions options;
  options.num_workers = 1;
  const double once = Scratch(options, {.sizes = {{4000, 3000}}}).bytes;
  EXPECT_NEAR(Scratch(options, {.sizes = {{4000, 3000}}, .turned = true}).bytes, 2 * once, 1e6);
  options.recipe.channels = Channels::kGray;
  EXPECT_NEAR(Scratch(options, {.sizes = {{4000, 3000}}}).bytes, 2 * once, 1e6);
}

TEST(WorkerScratch, IsNotKnownWithoutAPicture) {
  LoaderOptions options;
  options.num_workers = 0;
  const Term term = Scratch(options, {});
  EXPECT_EQ(term.bytes, 0);
  EXPECT_THAT(term.formula, testing::HasSubstr("not known"));
}

}  // namespace
}  // namespace stoker

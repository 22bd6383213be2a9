// Counts what this whole test program allocates, by replacing the global operator new.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <new>
#include <vector>

#include "augment/augment.h"
#include "augment/plan.h"
#include "augment/recipe.h"
#include "tests/augment/oracle.h"

namespace {

std::atomic<long> allocations = 0;
std::atomic<bool> out_of_memory = false;

}  // namespace

// Not inlined: the compiler would see free meet a new-expression, and warn.
[[gnu::noinline]] void* operator new(size_t size, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  ++allocations;
  const auto align = static_cast<size_t>(alignment);
  return out_of_memory ? nullptr : std::aligned_alloc(align, (size + align - 1) / align * align);
}
[[gnu::noinline]] void* operator new(size_t size, const std::nothrow_t&) noexcept {
  ++allocations;
  return out_of_memory ? nullptr : std::malloc(size);
}
[[gnu::noinline]] void* operator new(size_t size, std::align_val_t alignment) {
  if (void* memory = operator new(size, alignment, std::nothrow)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void* operator new(size_t size) {
  if (void* memory = operator new(size, std::nothrow)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, size_t) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, size_t, std::align_val_t) noexcept { std::free(memory); }

namespace stoker {
namespace {

void ExpectNoAllocationTheSecondTime(const CompiledRecipe& recipe, uint64_t samples) {
  const oracle::Picture picture = oracle::RandomPicture(120, 300, 3, 8);
  Image image;
  oracle::CopyTo(picture, image);
  Augmenter augmenter(recipe.spec());
  std::vector<std::byte> out(recipe.spec().bytes());
  const auto run_all = [&] {
    for (uint64_t i = 0; i < samples; ++i) {
      Plan plan;
      ASSERT_EQ(MakePlan(recipe, {120, 300}, {1, 0, i}, plan), PlanError::kNone);
      const Rect& r = plan.region;
      ASSERT_TRUE(augmenter.Run(image.view(),
                                {static_cast<double>(r.x), static_cast<double>(r.y), static_cast<double>(r.x + r.width),
                                 static_cast<double>(r.y + r.height)},
                                plan, out));
    }
  };
  run_all();
  const size_t scratch = augmenter.scratch_bytes();
  EXPECT_GT(scratch, 0u);
  const long before = allocations;
  run_all();
  EXPECT_EQ(allocations, before);
  EXPECT_EQ(augmenter.scratch_bytes(), scratch);
}

TEST(Augmenter, AllocatesNothingForSizesItHasSeen) {
  ExpectNoAllocationTheSecondTime(CompiledRecipe(TrainRecipe(48, ElementType::kFloat32)), 50);
  ColorJitter jitter;
  jitter.contrast = {0.5, 1.5};
  jitter.hue = {-0.1, 0.1};
  Recipe ops;
  ops.ops = {RandomGrayscale{0.5}, Resize{{40, 40}}, RandomCrop{{32, 32}, {8, 8, 8, 8}, false, PaddingMode::kReflect},
             jitter, RandomGrayscale{0.5}};
  ExpectNoAllocationTheSecondTime(CompiledRecipe(ops), 50);
}

// What the colours and the padding need has the sample's size, whatever is drawn.
TEST(Augmenter, HoldsAllScratchAfterOneSample) {
  ColorJitter jitter;
  jitter.hue = {-0.1, 0.1};
  Recipe ops;
  ops.ops = {RandomCrop{{110, 290}, {8, 8, 8, 8}, false, PaddingMode::kReflect}, RandomGrayscale{0.5}, jitter};
  const CompiledRecipe recipe(ops);
  const oracle::Picture picture = oracle::RandomPicture(120, 300, 3, 8);
  Image image;
  oracle::CopyTo(picture, image);
  Augmenter augmenter(recipe.spec());
  std::vector<std::byte> out(recipe.spec().bytes());
  size_t scratch = 0;
  for (uint64_t i = 0; i < 30; ++i) {
    Plan plan;
    ASSERT_EQ(MakePlan(recipe, {120, 300}, {1, 0, i}, plan), PlanError::kNone);
    const Rect& r = plan.region;
    const SourceBox box{static_cast<double>(r.x), static_cast<double>(r.y), static_cast<double>(r.x + r.width),
                        static_cast<double>(r.y + r.height)};
    ASSERT_TRUE(augmenter.Run(image.view(), box, plan, out));
    if (i == 0) scratch = augmenter.scratch_bytes();
  }
  EXPECT_EQ(augmenter.scratch_bytes(), scratch);
}

TEST(Augmenter, SaysWhereThereIsNoMemoryAndGoesOnAfterwards) {
  const CompiledRecipe recipe(TrainRecipe(32, ElementType::kUint8));
  const oracle::Picture picture = oracle::RandomPicture(100, 80, 3, 9);
  Image image;
  oracle::CopyTo(picture, image);
  Augmenter augmenter(recipe.spec());
  std::vector<std::byte> out(recipe.spec().bytes());
  Plan plan;
  ASSERT_EQ(MakePlan(recipe, {100, 80}, {}, plan), PlanError::kNone);
  const Rect& r = plan.region;
  const SourceBox box{static_cast<double>(r.x), static_cast<double>(r.y), static_cast<double>(r.x + r.width),
                      static_cast<double>(r.y + r.height)};
  out_of_memory = true;
  const bool ran_without = augmenter.Run(image.view(), box, plan, out);
  out_of_memory = false;
  EXPECT_FALSE(ran_without);
  EXPECT_TRUE(augmenter.Run(image.view(), box, plan, out));
}

}  // namespace
}  // namespace stoker

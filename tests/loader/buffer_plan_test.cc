#include "loader/buffer_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "loader/error.h"
#include "loader/options.h"
#include "loader/source.h"
#include "loader/transfer_plan.h"

namespace stoker {
namespace {

// Nothing but a number of samples.
class CountedSource final : public Source {
 public:
  explicit CountedSource(uint64_t samples) : samples_(samples) {}

  uint64_t size() const noexcept override { return samples_; }
  int64_t Label(uint64_t) const noexcept override { return 0; }
  std::string Name(uint64_t) const override { return {}; }
  Extents ExtentsOf(uint64_t, const DecodeRequest*) const noexcept override { return {}; }
  bool Path(uint32_t, char*, size_t) const noexcept override { return false; }
  uint64_t TypicalBytes() const noexcept override { return 0; }
  size_t memory_bytes() const noexcept override { return 0; }

 private:
  const uint64_t samples_;
};

class BufferPlanTest : public testing::Test {
 protected:
  BufferPlanTest() {
    options_.device = "cpu";
    options_.num_workers = 1;
    options_.memory_limit_bytes = int64_t{64} << 30;
  }
  BufferPlan PlanFor(uint64_t samples) const {
    const CompiledRecipe recipe(options_.recipe);
    return PlanBuffers(options_, CountedSource(samples), PlanTransfer(options_, recipe.spec(), nullptr));
  }

  LoaderOptions options_;
};

TEST_F(BufferPlanTest, GivesTheIndexAKilobyteASampleWithinBounds) {
  EXPECT_EQ(PlanFor(10).index_bytes, size_t{1} << 20);
  EXPECT_EQ(PlanFor(100'000).index_bytes, 102'400'000u);
  EXPECT_EQ(PlanFor(1'280'000).index_bytes, 400'000'000u);
  options_.index = "some folder";
  EXPECT_EQ(PlanFor(100'000).index_bytes, 102'400'000u);
}

TEST_F(BufferPlanTest, GivesTheIndexNoMoreThanIsLeftUnasked) {
  const size_t others = PlanFor(10).host_bytes() - PlanFor(10).index_bytes;
  options_.memory_limit_bytes = 80'000'000;
  ASSERT_LT(others, 60'000'000u);
  EXPECT_EQ(PlanFor(100'000).index_bytes, 10'000'000u);
  for (const size_t left : {size_t{0}, size_t{1000}}) {
    options_.memory_limit_bytes = static_cast<int64_t>(others + left);
    EXPECT_EQ(PlanFor(100'000).index_bytes, left);
    EXPECT_NO_THROW(CheckMemory(PlanFor(100'000), options_));
  }
  options_.memory_limit_bytes = static_cast<int64_t>(others - 1);
  EXPECT_EQ(PlanFor(100'000).index_bytes, 0u);
  EXPECT_THROW(CheckMemory(PlanFor(100'000), options_), Error);
}

TEST_F(BufferPlanTest, GivesTheIndexWhatWasAskedForOrRefuses) {
  options_.index_bytes = 5'000'000;
  EXPECT_EQ(PlanFor(10).index_bytes, 5'000'000u);
  options_.memory_limit_bytes = static_cast<int64_t>(PlanFor(10).host_bytes()) - 1;
  try {
    CheckMemory(PlanFor(10), options_);
    ADD_FAILURE() << "passed";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("a row index of 5000000"));
  }
  options_.index = "off";
  EXPECT_EQ(PlanFor(10).index_bytes, 0u);
}

}  // namespace
}  // namespace stoker

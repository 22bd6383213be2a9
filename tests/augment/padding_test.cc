#include "augment/padding.h"

#include <gtest/gtest.h>

#include <vector>

namespace stoker {
namespace {

// A row of `side` pixels, padded once and, where `again` is not 0, once more.
Plan PaddedRow(PaddingMode mode, int32_t side, int32_t left, int32_t right, int32_t again = 0) {
  Plan plan;
  plan.padding_mode = mode;
  plan.unpadded = {0, 0, side, 1};
  plan.padded_once = {-left, 0, left + side + right, 1};
  plan.padded = {-left - again, 0, again + left + side + right + again, 1};
  return plan;
}

std::vector<int32_t> Columns(const Plan& plan) {
  std::vector<int32_t> columns;
  for (int32_t x = 0; x < plan.padded.width; ++x) columns.push_back(SourceColumn(plan, plan.padded.x + x));
  return columns;
}

using Indices = std::vector<int32_t>;

// What numpy 2.4's pad gives, wider than the picture too.
TEST(Padding, IsNumPys) {
  EXPECT_EQ(Columns(PaddedRow(PaddingMode::kEdge, 3, 7, 8)),
            (Indices{0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 2, 2, 2, 2, 2, 2, 2, 2}));
  EXPECT_EQ(Columns(PaddedRow(PaddingMode::kReflect, 3, 7, 8)),
            (Indices{1, 2, 1, 0, 1, 2, 1, 0, 1, 2, 1, 0, 1, 2, 1, 0, 1, 2}));
  EXPECT_EQ(Columns(PaddedRow(PaddingMode::kSymmetric, 3, 7, 8)),
            (Indices{0, 0, 1, 2, 2, 1, 0, 0, 1, 2, 2, 1, 0, 0, 1, 2, 2, 1}));
  EXPECT_EQ(Columns(PaddedRow(PaddingMode::kReflect, 2, 4, 3)), (Indices{0, 1, 0, 1, 0, 1, 0, 1, 0}));
  EXPECT_EQ(Columns(PaddedRow(PaddingMode::kSymmetric, 2, 4, 3)), (Indices{0, 1, 1, 0, 0, 1, 1, 0, 0}));
}

TEST(Padding, OfOnePixelShowsThatPixel) {
  for (const PaddingMode mode : {PaddingMode::kEdge, PaddingMode::kReflect, PaddingMode::kSymmetric}) {
    EXPECT_EQ(Columns(PaddedRow(mode, 1, 2, 2)), (Indices{0, 0, 0, 0, 0}));
  }
}

// numpy.pad of numpy.pad: the second turns at the ends of the first.
TEST(Padding, TwiceRepeatsWhatThePaddingShows) {
  EXPECT_EQ(Columns(PaddedRow(PaddingMode::kReflect, 3, 1, 2, 6)),
            (Indices{1, 0, 1, 2, 1, 0, 1, 0, 1, 2, 1, 0, 1, 2, 1, 0, 1, 0}));
  EXPECT_EQ(Columns(PaddedRow(PaddingMode::kSymmetric, 3, 1, 2, 6)),
            (Indices{1, 2, 2, 1, 0, 0, 0, 0, 1, 2, 2, 1, 1, 2, 2, 1, 0, 0}));
}

TEST(Padding, TurnsRowsAsColumns) {
  for (const PaddingMode mode : {PaddingMode::kEdge, PaddingMode::kReflect, PaddingMode::kSymmetric}) {
    const Plan across = PaddedRow(mode, 5, 9, 13, 4);
    Plan down;
    down.padding_mode = mode;
    down.unpadded = {0, 0, 1, across.unpadded.width};
    down.padded_once = {0, across.padded_once.x, 1, across.padded_once.width};
    for (int32_t i = across.padded.x; i < across.padded.x + across.padded.width; ++i) {
      EXPECT_EQ(SourceRow(down, i), SourceColumn(across, i));
    }
  }
}

}  // namespace
}  // namespace stoker

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "augment/resample_kernels.h"
#include "augment/resample_weights.h"
#include "augment/resample_weights_kernels.h"
#include "augment/resampler.h"
#include "tests/augment/oracle.h"
#include "tests/augment/targets.h"

namespace stoker {
namespace {

constexpr Interpolation kFilters[] = {Interpolation::kBilinear, Interpolation::kBicubic, Interpolation::kBox,
                                      Interpolation::kHamming, Interpolation::kLanczos};

TEST(ResampleAxis, WeightsSumToOne) {
  Scratch<double> scratch;
  for (const Interpolation filter : kFilters) {
    for (const auto& [in, out] : {std::pair{1, 9}, {9, 1}, {500, 224}, {100, 224}, {7, 8}, {65500, 224}}) {
      const ResampleAxis axis(filter, in, out);
      for (int32_t i = 0; i < out; ++i) {
        const TapRange taps = axis.Taps(i);
        ASSERT_GE(taps.first, 0);
        ASSERT_LE(taps.first + taps.count, in);
        ASSERT_LE(taps.count, axis.MaxTaps());
        std::vector<int32_t> weights(static_cast<size_t>(taps.count));
        axis.Weights(i, taps, weights, scratch);
        int64_t sum = 0;
        for (const int32_t weight : weights) sum += weight;
        EXPECT_NEAR(static_cast<double>(sum), 1 << kWeightBits, taps.count);  // each rounded by half at most
      }
    }
  }
}

TEST(ResampleAxis, TapsNeverLeaveWhatWasDecoded) {
  // A crop of 100.5 pixels that begins 0.25 into the first, of which 20 to 59 are there.
  const ResampleAxis axis(Interpolation::kBicubic, 0.25, 100.75, 40, 20, 60);
  for (int32_t i = 0; i < 40; ++i) {
    const TapRange taps = axis.Taps(i);
    EXPECT_GE(taps.first, 20);
    EXPECT_LE(taps.first + taps.count, 60);
    EXPECT_GE(taps.count, 1);
  }
}

TEST(Split, IsExact) {
  const std::vector<int32_t> weights = {1 << kWeightBits, 0, 1, -1, 2047, 2048, -2048, -2049, 4600000, -400000, 123457};
  for (int32_t leading = 0; leading < 3; ++leading) {
    std::vector<SplitPair> pairs(7);
    Split(weights, leading, pairs);
    for (int32_t tap = 0; tap < 14; ++tap) {
      const int32_t i = tap - leading;
      const bool weighted = i >= 0 && i < static_cast<int32_t>(weights.size());
      EXPECT_EQ(Join(pairs.data(), tap), weighted ? weights[static_cast<size_t>(i)] : 0);
    }
  }
}

TEST(FixedWeights, EveryTargetEqualsTheScalarTwin) {
  ForEachTarget([] {
    for (const Interpolation filter : kFilters) {
      for (const double scale : {0.01, 0.3, 1.0, 1.37, 2.9, 40.0}) {
        const double stretch = std::max(scale, 1.0);
        const auto count = static_cast<int32_t>(4 * stretch) + 1;
        for (int32_t i = 0; i < 200; ++i) {
          const PlacedFilter placed{filter, 1000 + (i + 0.5) * scale, 1.0 / stretch};
          const TapRange taps{static_cast<int32_t>(placed.center - 3 * stretch), count - i % 3};
          std::vector<int32_t> fast(static_cast<size_t>(count) + static_cast<size_t>(i) % 5), slow(fast.size());
          Scratch<double> values;
          FixedWeights(placed, taps, fast, values.Reserve(fast.size() + kWeightPadding));
          FixedWeightsScalar(placed, taps, slow, values.data());
          ASSERT_EQ(fast, slow) << "scale " << scale << ", center " << placed.center;
        }
      }
    }
  });
}

void ExpectColumnsAsTheTwin(const ColumnWeights& weights, const SourceRows& rows) {
  const size_t bytes = static_cast<size_t>(weights.width) * static_cast<size_t>(weights.channels);
  std::vector<uint8_t> fast(kRowsAtOnce * (bytes + kRowPadding)), slow(fast.size());
  FilteredRows fast_rows, slow_rows;
  for (size_t r = 0; r < kRowsAtOnce; ++r) {
    fast_rows[r] = &fast[r * (bytes + kRowPadding)];
    slow_rows[r] = &slow[r * (bytes + kRowPadding)];
  }
  FilterColumns(weights, rows, fast_rows);
  FilterColumnsScalar(weights, rows, slow_rows);
  for (size_t r = 0; r < kRowsAtOnce; ++r) {
    ASSERT_TRUE(std::equal(fast_rows[r], fast_rows[r] + bytes, slow_rows[r])) << "row " << r;
  }
}

// Every target against the twin, at widths and scales that need one, two and four loads a block, and one and two of a
// whole vector.
TEST(FilterColumns, EveryTargetEqualsTheScalarTwin) {
  ForEachTarget([] {
    ColumnWeights weights;
    for (const int32_t channels : {1, 3}) {
      for (const Interpolation filter : kFilters) {
        for (const auto& [in, out] : {std::pair{1, 1},
                                      {1, 50},
                                      {2, 1},
                                      {5, 17},
                                      {30, 224},
                                      {224, 224},
                                      {225, 224},
                                      {290, 224},
                                      {333, 97},
                                      {400, 31},
                                      {999, 64},
                                      {1000, 200},
                                      {1000, 3},
                                      {3000, 11},
                                      {65500, 2}}) {
          SCOPED_TRACE(testing::Message() << channels << " channels, " << in << " -> " << out);
          const oracle::Picture picture = oracle::RandomPicture(in, kRowsAtOnce, channels, 1);
          Image image;
          oracle::CopyTo(picture, image);
          weights.Build(ResampleAxis(filter, in, out), 0, out, 0, in, channels);
          SourceRows rows;
          for (size_t r = 0; r < kRowsAtOnce; ++r) rows[r] = image.row(static_cast<int32_t>(r));
          ExpectColumnsAsTheTwin(weights, rows);
        }
      }
    }
  });
}

// No crop has such weights; 2.1 and -1.1 are more than three signed digits of 8 bits hold.
constexpr int32_t kLargeWeight = 8808038;
const std::vector<int32_t> kLargeWeights = {kLargeWeight, (1 << kWeightBits) - kLargeWeight, 0};

TEST(FilterColumns, TakesWeightsThatNeedMoreThanThreeDigits) {
  ForEachTarget([] {
    std::vector<uint8_t> row(300 + kRowPadding);
    for (size_t i = 0; i < row.size(); ++i) row[i] = static_cast<uint8_t>(i * 67 % 200);
    ColumnWeights weights;
    weights.Build(ResampleAxis(Interpolation::kBilinear, 100, 70), 0, 70, 0, 100, 3);
    ASSERT_EQ(weights.pairs, 2u);
    for (size_t x = 0; x < 70; ++x) Split(kLargeWeights, 0, {&weights.weights[x * 2], 2});
    ArrangeColumns(weights);
    ExpectColumnsAsTheTwin(weights, {row.data(), row.data(), row.data(), row.data()});
  });
}

TEST(FilterRows, TakesWeightsThatNeedMoreThanThreeDigits) {
  ForEachTarget([] {
    constexpr size_t kBytes = 100;
    std::vector<uint8_t> source(4 * kBytes + kRowPadding);
    for (size_t i = 0; i < source.size(); ++i) source[i] = static_cast<uint8_t>(i * 67 % 200);
    const uint8_t* row = source.data();
    const std::vector<const uint8_t*> rows = {row, row + kBytes, row + 2 * kBytes, row + 3 * kBytes};
    std::vector<SplitPair> pairs(2);
    Split(kLargeWeights, 0, pairs);
    std::vector<uint8_t> fast(kBytes + kRowPadding), slow(kBytes);
    FilterRows(rows, pairs.data(), kBytes, fast.data());
    FilterRowsScalar(rows, pairs.data(), kBytes, slow.data());
    fast.resize(kBytes);
    EXPECT_EQ(fast, slow);
  });
}

TEST(ColumnWeights, RefusesTablesThatAPictureShouldNotCost) {
  ColumnWeights weights;
  EXPECT_THROW(weights.Build(ResampleAxis(Interpolation::kBilinear, 178956970, 224), 0, 224, 0, 178956970, 3),
               std::bad_alloc);
}

TEST(FilterRows, EveryTargetEqualsTheScalarTwin) {
  ForEachTarget([] {
    Scratch<double> scratch;
    for (const Interpolation filter : kFilters) {
      for (const int32_t in : {2, 4, 6, 9, 40, 300}) {
        for (const int32_t width : {1, 3, 16, 63, 64, 224}) {
          const oracle::Picture picture = oracle::RandomPicture(width, in, 3, 2);
          Image image;
          oracle::CopyTo(picture, image);
          const ResampleAxis axis(filter, in, 3);
          const TapRange taps = axis.Taps(1);
          std::vector<int32_t> weights(static_cast<size_t>(taps.count));
          axis.Weights(1, taps, weights, scratch);
          std::vector<SplitPair> pairs((weights.size() + 1) / 2);
          Split(weights, 0, pairs);
          std::vector<const uint8_t*> rows;
          for (size_t i = 0; i < 2 * pairs.size(); ++i) {
            rows.push_back(image.row(std::min(taps.first + static_cast<int32_t>(i), in - 1)));
          }
          const auto bytes = size_t{3} * static_cast<size_t>(width);
          std::vector<uint8_t> fast(bytes + kRowPadding), slow(bytes);
          FilterRows(rows, pairs.data(), bytes, fast.data());
          FilterRowsScalar(rows, pairs.data(), bytes, slow.data());
          fast.resize(bytes);
          ASSERT_EQ(fast, slow) << in << " rows of " << width;
        }
      }
    }
  });
}

Plan WholeResize(ImageSize from, ImageSize to, Interpolation interpolation) {
  Plan plan;
  plan.crop = plan.region = {0, 0, from.width, from.height};
  plan.resized = to;
  plan.window = plan.content = {0, 0, to.width, to.height};
  plan.interpolation = interpolation;
  return plan;
}

std::vector<uint8_t> Resampled(const oracle::Picture& picture, const Plan& plan) {
  Image image;
  oracle::CopyTo(picture, image);
  Resampler resampler;
  resampler.Start(image.view(), {0, 0, static_cast<double>(picture.width), static_cast<double>(picture.height)}, plan);
  std::vector<uint8_t> out;
  for (int32_t y = 0; y < plan.content.height; ++y) {
    const uint8_t* row = resampler.Next();
    out.insert(out.end(), row, row + plan.content.width * picture.channels);
  }
  return out;
}

// Both orders of passes, each pass alone, neither, thin pictures, and scales beyond any table.
TEST(Resampler, EqualsPillowsAlgorithm) {
  struct Case {
    ImageSize from, to;
  };
  for (const Case& c : {Case{{1, 1}, {1, 1}},
                        {{1, 1}, {224, 224}},
                        {{300, 200}, {224, 224}},
                        {{100, 400}, {96, 64}},
                        {{64, 64}, {64, 31}},
                        {{64, 64}, {31, 64}},
                        {{64, 64}, {64, 64}},
                        {{64, 64}, {130, 64}},
                        {{65500, 1}, {224, 224}},
                        {{1, 65500}, {50, 50}},
                        {{2000, 3}, {1, 9}},
                        {{5, 900}, {3, 2}},
                        {{37, 53}, {224, 10}},
                        {{3, 2}, {200, 300}}}) {
    for (const int32_t channels : {1, 3}) {
      for (const Interpolation filter : {Interpolation::kNearest, Interpolation::kBilinear, Interpolation::kBicubic,
                                         Interpolation::kBox, Interpolation::kHamming, Interpolation::kLanczos}) {
        const oracle::Picture picture = oracle::RandomPicture(c.from.width, c.from.height, channels, 3);
        EXPECT_EQ(Resampled(picture, WholeResize(c.from, c.to, filter)), oracle::Resize(picture, c.to, filter).pixels)
            << c.from.width << "x" << c.from.height << " -> " << c.to.width << "x" << c.to.height << ", " << channels
            << " channels, filter " << static_cast<int>(filter);
      }
    }
  }
}

// What Pillow 13 itself gives for a ramp with two edges, so that the oracle is held to something outside.
TEST(Resampler, EqualsPillowsStoredResults) {
  oracle::Picture picture(9, 1, 1);
  picture.pixels = {0, 10, 200, 255, 3, 77, 128, 129, 250};
  const auto resized = [&](int32_t width, Interpolation filter) {
    return Resampled(picture, WholeResize({9, 1}, {width, 1}, filter));
  };
  using Bytes = std::vector<uint8_t>;
  EXPECT_EQ(resized(4, Interpolation::kBilinear), (Bytes{44, 163, 83, 174}));
  EXPECT_EQ(resized(4, Interpolation::kBicubic), (Bytes{40, 171, 71, 182}));
  EXPECT_EQ(resized(4, Interpolation::kNearest), (Bytes{10, 255, 77, 129}));
  EXPECT_EQ(resized(4, Interpolation::kBox), (Bytes{5, 153, 103, 190}));
  EXPECT_EQ(resized(4, Interpolation::kHamming), (Bytes{26, 190, 79, 178}));
  EXPECT_EQ(resized(4, Interpolation::kLanczos), (Bytes{44, 174, 63, 187}));
  EXPECT_EQ(resized(13, Interpolation::kBilinear), (Bytes{0, 5, 54, 185, 234, 177, 3, 54, 97, 128, 129, 185, 250}));
  EXPECT_EQ(resized(13, Interpolation::kBicubic), (Bytes{0, 0, 44, 189, 255, 189, 3, 45, 101, 129, 122, 187, 255}));
  EXPECT_EQ(resized(13, Interpolation::kBox), (Bytes{0, 10, 10, 200, 255, 255, 3, 77, 77, 128, 129, 129, 250}));
  EXPECT_EQ(resized(13, Interpolation::kHamming), (Bytes{0, 6, 22, 199, 241, 221, 3, 67, 90, 128, 129, 179, 250}));
  EXPECT_EQ(resized(13, Interpolation::kLanczos), (Bytes{4, 0, 44, 184, 255, 182, 3, 32, 114, 127, 115, 189, 255}));
}

// A decoder that halved the picture: the box is fractional and the weights are those of the whole crop.
TEST(Resampler, FractionalBoxKeepsTheGeometry) {
  // A ramp is preserved by any symmetric filter, so every output pixel shows where it was sampled.
  oracle::Picture half(60, 8, 1);
  for (int32_t y = 0; y < 8; ++y) {
    for (int32_t x = 0; x < 60; ++x) half.pixels[half.At(x, y, 0)] = static_cast<uint8_t>(4 * x);
  }
  Image image;
  oracle::CopyTo(half, image);
  // The picture is twice as large; the crop begins at pixel 11 of it, the region at 9 lies at 4.5.
  Plan plan = WholeResize({90, 16}, {30, 8}, Interpolation::kBilinear);
  plan.crop = {11, 0, 90, 16};
  plan.region = {9, 0, 100, 16};
  Resampler resampler;
  resampler.Start(image.view(), {4.5, 0, 54.5, 8}, plan);
  const uint8_t* row = resampler.Next();
  for (int32_t x = 1; x < 29; ++x) {  // the edges see half a window
    const double center = 5.5 + (x + 0.5) * 1.5;
    EXPECT_NEAR(row[x], 4 * (center - 0.5), 1) << x;
  }
}

}  // namespace
}  // namespace stoker

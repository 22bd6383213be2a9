#include "decode/jpeg/reconstruction_kernels.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <random>
#include <string>
#include <vector>

#include "decode/jpeg/reconstruction_scalar.h"

namespace stoker {
namespace {

// Every body against the scalar one, on what no picture would hold.
class ReconstructionKernelsTest : public testing::TestWithParam<CpuPath> {
 protected:
  void SetUp() override {
    if (GetParam() > BestCpuPath()) GTEST_SKIP() << "this machine lacks it";
  }
  int Below(int n) { return static_cast<int>(random_() % static_cast<unsigned>(n)); }
  std::vector<uint8_t> RandomBytes(size_t count) {
    std::vector<uint8_t> bytes(count);
    for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(Below(5) == 0 ? Below(2) * 255 : Below(256));
    return bytes;
  }

  const ReconstructionKernels& kernels() const { return KernelsOf(GetParam()); }
  std::mt19937 random_{3};
};

INSTANTIATE_TEST_SUITE_P(Paths, ReconstructionKernelsTest,
                         testing::Values(CpuPath::kBaseline, CpuPath::kAvx2, CpuPath::kAvx512),
                         [](const auto& path) { return std::string(CpuPathName(path.param)); });

// Blocks side by side, with memory of their own for exactly the values that may be read.
struct Blocks {
  std::vector<CoefficientBlock> blocks;
  std::vector<std::vector<int16_t>> values;

  void Add(uint64_t mask, int16_t dc, std::vector<int16_t> of) {
    of.resize(kBlockCoefficients, 12345);
    values.push_back(std::move(of));
    blocks.push_back({mask & ~uint64_t{1}, values.back().data(), dc});
  }
};

TEST_P(ReconstructionKernelsTest, TransformsAreTheScalarOnes) {
  for (int round = 0; round < 20000; ++round) {
    const int amplitude = 1 << Below(16);
    const auto value = [this, amplitude] { return static_cast<int16_t>(Below(2 * amplitude + 1) - amplitude); };
    // All DC, in the corner, in the first half of the zigzag, anywhere.
    const uint64_t within = std::array<uint64_t, 4>{0, kCornerMask, 0xffffffff, ~uint64_t{0}}[Below(4)];
    Blocks row;
    const int count = 1 + Below(10);
    for (int i = 0; i < count; ++i) {
      uint64_t mask = within & random_() & (uint64_t{random_()} << 32 | random_());
      if (Below(3) == 0) mask = 0;
      std::vector<int16_t> values(static_cast<size_t>(std::popcount(mask & ~uint64_t{1})));
      for (int16_t& each : values) each = value();
      row.Add(mask, value(), std::move(values));
    }
    std::array<uint16_t, kBlockCoefficients> table;
    const int coarsest = 1 << Below(10);
    for (uint16_t& each : table) each = static_cast<uint16_t>(1 + Below(coarsest));
    Quantizers quantizers;
    quantizers.Assign(table);
    for (const bool half : {false, true}) {
      const size_t edge = half ? 4 : 8;
      const size_t width = edge * static_cast<size_t>(count);
      const size_t stride = edge * ((static_cast<size_t>(count) + kBlocksAtOnce - 1) / kBlocksAtOnce * kBlocksAtOnce);
      std::vector<uint8_t> expected(edge * stride);
      std::vector<uint8_t> samples(edge * stride + 1, 99);
      const auto scalar = half ? HalfTransformScalar : TransformScalar;
      const auto kernel = half ? kernels().half_transform : kernels().transform;
      const bool accepted = scalar(row.blocks.data(), row.blocks.size(), quantizers, expected.data(), stride);
      const bool kernel_accepted = kernel(row.blocks.data(), row.blocks.size(), quantizers, samples.data(), stride);
      // At half size absurd sums may wrap at 32 bits, in the library as well, and then look small.
      ASSERT_TRUE(kernel_accepted == accepted || (half && kernel_accepted)) << "amplitude " << amplitude;
      if (!accepted) continue;
      for (size_t y = 0; y < edge; ++y) {
        ASSERT_TRUE(std::equal(&expected[y * stride], &expected[y * stride] + width, &samples[y * stride]))
            << "row " << y << " of " << count << " blocks, amplitude " << amplitude;
      }
      ASSERT_EQ(samples.back(), 99) << "wrote behind whole groups of blocks";
    }
  }
}

TEST_P(ReconstructionKernelsTest, ColorIsTheScalarOneForEveryChroma) {
  constexpr size_t kAll = 256 * 256;
  const std::vector<uint8_t> y = RandomBytes(kAll + kKernelSlack);
  std::vector<uint8_t> cb(kAll + kKernelSlack);
  std::vector<uint8_t> cr(kAll + kKernelSlack);
  for (size_t i = 0; i < kAll; ++i) {
    cb[i] = static_cast<uint8_t>(i);
    cr[i] = static_cast<uint8_t>(i / 256);
  }
  std::vector<uint8_t> expected(3 * kAll);
  std::vector<uint8_t> rgb(3 * kAll + kKernelSlack);

  ColorScalar(y.data(), cb.data(), cr.data(), kAll, expected.data());
  kernels().color(y.data(), cb.data(), cr.data(), kAll, rgb.data());
  EXPECT_TRUE(std::equal(expected.begin(), expected.end(), rgb.begin()));
}

TEST_P(ReconstructionKernelsTest, RowsOfPixelsAreTheScalarOnes) {
  for (size_t width = 1; width < 300; ++width) {
    const size_t pixels = (width + 63) / 64 * 64;
    const std::vector<uint8_t> y = RandomBytes(pixels);
    std::vector<std::vector<uint16_t>> sums(2, std::vector<uint16_t>(pixels / 2 + 34));
    for (auto& each : sums)
      std::generate(each.begin(), each.end(), [this] { return static_cast<uint16_t>(Below(1021)); });
    Taps taps;
    for (Taps::Pixel& pixel : taps.pixel) pixel = {Below(2), Below(3) - 1, static_cast<int16_t>(4 + Below(5))};
    std::vector<uint8_t> expected(3 * width);
    std::vector<uint8_t> rgb(3 * width / 64 * 64 + 64 + kKernelSlack);
    ColorDoubledScalar(y.data(), &sums[0][1], &sums[1][1], taps, width, expected.data());
    kernels().color_doubled(y.data(), &sums[0][1], &sums[1][1], taps, width, rgb.data());
    EXPECT_TRUE(std::equal(expected.begin(), expected.end(), rgb.begin())) << width;
    GrayScalar(y.data(), width, expected.data());
    kernels().gray(y.data(), width, rgb.data());
    EXPECT_TRUE(std::equal(expected.begin(), expected.end(), rgb.begin())) << width;
  }
}

TEST_P(ReconstructionKernelsTest, MixedRowsAreTheScalarOnes) {
  for (size_t count = 1; count < 300; ++count) {
    const size_t padded = (count + 63) / 64 * 64;
    const std::vector<uint8_t> near_row = RandomBytes(padded);
    const std::vector<uint8_t> far_row = RandomBytes(padded);
    std::vector<uint16_t> expected_sums(count);
    std::vector<uint16_t> sums(padded);
    SumRowsScalar(near_row.data(), far_row.data(), count, expected_sums.data());
    kernels().sum_rows(near_row.data(), far_row.data(), count, sums.data());
    EXPECT_TRUE(std::equal(expected_sums.begin(), expected_sums.end(), sums.begin())) << count;
    std::vector<uint8_t> expected(count);
    std::vector<uint8_t> mixed(padded);
    for (const int bias : {1, 2}) {
      MixRowsScalar(near_row.data(), far_row.data(), bias, count, expected.data());
      kernels().mix_rows(near_row.data(), far_row.data(), bias, count, mixed.data());
      EXPECT_TRUE(std::equal(expected.begin(), expected.end(), mixed.begin())) << count;
    }
  }
}

}  // namespace
}  // namespace stoker

// Which element goes where, and how many threads that takes. The bits are compared with the host's in
// tests/loader/finish_launch_test.cc.
#include "transfer/finish_kernel.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <array>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <vector>

#include "transfer/cuda_finish_image.h"
#include "transfer/finish_kernel_body.h"

namespace stoker {
namespace {

FinishLaunch Of(int32_t width, int32_t height, FinishType type) {
  FinishLaunch launch;
  launch.count = 1;
  launch.width = width;
  launch.height = height;
  launch.type = type;
  launch.multiply = true;
  return launch;
}

const uint8_t* Address(uintptr_t address) { return reinterpret_cast<const uint8_t*>(address); }

TEST(FinishKernel, TakesAThreadForWhatFillsSixteenBytes) {
  FinishLaunch launch = Of(224, 224, FinishType::kFloat16);
  launch.count = 256;
  EXPECT_EQ(GridOf(launch).threads, 128);
  EXPECT_EQ(GridOf(launch).blocks, 256 * 224 * 224 / 8 / 128);
  launch.type = FinishType::kBfloat16;
  EXPECT_EQ(GridOf(launch).blocks, 256 * 224 * 224 / 8 / 128);
  launch.type = FinishType::kFloat32;
  EXPECT_EQ(GridOf(launch).blocks, 256 * 224 * 224 / 4 / 128);
}

TEST(FinishKernel, TakesAThreadForEachPixelWhereNothingLinesUp) {
  constexpr uint32_t kOneEach = 224 * 224 / 128, kEightEach = kOneEach / 8;
  FinishLaunch launch = Of(224, 224, FinishType::kFloat16);
  launch.pixels = Address(8);
  launch.out = reinterpret_cast<void*>(uintptr_t{16});
  EXPECT_EQ(GridOf(launch).blocks, kEightEach);
  launch.pixels = Address(4);
  EXPECT_EQ(GridOf(launch).blocks, kOneEach);
  launch.pixels = Address(8);
  launch.out = reinterpret_cast<void*>(uintptr_t{8});
  EXPECT_EQ(GridOf(launch).blocks, kOneEach);
  launch.out = reinterpret_cast<void*>(uintptr_t{16});
  launch.multiply = false;
  EXPECT_EQ(GridOf(launch).blocks, kOneEach);
  EXPECT_EQ(GridOf(Of(228, 1, FinishType::kFloat16)).blocks, 2);
  EXPECT_EQ(GridOf(Of(228, 1, FinishType::kFloat32)).blocks, 1);
}

TEST(FinishKernel, PutsNoTwoSamplesIntoABlock) {
  FinishLaunch launch = Of(1, 1, FinishType::kFloat32);
  launch.count = 5;
  EXPECT_EQ(GridOf(launch).blocks, 5);
  EXPECT_EQ(GridOf(Of(129, 1, FinishType::kFloat32)).blocks, 2);
  EXPECT_EQ(GridOf(Of(65535, 65535, FinishType::kFloat32)).blocks, (uint64_t{65535} * 65535 + 127) / 128);
}

TEST(FinishKernel, HasNothingToDoForNoSamples) {
  FinishLaunch launch = Of(224, 224, FinishType::kFloat32);
  launch.count = 0;
  EXPECT_EQ(GridOf(launch).blocks, 0);
  std::array<float, 4> out = {7, 7, 7, 7};
  launch.out = out.data();
  FinishOnHost(launch);
  EXPECT_EQ(out, (std::array<float, 4>{7, 7, 7, 7}));
}

// Two samples of 2 rows x 5 pixels, byte i holding i, of which the second is turned as `flips` says.
std::vector<float> Finished(int32_t channels, bool nchw, uint8_t flips) {
  std::vector<uint8_t> pixels(static_cast<size_t>(2 * 2 * 5 * channels));
  for (size_t i = 0; i < pixels.size(); ++i) pixels[i] = static_cast<uint8_t>(i);
  const std::array<uint8_t, 2> both = {0, flips};
  std::vector<float> out(pixels.size());
  FinishLaunch launch = Of(5, 2, FinishType::kFloat32);
  launch.count = 2;
  launch.channels = channels;
  launch.nchw = nchw;
  launch.multiply = false;
  launch.std[0] = launch.std[1] = launch.std[2] = 1 / 255.0f;
  launch.pixels = pixels.data();
  launch.flips = both.data();
  launch.out = out.data();
  FinishOnHost(launch);
  for (float& value : out) value = std::round(value);
  return out;
}

TEST(FinishKernel, TurnsEachSampleByItsOwnFlips) {
  const auto second = [](uint8_t flips) {
    const std::vector<float> out = Finished(1, true, flips);
    EXPECT_EQ(std::vector<float>(out.begin(), out.begin() + 10), (std::vector<float>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}));
    return std::vector<float>(out.begin() + 10, out.end());
  };
  EXPECT_EQ(second(0), (std::vector<float>{10, 11, 12, 13, 14, 15, 16, 17, 18, 19}));
  EXPECT_EQ(second(kFlipHorizontal), (std::vector<float>{14, 13, 12, 11, 10, 19, 18, 17, 16, 15}));
  EXPECT_EQ(second(kFlipVertical), (std::vector<float>{15, 16, 17, 18, 19, 10, 11, 12, 13, 14}));
  EXPECT_EQ(second(kFlipHorizontal | kFlipVertical), (std::vector<float>{19, 18, 17, 16, 15, 14, 13, 12, 11, 10}));
}

TEST(FinishKernel, LaysChannelsOutAsPlanesOrSideBySide) {
  const std::vector<float> planes = Finished(3, true, kFlipHorizontal), pixels = Finished(3, false, kFlipHorizontal);
  for (size_t sample = 0; sample < 2; ++sample) {
    for (size_t pixel = 0; pixel < 10; ++pixel) {
      const size_t from = sample == 0 ? pixel : pixel / 5 * 5 + 4 - pixel % 5;
      for (size_t c = 0; c < 3; ++c) {
        const auto value = static_cast<float>((sample * 10 + from) * 3 + c);
        EXPECT_EQ(planes[(sample * 3 + c) * 10 + pixel], value);
        EXPECT_EQ(pixels[(sample * 10 + pixel) * 3 + c], value);
      }
    }
  }
}

// What the kernel needs for float32; the two others are never run.
struct Float32Only {
  struct Half {
    using Bits = uint16_t;
    static Bits Round(float /*value*/) { return 0; }
    static uint32_t RoundPair(float /*low*/, float /*high*/) { return 0; }
  };
  using Bfloat16 = Half;
  static float ByteOf(uint32_t word, int i) { return static_cast<float>(word >> 8 * i & 255u); }
};

struct Mapped {
  explicit Mapped(size_t size) : bytes(size) {
    memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  }
  ~Mapped() {
    if (memory != MAP_FAILED) munmap(memory, bytes);
  }
  Mapped(const Mapped&) = delete;
  Mapped& operator=(const Mapped&) = delete;
  size_t bytes;
  void* memory;
};

// The first and the last sample of a batch whose bytes and elements number more than 2^32; the pages between stay
// untouched.
TEST(FinishKernel, ReachesWhatLiesBehind32Bits) {
  constexpr size_t kPixels = 64 * 64, kCount = (size_t{1} << 32) / (kPixels * 3) + 2;
  const Mapped pixels(kCount * kPixels * 3), out(kCount * kPixels * 3 * sizeof(float));
  if (pixels.memory == MAP_FAILED || out.memory == MAP_FAILED) GTEST_SKIP() << "no 20 GiB of addresses here";
  FinishLaunch launch = Of(64, 64, FinishType::kFloat32);
  launch.count = kCount;
  launch.pixels = static_cast<uint8_t*>(pixels.memory);
  launch.out = out.memory;
  launch.inverse[0] = launch.inverse[1] = launch.inverse[2] = 255;
  const FinishGrid grid = GridOf(launch);
  const uint32_t blocks = grid.blocks / static_cast<uint32_t>(kCount);
  for (const size_t sample : {size_t{0}, kCount - 1}) {
    auto* bytes = static_cast<uint8_t*>(pixels.memory) + sample * kPixels * 3;
    const auto* values = static_cast<const float*>(out.memory) + sample * kPixels * 3;
    for (size_t i = 0; i < kPixels * 3; ++i) bytes[i] = static_cast<uint8_t>(i * 7 / 3);
    for (uint32_t block = 0; block < blocks; ++block) {
      for (uint32_t thread = 0; thread < grid.threads; ++thread) {
        finish_kernel::RunThread<Float32Only>(launch, static_cast<uint32_t>(sample) * blocks + block, thread);
      }
    }
    for (size_t i = 0; i < kPixels * 3; ++i) {
      ASSERT_NEAR(values[i % 3 * kPixels + i / 3], bytes[i], 1e-3) << "byte " << i << " of sample " << sample;
    }
  }
}

// CUDA's fat binaries begin with this word; its drivers read no other.
TEST(FinishImage, IsAFatBinaryOrEmpty) {
  if (FinishImage().empty()) GTEST_SKIP() << "built without nvcc";
  uint32_t magic = 0;
  ASSERT_GE(FinishImage().size(), sizeof(magic));
  std::memcpy(&magic, FinishImage().data(), sizeof(magic));
  EXPECT_EQ(magic, 0xba55ed50u);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(FinishImage().data()) % 64, 0);
}

}  // namespace
}  // namespace stoker

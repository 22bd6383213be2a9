#include "loader/transfer_plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <functional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "augment/finish.h"
#include "augment/recipe.h"
#include "augment/spec.h"
#include "loader/error.h"
#include "tests/augment/oracle.h"
#include "transfer/finish_kernel.h"

namespace stoker {
namespace {

constexpr size_t kGuard = 64;
constexpr std::byte kUntouched{0xa5};
constexpr std::array<ElementType, 3> kElements = {ElementType::kFloat16, ElementType::kBfloat16, ElementType::kFloat32};

SampleSpec ImageNetSpec(ImageSize size, int32_t channels, ElementType element, Layout layout) {
  return {size, channels, element, layout, kImageNetMean, kImageNetStd};
}

LoaderOptions OptionsWith(std::string device, NormalizeOn normalize_on = NormalizeOn::kAuto) {
  return {.batch_size = 4, .device = std::move(device), .normalize_on = normalize_on};
}

FinishLaunch LaunchOf(const SampleSpec& spec) {
  return PlanTransfer(OptionsWith("sim"), spec, nullptr).finish.value().launch;
}

// Bytes that begin `offset` behind a multiple of 64, between guards.
class Guarded {
 public:
  Guarded(size_t size, size_t offset) : bytes_(size + 3 * kGuard, kUntouched), size_(size) {
    const auto address = reinterpret_cast<uintptr_t>(bytes_.data());
    begin_ = (kGuard - address % kGuard) + offset;
  }
  std::byte* data() { return bytes_.data() + begin_; }
  // Everything from the one guard's begin to the other's end.
  const std::vector<std::byte>& all() const { return bytes_; }
  bool guards_are_whole() const {
    const auto untouched = [](std::byte b) { return b == kUntouched; };
    const auto first = bytes_.begin() + static_cast<ptrdiff_t>(begin_);
    return std::all_of(bytes_.begin(), first, untouched) &&
           std::all_of(first + static_cast<ptrdiff_t>(size_), bytes_.end(), untouched);
  }

 private:
  std::vector<std::byte> bytes_;
  size_t size_;
  size_t begin_;
};

// A batch with one sample for each of `flips`, finished row by row as the augmenter does.
std::vector<std::byte> FinishedByHost(const SampleSpec& spec, const uint8_t* pixels,
                                      const std::vector<uint8_t>& flips) {
  Finisher finisher(spec);
  std::vector<std::byte> out(flips.size() * spec.bytes());
  for (size_t n = 0; n < flips.size(); ++n) {
    for (int32_t y = 0; y < spec.size.height; ++y) {
      const bool upside_down = (flips[n] & kFlipVertical) != 0;
      finisher.WriteRow(pixels, (flips[n] & kFlipHorizontal) != 0, upside_down ? spec.size.height - 1 - y : y,
                        out.data() + n * spec.bytes());
      pixels += spec.size.width * spec.channels;
    }
  }
  return out;
}

// Compares both on noise that lies `pixels_offset` and `out_offset` bytes behind what every load and store likes.
void ExpectEqual(const SampleSpec& spec, const std::vector<uint8_t>& flips, size_t pixels_offset, size_t out_offset) {
  const oracle::Picture noise =
      oracle::RandomPicture(spec.size.width, spec.size.height * static_cast<int32_t>(flips.size()), spec.channels, 7);
  Guarded pixels(noise.pixels.size(), pixels_offset);
  std::memcpy(pixels.data(), noise.pixels.data(), noise.pixels.size());
  const std::vector<std::byte> expected = FinishedByHost(spec, noise.pixels.data(), flips);
  Guarded out(expected.size(), out_offset);

  FinishLaunch launch = LaunchOf(spec);
  launch.count = static_cast<int64_t>(flips.size());
  launch.pixels = reinterpret_cast<const uint8_t*>(pixels.data());
  launch.flips = flips.data();
  launch.out = out.data();
  FinishOnHost(launch);
  EXPECT_TRUE(out.guards_are_whole());
  ASSERT_EQ(std::memcmp(out.data(), expected.data(), expected.size()), 0)
      << spec.size.width << " wide, " << spec.channels << " channels, " << ElementName(spec.element) << " "
      << LayoutName(spec.layout) << ", pixels at " << pixels_offset << ", out at " << out_offset;
}

void ForEachShape(int32_t width, int32_t height, const std::function<void(const SampleSpec&)>& run) {
  for (const ElementType element : kElements) {
    for (const Layout layout : {Layout::kNchw, Layout::kNhwc}) {
      for (const int32_t channels : {1, 3}) run(ImageNetSpec({width, height}, channels, element, layout));
    }
  }
}

const std::vector<uint8_t> kEveryFlip = {0, kFlipHorizontal, kFlipVertical, kFlipHorizontal | kFlipVertical};

TEST(TransferPlan, FinishesAsTheHostForEveryShapeAndFlip) {
  std::vector<int32_t> widths = {224};
  for (int32_t width = 1; width <= 40; ++width) widths.push_back(width);
  for (const int32_t width : widths) {
    ForEachShape(width, 3, [](const SampleSpec& spec) { ExpectEqual(spec, kEveryFlip, 0, 0); });
  }
}

TEST(TransferPlan, FinishesAsTheHostWhereverMemoryBegins) {
  for (const int32_t width : {8, 13, 16, 36}) {
    ForEachShape(width, 2, [](const SampleSpec& spec) {
      for (const size_t pixels_offset : {0, 1, 2, 4, 7, 8}) {
        for (size_t elements = 0; elements <= 8; ++elements) {
          ExpectEqual(spec, kEveryFlip, pixels_offset, elements * ElementBytes(spec.element));
        }
      }
    });
  }
}

TEST(TransferPlan, FinishesAsTheHostInSamplesOfManyBlocks) {
  ForEachShape(56, 61, [](const SampleSpec& spec) { ExpectEqual(spec, kEveryFlip, 0, 0); });
  ForEachShape(51, 61, [](const SampleSpec& spec) { ExpectEqual(spec, kEveryFlip, 0, 0); });
}

TEST(TransferPlan, TurnsNothingWithoutFlips) {
  const SampleSpec spec = ImageNetSpec({16, 2}, 3, ElementType::kFloat16, Layout::kNchw);
  const oracle::Picture noise = oracle::RandomPicture(16, 4, 3, 3);
  const std::vector<std::byte> expected = FinishedByHost(spec, noise.pixels.data(), {0, 0});
  Guarded out(expected.size(), 0);
  FinishLaunch launch = LaunchOf(spec);
  launch.count = 2;
  launch.pixels = noise.pixels.data();
  launch.out = out.data();
  FinishOnHost(launch);
  EXPECT_EQ(std::memcmp(out.data(), expected.data(), expected.size()), 0);
}

TEST(TransferPlan, WritesNothingForNoSamples) {
  Guarded out(64, 0);
  FinishLaunch launch = LaunchOf(ImageNetSpec({16, 2}, 3, ElementType::kFloat16, Layout::kNchw));
  launch.out = out.data();
  FinishOnHost(launch);
  EXPECT_EQ(out.all(), std::vector<std::byte>(out.all().size(), kUntouched));
}

struct Scale {
  std::array<float, 3> mean, std;
  bool multiply;
};

// Each value of a byte in each channel, by threads of one pixel and of several.
TEST(TransferPlan, FinishesAsTheHostForEveryValueMeanAndStd) {
  for (const Scale& scale :
       {Scale{kImageNetMean, kImageNetStd, true},
        {{0, 0, 0}, {1, 1, 1}, true},
        {{0.5, 0.5, 0.5}, {0.5, 0.5, 0.5}, true},
        {{0.4914f, 0.4822f, 0.4465f}, {0.2470f, 0.2435f, 0.2616f}, true},
        {{-2048, -2050, 3000}, {1, 1, 0.01f}, true},   // ties between float16, and what overflows it
        {{-256, -258, 0}, {1, 1, 1}, true},            // ties between bfloat16
        {{0, 0.3f, 0.9f}, {1e4f, 3e5f, -2e6f}, true},  // subnormal float16
        // The reciprocal overflows, is subnormal or has the other sign: the division itself.
        {{0.1f, 1e30f, -7}, {1e-39f, 3e38f, -0.3f}, false},
        {{1, 0, 0.2f}, {-1, -3, 1e-30f}, false}}) {
    for (const int32_t width : {256, 257}) {
      std::vector<uint8_t> pixels(static_cast<size_t>(width) * 3);
      for (size_t i = 0; i < pixels.size(); ++i) pixels[i] = static_cast<uint8_t>(i / 3);
      ForEachShape(width, 1, [&](SampleSpec spec) {
        if (spec.channels == 1) return;
        spec.mean = scale.mean;
        spec.std = scale.std;
        const std::vector<std::byte> expected = FinishedByHost(spec, pixels.data(), {0});
        Guarded out(expected.size(), 0);
        FinishLaunch launch = LaunchOf(spec);
        EXPECT_EQ(launch.multiply, scale.multiply);
        launch.count = 1;
        launch.pixels = pixels.data();
        launch.out = out.data();
        FinishOnHost(launch);
        ASSERT_EQ(std::memcmp(out.data(), expected.data(), expected.size()), 0)
            << "mean " << scale.mean[0] << ", " << ElementName(spec.element);
        launch.multiply = false;  // which is always allowed
        FinishOnHost(launch);
        ASSERT_EQ(std::memcmp(out.data(), expected.data(), expected.size()), 0);
      });
    }
  }
}

TEST(TransferPlan, MakesBlankWhatIsMasked) {
  const SampleSpec spec = ImageNetSpec({16, 2}, 3, ElementType::kFloat32, Layout::kNchw);
  const std::vector<uint8_t> pixels(2 * 16 * 2 * 3, 7);
  const std::vector<uint8_t> flips = {kBlank, 0};
  std::vector<float> out(2 * 16 * 2 * 3, -1);
  FinishLaunch launch = LaunchOf(spec);
  launch.count = 2;
  launch.pixels = pixels.data();
  launch.flips = flips.data();
  launch.out = out.data();
  FinishOnHost(launch);
  EXPECT_TRUE(std::all_of(out.begin(), out.begin() + 96, [](float v) { return v == 0; }));
  EXPECT_TRUE(std::none_of(out.begin() + 96, out.end(), [](float v) { return v == 0; }));
}

TEST(TransferPlan, SendsBytesWhereTheDeviceCanFinish) {
  const SampleSpec spec = ImageNetSpec({8, 8}, 3, ElementType::kFloat32, Layout::kNchw);
  const TransferPlan plan = PlanTransfer(OptionsWith("sim"), spec, nullptr);
  EXPECT_TRUE(plan.upload);
  EXPECT_EQ(plan.written.element, ElementType::kUint8);
  EXPECT_EQ(plan.written.layout, Layout::kNhwc);
  EXPECT_EQ(plan.layout.fields().size(), 5u);
  EXPECT_EQ(plan.finish.value().tensor_bytes, 4 * spec.bytes());
}

TEST(TransferPlan, SendsWhatIsAskedForElsewise) {
  const SampleSpec floats = ImageNetSpec({8, 8}, 3, ElementType::kFloat32, Layout::kNchw);
  SampleSpec bytes = floats;
  bytes.element = ElementType::kUint8;
  for (const auto& [options, spec] : {std::pair{OptionsWith("sim", NormalizeOn::kHost), floats},
                                      {OptionsWith("sim"), bytes},
                                      {OptionsWith("cpu"), floats}}) {
    const TransferPlan plan = PlanTransfer(options, spec, nullptr);
    EXPECT_EQ(plan.upload, options.device == "sim");
    EXPECT_EQ(plan.device != nullptr, options.device == "sim");
    EXPECT_FALSE(plan.finish.has_value());
    EXPECT_EQ(plan.written.bytes(), spec.bytes());
    EXPECT_EQ(plan.layout.fields().size(), 4u);
  }
}

TEST(TransferPlan, LeavesPinnedBatchesOnTheHost) {
  LoaderOptions options = OptionsWith("cpu");
  options.pin_memory_for = "sim";
  const TransferPlan plan =
      PlanTransfer(options, ImageNetSpec({8, 8}, 3, ElementType::kFloat32, Layout::kNchw), nullptr);
  EXPECT_NE(plan.device, nullptr);
  EXPECT_FALSE(plan.upload);
}

TEST(TransferPlan, RefusesToNormaliseWhereItCannot) {
  SampleSpec spec = ImageNetSpec({8, 8}, 3, ElementType::kFloat32, Layout::kNchw);
  EXPECT_THROW(PlanTransfer(OptionsWith("cpu", NormalizeOn::kDevice), spec, nullptr), std::invalid_argument);
  spec.element = ElementType::kUint8;
  EXPECT_THROW(PlanTransfer(OptionsWith("sim", NormalizeOn::kDevice), spec, nullptr), std::invalid_argument);
}

TEST(TransferPlan, SaysWhichDeviceIsNotToBeHad) {
  try {
    PlanTransfer(OptionsWith("cuda:999"), ImageNetSpec({8, 8}, 3, ElementType::kFloat32, Layout::kNchw), nullptr);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), LoadError::kNoDevice);
    EXPECT_NE(std::string(error.what()).find("device \"cuda:999\""), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace stoker

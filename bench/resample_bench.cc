// Random resized crops of one picture to 224 x 224 float32 NCHW against what OpenCV needs for the same boxes:
// cv::resize (INTER_AREA where it reduces, INTER_LINEAR where it enlarges) and a loop that normalises and lays out.
#include <benchmark/benchmark.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <opencv2/core.hpp>
#include <opencv2/imgproc.hpp>
#include <vector>

#include "augment/augment.h"
#include "augment/plan.h"
#include "augment/recipe.h"
#include "decode/image.h"

namespace stoker {
namespace {

constexpr int32_t kSide = 224;
constexpr int kBoxes = 128;

// A picture of ImageNet's most common size with detail of every size, and the boxes of one epoch's draws.
struct Fixture {
  explicit Fixture(Interpolation interpolation) : recipe(TrainRecipe(kSide, ElementType::kFloat32, interpolation)) {
    const ImageSize size{500, 375};
    if (!image.Reset(size, 3)) std::abort();
    uint32_t noise = 1;
    for (int32_t y = 0; y < size.height; ++y) {
      for (int32_t x = 0; x < 3 * size.width; ++x) {
        noise = noise * 1664525u + 1013904223u;
        image.row(y)[x] = static_cast<uint8_t>((x * 3 + y * 5) / 16 + static_cast<int32_t>(noise >> 27));
      }
    }
    plans.resize(kBoxes);
    for (size_t i = 0; i < plans.size(); ++i) {
      if (MakePlan(recipe, size, {1, 0, i}, plans[i]) != PlanError::kNone) std::abort();
    }
    out.resize(recipe.spec().bytes());
  }

  CompiledRecipe recipe;
  Image image;
  std::vector<Plan> plans;
  std::vector<std::byte> out;
};

void RunStoker(benchmark::State& state, Interpolation interpolation) {
  Fixture fixture(interpolation);
  Augmenter augmenter(fixture.recipe.spec());
  size_t i = 0;
  while (state.KeepRunning()) {
    const Plan& plan = fixture.plans[i++ % kBoxes];
    // The whole picture is the view; its region lies where it lies in the picture.
    const Rect& region = plan.region;
    const SourceBox box{static_cast<double>(region.x), static_cast<double>(region.y),
                        static_cast<double>(region.x + region.width), static_cast<double>(region.y + region.height)};
    if (!augmenter.Run(fixture.image.view(), box, plan, fixture.out)) state.SkipWithError("no memory");
    benchmark::DoNotOptimize(fixture.out.data());
    benchmark::ClobberMemory();
  }
}

// `antialias`: INTER_AREA where the box is larger than the output.
void RunOpenCv(benchmark::State& state, bool antialias) {
  cv::setNumThreads(1);
  Fixture fixture(Interpolation::kBilinear);
  const SampleSpec& spec = fixture.recipe.spec();
  const cv::Mat picture(fixture.image.size().height, fixture.image.size().width, CV_8UC3, fixture.image.row(0),
                        fixture.image.stride_bytes());
  auto* out = reinterpret_cast<float*>(fixture.out.data());
  cv::Mat resized;
  size_t i = 0;
  while (state.KeepRunning()) {
    const Plan& plan = fixture.plans[i++ % kBoxes];
    const bool reduces = plan.crop.width > kSide || plan.crop.height > kSide;
    cv::resize(picture(cv::Rect(plan.crop.x, plan.crop.y, plan.crop.width, plan.crop.height)), resized,
               cv::Size(kSide, kSide), 0, 0, antialias && reduces ? cv::INTER_AREA : cv::INTER_LINEAR);
    for (int y = 0; y < kSide; ++y) {
      const uint8_t* row = resized.ptr(y);
      for (size_t c = 0; c < 3; ++c) {
        const float scale = 1.0f / (255.0f * spec.std[c]);
        const float shift = -spec.mean[c] / spec.std[c];
        float* to = out + (c * kSide + static_cast<size_t>(y)) * kSide;
        for (int x = 0; x < kSide; ++x) {
          const int from = plan.flip_horizontal ? kSide - 1 - x : x;
          to[x] = static_cast<float>(row[3 * static_cast<size_t>(from) + c]) * scale + shift;
        }
      }
    }
    benchmark::DoNotOptimize(out);
    benchmark::ClobberMemory();
  }
}

BENCHMARK_CAPTURE(RunStoker, bilinear, Interpolation::kBilinear)->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(RunStoker, bicubic, Interpolation::kBicubic)->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(RunOpenCv, area, true)->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(RunOpenCv, linear_without_antialias, false)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace stoker

BENCHMARK_MAIN();

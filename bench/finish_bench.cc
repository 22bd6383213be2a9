// 224 x 224 bytes to a normalised sample: every element type and layout, against OpenCV's calls for the same job
// (convertTo, subtract, multiply, split) and against a plain loop.
#include <benchmark/benchmark.h>

#include <cstddef>
#include <cstdint>
#include <opencv2/core.hpp>
#include <vector>

#include "augment/finish.h"
#include "augment/recipe.h"
#include "augment/spec.h"

namespace stoker {
namespace {

constexpr int32_t kSide = 224;

SampleSpec ImageNetSpec(ElementType element, Layout layout) {
  SampleSpec spec;
  spec.size = {kSide, kSide};
  spec.element = element;
  spec.layout = layout;
  spec.mean = kImageNetMean;
  spec.std = kImageNetStd;
  return spec;
}

std::vector<uint8_t> Pixels() {
  std::vector<uint8_t> pixels(static_cast<size_t>(kSide) * kSide * 3);
  for (size_t i = 0; i < pixels.size(); ++i) pixels[i] = static_cast<uint8_t>(i * 2654435761u >> 13);
  return pixels;
}

void RunStoker(benchmark::State& state, ElementType element, Layout layout, bool reverse) {
  const SampleSpec spec = ImageNetSpec(element, layout);
  const std::vector<uint8_t> pixels = Pixels();
  std::vector<std::byte> out(spec.bytes());
  Finisher finisher(spec);
  while (state.KeepRunning()) {
    for (int32_t y = 0; y < kSide; ++y) {
      finisher.WriteRow(&pixels[static_cast<size_t>(y) * kSide * 3], reverse, y, out.data());
    }
    benchmark::DoNotOptimize(out.data());
    benchmark::ClobberMemory();
  }
}

void RunLoop(benchmark::State& state) {
  std::vector<uint8_t> pixels = Pixels();
  std::vector<float> out(pixels.size());
  while (state.KeepRunning()) {
    for (size_t c = 0; c < 3; ++c) {
      const float scale = 1.0f / (255.0f * kImageNetStd[c]);
      const float shift = -kImageNetMean[c] / kImageNetStd[c];
      float* plane = &out[c * kSide * kSide];
      for (size_t i = 0; i < static_cast<size_t>(kSide) * kSide; ++i) {
        plane[i] = static_cast<float>(pixels[3 * i + c]) * scale + shift;
      }
    }
    benchmark::DoNotOptimize(out.data());
    benchmark::ClobberMemory();
  }
}

void RunOpenCv(benchmark::State& state) {
  cv::setNumThreads(1);
  std::vector<uint8_t> pixels = Pixels();
  const cv::Mat picture(kSide, kSide, CV_8UC3, pixels.data());
  std::vector<float> out(pixels.size());
  std::vector<cv::Mat> planes;
  planes.reserve(3);
  for (size_t c = 0; c < 3; ++c) planes.emplace_back(kSide, kSide, CV_32F, &out[c * kSide * kSide]);
  const cv::Scalar mean(kImageNetMean[0], kImageNetMean[1], kImageNetMean[2]);
  const cv::Scalar inverse(1 / kImageNetStd[0], 1 / kImageNetStd[1], 1 / kImageNetStd[2]);
  cv::Mat floats;
  while (state.KeepRunning()) {
    picture.convertTo(floats, CV_32F, 1.0 / 255);
    cv::subtract(floats, mean, floats);
    cv::multiply(floats, inverse, floats);
    cv::split(floats, planes);
    benchmark::DoNotOptimize(out.data());
    benchmark::ClobberMemory();
  }
}

#define STOKER_FINISH(name, ...) BENCHMARK_CAPTURE(RunStoker, name, __VA_ARGS__)->Unit(benchmark::kMicrosecond)
STOKER_FINISH(float32_nchw, ElementType::kFloat32, Layout::kNchw, false);
STOKER_FINISH(float32_nchw_flipped, ElementType::kFloat32, Layout::kNchw, true);
STOKER_FINISH(float32_nhwc, ElementType::kFloat32, Layout::kNhwc, false);
STOKER_FINISH(float16_nchw, ElementType::kFloat16, Layout::kNchw, false);
STOKER_FINISH(bfloat16_nchw, ElementType::kBfloat16, Layout::kNchw, false);
STOKER_FINISH(uint8_nchw, ElementType::kUint8, Layout::kNchw, false);
STOKER_FINISH(uint8_nhwc, ElementType::kUint8, Layout::kNhwc, false);
#undef STOKER_FINISH
BENCHMARK(RunLoop)->Name("plain_loop/float32_nchw")->Unit(benchmark::kMicrosecond);
BENCHMARK(RunOpenCv)->Name("OpenCV/float32_nchw")->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace stoker

BENCHMARK_MAIN();

#include "augment/finish.h"

#include <algorithm>
#include <memory>
#include <vector>

#include "augment/recipe.h"
#include "bench/gpu/parts.h"
#include "transfer/finish_kernel.h"

namespace stoker {
namespace {

using nlohmann::json;

constexpr int kSide = 224;
constexpr size_t kPictureBytes = size_t{kSide} * kSide * 3;
constexpr int kBlocks = 4;     // used in turns, so that none is in the device's cache when its turn comes
constexpr int kLaunches = 20;  // a round

struct Kind {
  FinishType type;
  const char* name;
  size_t element_bytes;
};
constexpr Kind kKinds[] = {
    {FinishType::kFloat16, "float16", 2}, {FinishType::kBfloat16, "bfloat16", 2}, {FinishType::kFloat32, "float32", 4}};

// ImageNet's normalisation, as the loader launches it.
FinishLaunch LaunchOf(FinishType type, bool nchw, int64_t count) {
  FinishLaunch launch;
  launch.count = count;
  launch.height = launch.width = kSide;
  launch.type = type;
  launch.nchw = nchw;
  launch.multiply = true;
  for (size_t c = 0; c < 3; ++c) {
    const Reciprocal reciprocal = ReciprocalOf(kImageNetMean[c], kImageNetStd[c]);
    launch.mean[c] = kImageNetMean[c];
    launch.std[c] = kImageNetStd[c];
    launch.inverse[c] = reciprocal.inverse;
    launch.inverse_rest[c] = reciprocal.inverse_rest;
    launch.multiply = launch.multiply && reciprocal.exact;
  }
  return launch;
}

// Pixels and turns of a few batches on the device, and room for what becomes of them.
class Batches {
 public:
  Batches(const Gpu& gpu, int64_t count)
      : gpu_(gpu), count_(static_cast<size_t>(count)), stream_(gpu.device), host_(InputBytes(), Pages::kSmall) {
    for (size_t i = 0; i < InputBytes(); ++i) {
      host_.data()[i] = static_cast<std::byte>(i < count_ * kPictureBytes ? i * 31 + i / 4099 : i % 4);
    }
    for (int i = 0; i < kBlocks; ++i) {
      inputs_.push_back(std::make_unique<DeviceMemory>(gpu.device, InputBytes()));
      outputs_.push_back(std::make_unique<DeviceMemory>(gpu.device, count_ * kPictureBytes * sizeof(float)));
      Check(gpu.device.CopyToDeviceAsync(inputs_.back()->get(), host_.data(), InputBytes(), stream_), "copy pixels");
    }
    stream_.Synchronize();
  }

  // The device's seconds for one launch.
  double Seconds(FinishLaunch launch) const {
    const auto submit = [&] {
      for (size_t i = 0; i < kLaunches; ++i) Submit(launch, i % kBlocks);
    };
    return DeviceSeconds(gpu_.device, stream_, submit) / kLaunches;
  }

  // Whether the device writes what the host writes.
  bool SameAsHost(FinishLaunch launch, size_t element_bytes) const {
    const size_t bytes = static_cast<size_t>(launch.count) * kPictureBytes * element_bytes;
    Submit(launch, 0);
    std::vector<std::byte> seen(bytes), expected(bytes);
    Check(gpu_.device.CopyToHostAsync(seen.data(), outputs_[0]->get(), bytes, stream_), "copy to the host");
    stream_.Synchronize();
    Point(launch, host_.data(), expected.data());
    FinishOnHost(launch);
    return seen == expected;
  }

 private:
  size_t InputBytes() const { return count_ * (kPictureBytes + 1); }
  void Point(FinishLaunch& launch, const std::byte* in, std::byte* out) const {
    launch.pixels = reinterpret_cast<const uint8_t*>(in);
    launch.flips = launch.pixels + count_ * kPictureBytes;
    launch.out = out;
  }
  void Submit(FinishLaunch& launch, size_t block) const {
    Point(launch, inputs_[block]->get(), outputs_[block]->get());
    Check(gpu_.device.FinishAsync(launch, stream_), "launch the kernel");
  }

  const Gpu& gpu_;
  const size_t count_;
  Stream stream_;
  HostMemory host_;
  std::vector<std::unique_ptr<DeviceMemory>> inputs_, outputs_;
};

}  // namespace

json MeasureFinish(const Gpu& gpu) {
  if (!gpu.device.can_finish()) {
    throw CannotRun("this build has no kernel for the device: CMake found no nvcc of version 12 or newer");
  }
  const Batches batches(gpu, gpu.effort.batch);
  json kernels = json::array();
  bool same = true;
  for (const Kind& kind : kKinds) {
    for (const bool nchw : {true, false}) {
      const FinishLaunch launch = LaunchOf(kind.type, nchw, gpu.effort.batch);
      same = same &&
             batches.SameAsHost(LaunchOf(kind.type, nchw, std::min<int64_t>(gpu.effort.batch, 16)), kind.element_bytes);
      (void)batches.Seconds(launch);  // warms up
      kernels.push_back({{"type", kind.name},
                         {"layout", nchw ? "nchw" : "nhwc"},
                         {"bytes", static_cast<size_t>(gpu.effort.batch) * kPictureBytes * (1 + kind.element_bytes)},
                         {"seconds", Rounds(gpu.effort.rounds, [&] { return batches.Seconds(launch); })}});
    }
  }
  return {{"pictures", gpu.effort.batch},
          {"memory_bytes_per_second", gpu.driver.MemoryBytesPerSecond(gpu.device.info().cuda_index)},
          {"kernels", kernels},
          {"checks", {{"the kernel writes the host's bits", same}}}};
}

}  // namespace stoker

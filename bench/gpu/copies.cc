#include <algorithm>
#include <cmath>
#include <vector>

#include "bench/gpu/parts.h"

namespace stoker {
namespace {

using nlohmann::json;

constexpr size_t kSmallestBytes = size_t{64} << 10;

// Copies from one host block to one device block, many in a row where they are small.
class Copies {
 public:
  Copies(const Gpu& gpu, const HostMemory& host)
      : gpu_(gpu), host_(host), target_(gpu.device, host.size()), stream_(gpu.device), beside_(gpu.device) {}

  // A round's seconds for one copy, each ended by the device's clock.
  double OnDevice(size_t bytes) const {
    const int copies = CopiesOf(bytes);
    return DeviceSeconds(gpu_.device, stream_, [&] { Submit(bytes, copies); }) / copies;
  }

  // The same from the caller's side, until the last byte has arrived: for copies that the driver stages.
  double OnHost(size_t bytes) const {
    const int copies = CopiesOf(bytes);
    return HostSeconds([&] {
             Submit(bytes, copies);
             stream_.Synchronize();
           }) /
           copies;
  }

  // While another stream runs the kernel from before the first copy until after the last one.
  double BesideKernel(size_t bytes, const KernelLoad& kernel, double kernel_seconds, bool& outlasted) const {
    const double alone = OnDevice(bytes) * CopiesOf(bytes);
    // A stream holds about a thousand launches before a call waits, which would be before the copies are submitted.
    const auto launches = static_cast<int64_t>(std::clamp(std::ceil(3 * alone / kernel_seconds) + 8, 8.0, 800.0));
    kernel.Submit(beside_, launches);
    const Event kernels_done(gpu_.device);
    kernels_done.Record(beside_);
    const double seconds = OnDevice(bytes);
    outlasted = outlasted && gpu_.device.QueryEvent(kernels_done) == DeviceError::kNotReady;
    beside_.Synchronize();
    return seconds;
  }

  void SubmitOne(size_t bytes) const { Submit(bytes, 1); }
  const Stream& stream() const { return stream_; }
  const Stream& beside() const { return beside_; }

 private:
  int CopiesOf(size_t bytes) const {
    return static_cast<int>(std::clamp<size_t>(gpu_.effort.bytes_per_round / bytes, 1, 256));
  }
  void Submit(size_t bytes, int copies) const {
    for (int i = 0; i < copies; ++i) {
      Check(gpu_.device.CopyToDeviceAsync(target_.get(), host_.data(), bytes, stream_), "copy to the device");
    }
  }

  const Gpu& gpu_;
  const HostMemory& host_;
  DeviceMemory target_;
  Stream stream_, beside_;
};

template <typename Measure>
json BySize(const Gpu& gpu, const Measure& measure) {
  json sizes = json::array();
  for (size_t bytes = kSmallestBytes; bytes <= gpu.effort.largest_bytes; bytes *= 4) {
    (void)measure(bytes);  // warms caches and clocks up
    sizes.push_back({{"bytes", bytes}, {"seconds", Rounds(gpu.effort.rounds, [&] { return measure(bytes); })}});
  }
  return sizes;
}

json Smallest(const Gpu& gpu, const Copies& copies) {
  const auto until_done = [&] {
    copies.SubmitOne(1);
    copies.stream().Synchronize();
  };
  const int calls = gpu.effort.calls / 10;
  const auto host = [&] {
    return HostSeconds([&] {
             for (int i = 0; i < calls; ++i) until_done();
           }) /
           calls;
  };
  const auto device = [&] { return DeviceSeconds(gpu.device, copies.stream(), [&] { copies.SubmitOne(1); }); };
  return {{"until_done_seconds", Rounds(gpu.effort.rounds, host)},
          {"device_seconds", Rounds(gpu.effort.rounds, device)}};
}

}  // namespace

json MeasureCopies(const Gpu& gpu) {
  json results = {{"notes", json::array()}};
  HostMemory pageable(gpu.effort.largest_bytes, Pages::kHuge), pinned(gpu.effort.largest_bytes, Pages::kHuge);
  pageable.FaultIn();
  pinned.FaultIn();
  pinned.Register(gpu.device);
  const Copies from_pageable(gpu, pageable), from_pinned(gpu, pinned);
  results["pinned"] = BySize(gpu, [&](size_t bytes) { return from_pinned.OnDevice(bytes); });
  results["pageable"] = BySize(gpu, [&](size_t bytes) { return from_pageable.OnHost(bytes); });
  results["smallest"] = Smallest(gpu, from_pinned);
  if (const auto kernel = KernelLoad::Make(gpu.device, gpu.effort.batch)) {
    const double kernel_seconds = kernel->Seconds(from_pinned.beside());
    bool outlasted = true;
    results["beside_a_kernel"] =
        BySize(gpu, [&](size_t bytes) { return from_pinned.BesideKernel(bytes, *kernel, kernel_seconds, outlasted); });
    if (!outlasted) results["notes"].push_back("beside a kernel: in some rounds the kernels ended before the copies");
  } else {
    results["notes"].push_back("beside a kernel: this build has no kernel for the device");
  }
  return results;
}

}  // namespace stoker

#include "transfer/prefetcher.h"

#include <algorithm>
#include <chrono>
#include <stdexcept>
#include <vector>

#include "bench/gpu/parts.h"
#include "transfer/ring.h"

namespace stoker {
namespace {

using nlohmann::json;

constexpr uint32_t kHostSlots = 4;
constexpr uint32_t kDeviceSlots = 3;
constexpr size_t kBatchBytes = size_t{256} * 224 * 224 * 3;  // a batch of uint8, a multiple of any page

// The transfer stage alone: slots become full for nothing, so that copies can be back to back.
class FreeBatches {
 public:
  FreeBatches(Device& device, size_t batch_bytes)
      : ring_(
            SlotLayout(1, {{"pixels", batch_bytes}, {"label", sizeof(int64_t)}}), kHostSlots, SteadyNow, [] {}, true),
        prefetcher_(device, ring_, {.device_slots = kDeviceSlots}, SteadyNow) {
    prefetcher_.Start();
  }

  bool pinned() const { return prefetcher_.pinned(); }

  // Takes so many and gives them back at once; the seconds for one.
  double SecondsPerBatch(int batches) {
    const double seconds = HostSeconds([&] {
      for (int taken = 0, leased = 0; taken < batches; ++taken) {
        while (leased < batches && FillOne()) ++leased;
        std::error_code error;
        DeviceSlot* const slot = prefetcher_.Take(kHostStream, std::chrono::seconds(20), error);
        Check(error, "take a batch");
        if (slot == nullptr) throw std::runtime_error("no batch came within 20 s");
        prefetcher_.Return(*slot, kHostStream);
      }
    });
    return seconds / batches;
  }

 private:
  bool FillOne() {
    BatchSlot* const slot = ring_.TryLease(1);
    if (slot != nullptr) SampleSlot(*slot, 0).Release();
    return slot != nullptr;
  }

  Ring ring_;
  Prefetcher prefetcher_;
};

double BareSecondsPerCopy(const Gpu& gpu, const HostMemory& from, const DeviceMemory& to, const Stream& stream,
                          int copies) {
  return DeviceSeconds(gpu.device, stream,
                       [&] {
                         for (int i = 0; i < copies; ++i) {
                           Check(gpu.device.CopyToDeviceAsync(to.get(), from.data(), from.size(), stream), "copy");
                         }
                       }) /
         copies;
}

}  // namespace

json MeasurePrefetcher(const Gpu& gpu) {
  const size_t batch_bytes = std::min(kBatchBytes, gpu.effort.largest_bytes);
  const int batches = gpu.effort.calls / 20;
  FreeBatches stage(gpu.device, batch_bytes);
  HostMemory host(batch_bytes, Pages::kHuge);
  host.FaultIn();
  host.Register(gpu.device);
  const DeviceMemory target(gpu.device, host.size());
  const Stream stream(gpu.device);
  (void)stage.SecondsPerBatch(kHostSlots);
  std::vector<double> staged, bare;
  for (int i = 0; i < gpu.effort.rounds; ++i) {
    staged.push_back(stage.SecondsPerBatch(batches));
    bare.push_back(BareSecondsPerCopy(gpu, host, target, stream, batches));
  }
  return {{"batch_bytes", batch_bytes},
          {"batch_seconds", staged},
          {"bare_copy_seconds", bare},
          {"checks", {{"the ring's memory is page-locked", stage.pinned()}}}};
}

}  // namespace stoker

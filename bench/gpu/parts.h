// The parts of gpu_bench. Each measures one thing on the device and returns it as JSON: lists of rounds, times in
// seconds, sizes in bytes; `checks` holds facts that must be true, `notes` what could not be measured and why.
// They throw CannotRun where it cannot be measured here at all, anything else where something fails.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <string>

#include "bench/gpu/gpu.h"
#include "transfer/finish_launch.h"

namespace stoker {

struct CannotRun : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Copies to the device by size: page-locked, pageable, beside a kernel; and the smallest one.
nlohmann::json MeasureCopies(const Gpu& gpu);
// What single calls cost the thread that makes them, and the table of the driver beside the driver itself.
nlohmann::json MeasureCalls(const Gpu& gpu);
// Page-locking by size, and whether an io_uring takes such memory.
nlohmann::json MeasureHostMemory(const Gpu& gpu);
// The finishing kernel against the bandwidth of the device's memory, and its bits against the host's.
nlohmann::json MeasureFinish(const Gpu& gpu);
// Ring and prefetcher with batches that cost nothing to fill, against bare copies of the same size.
nlohmann::json MeasurePrefetcher(const Gpu& gpu);
// The loader: its batches against those on the CPU, and how long a device stands still that is slower than it.
nlohmann::json MeasureLoader(const Gpu& gpu);
// From nothing to the first batch. For a process that has not used CUDA yet.
nlohmann::json MeasureColdStart(const std::string& photos);

// The first GPU. Throws CannotRun where there is none.
std::unique_ptr<Device> OpenGpu();

// The kernel on memory of its own, as work for a stream.
class KernelLoad {
 public:
  // Pictures of 224 x 224 x 3 become float32 in planes. Nothing where this build has no kernel for the device.
  static std::optional<KernelLoad> Make(Device& device, int64_t pictures);

  void Submit(StreamHandle stream, int64_t launches = 1) const;
  // The device's time for one launch.
  double Seconds(const Stream& stream) const;

 private:
  KernelLoad(Device& device, int64_t pictures);

  Device* device_;
  std::unique_ptr<DeviceMemory> pixels_, out_;
  FinishLaunch launch_;
};

}  // namespace stoker

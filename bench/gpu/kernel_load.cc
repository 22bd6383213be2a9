#include "bench/gpu/parts.h"

namespace stoker {
namespace {

constexpr int kPictureSide = 224;
constexpr int kChannels = 3;

}  // namespace

std::optional<KernelLoad> KernelLoad::Make(Device& device, int64_t pictures) {
  if (!device.can_finish()) return std::nullopt;
  return KernelLoad(device, pictures);
}

KernelLoad::KernelLoad(Device& device, int64_t pictures) : device_(&device) {
  const size_t elements = static_cast<size_t>(pictures) * kPictureSide * kPictureSide * kChannels;
  pixels_ = std::make_unique<DeviceMemory>(device, elements);
  out_ = std::make_unique<DeviceMemory>(device, elements * sizeof(float));
  launch_.pixels = reinterpret_cast<const uint8_t*>(pixels_->get());
  launch_.out = out_->get();
  launch_.count = pictures;
  launch_.height = launch_.width = kPictureSide;
  launch_.channels = kChannels;
}

void KernelLoad::Submit(StreamHandle stream, int64_t launches) const {
  for (int64_t i = 0; i < launches; ++i) Check(device_->FinishAsync(launch_, stream), "launch the kernel");
}

double KernelLoad::Seconds(const Stream& stream) const {
  constexpr int kLaunches = 4;
  Submit(stream, 1);  // the first one also loads the code
  return DeviceSeconds(*device_, stream, [&] { Submit(stream, kLaunches); }) / kLaunches;
}

}  // namespace stoker

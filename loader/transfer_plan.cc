#include "loader/transfer_plan.h"

#include <fmt/format.h>

#include <stdexcept>
#include <system_error>
#include <utility>
#include <vector>

#include "augment/finish.h"
#include "loader/error.h"
#include "transfer/open_device.h"

namespace stoker {
namespace {

std::unique_ptr<Device> Open(const char* option, const std::string& name) {
  try {
    return OpenDevice(name);
  } catch (const std::runtime_error& error) {  // system_error among them
    throw Error(LoadError::kNoDevice, "start", "", -1, fmt::format("{} \"{}\": {}", option, name, error.what()));
  }
}

FinishType TypeOf(ElementType element) {
  switch (element) {
    case ElementType::kFloat16:
      return FinishType::kFloat16;
    case ElementType::kBfloat16:
      return FinishType::kBfloat16;
    case ElementType::kUint8:
    case ElementType::kFloat32:
      break;
  }
  return FinishType::kFloat32;
}

DeviceFinish FinishFor(const SampleSpec& spec, int32_t batch_size) {
  DeviceFinish finish;
  FinishLaunch& launch = finish.launch;
  launch.height = spec.size.height;
  launch.width = spec.size.width;
  launch.channels = spec.channels;
  launch.type = TypeOf(spec.element);
  launch.nchw = spec.layout == Layout::kNchw;
  launch.multiply = true;
  for (size_t c = 0; c < static_cast<size_t>(spec.channels); ++c) {
    const Reciprocal reciprocal = ReciprocalOf(spec.mean[c], spec.std[c]);
    launch.mean[c] = spec.mean[c];
    launch.std[c] = spec.std[c];
    launch.inverse[c] = reciprocal.inverse;
    launch.inverse_rest[c] = reciprocal.inverse_rest;
    launch.multiply = launch.multiply && reciprocal.exact;
  }
  finish.tensor_bytes = static_cast<size_t>(batch_size) * spec.bytes();
  finish.flips_field = kFlips;
  return finish;
}

// A quarter to half of the bytes cross the bus, and the workers convert none: where the device can finish, it is always
// the smaller cost.
bool FinishesOnDevice(const LoaderOptions& options, const SampleSpec& spec, const Device& device) {
  const bool possible = device.can_finish() && spec.element != ElementType::kUint8;
  if (options.normalize_on == NormalizeOn::kDevice && !possible) {
    throw std::invalid_argument(
        spec.element == ElementType::kUint8
            ? "normalize_on = device: batches of uint8 are not normalised; choose a float dtype"
            : fmt::format("normalize_on = device: this build has no kernel for {}; build with nvcc, or choose auto",
                          device.info().name));
  }
  return possible && options.normalize_on != NormalizeOn::kHost;
}

}  // namespace

TransferPlan PlanTransfer(const LoaderOptions& options, const SampleSpec& spec, std::unique_ptr<Device> given) {
  const bool pin_only = !options.pin_memory_for.empty();
  std::unique_ptr<Device> device = std::move(given);
  if (device == nullptr) {
    device = pin_only ? Open("pin_memory_for", options.pin_memory_for) : Open("device", options.device);
  }
  const bool upload = device != nullptr && !pin_only;
  SampleSpec written = spec;
  std::optional<DeviceFinish> finish;
  if (upload && FinishesOnDevice(options, spec, *device)) {
    finish = FinishFor(spec, options.batch_size);
    written.element = ElementType::kUint8;
    written.layout = Layout::kNhwc;
  } else if (options.normalize_on == NormalizeOn::kDevice && !upload) {
    throw std::invalid_argument("normalize_on = device: batches stay in host memory; choose a device, or auto");
  }
  std::vector<SlotField> fields = {{"pixels", written.bytes(), 0},
                                   {"label", sizeof(int64_t), 0},
                                   {"id", sizeof(int64_t), 0},
                                   {"valid", sizeof(uint8_t), 0}};
  if (finish) fields.push_back({"flips", sizeof(uint8_t), 0});
  return {std::move(device), upload, written, SlotLayout(static_cast<uint32_t>(options.batch_size), std::move(fields)),
          finish};
}

}  // namespace stoker

// Where batches go, and so what the workers write.
#pragma once

#include <memory>
#include <optional>

#include "augment/spec.h"
#include "loader/options.h"
#include "transfer/device.h"
#include "transfer/device_slot.h"
#include "transfer/slot.h"

namespace stoker {

// The fields of a batch's slot, in order. kFlips is there only where the device finishes.
enum SlotFieldIndex : size_t { kPixels, kLabel, kId, kValid, kFlips };

// How a loader's batches reach its caller.
struct TransferPlan {
  std::unique_ptr<Device> device;  // null: host memory that no device knows
  // True: batches are lent in the device's memory; false: in host memory, page-locked for the device where there is
  // one.
  bool upload = false;
  SampleSpec written;  // what the workers write, sample by sample
  SlotLayout layout;
  std::optional<DeviceFinish> finish;  // the device turns that into what was asked for
};

// Opens the device that the options name, or takes `given` for it. Throws Error (with the device's words) where it is
// not to be had, std::invalid_argument where options contradict each other.
TransferPlan PlanTransfer(const LoaderOptions& options, const SampleSpec& spec, std::unique_ptr<Device> given);

}  // namespace stoker

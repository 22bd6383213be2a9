// A batch in device memory, and all that it takes to bring one there.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "transfer/device.h"
#include "transfer/finish_launch.h"
#include "transfer/slot.h"

namespace stoker {

// How uploaded bytes become the tensor, where the device does that.
struct DeviceFinish {
  FinishLaunch launch;      // pointers and count are filled in for each batch
  size_t tensor_bytes = 0;  // of a whole batch
  size_t flips_field = 0;   // the field of the layout that holds FinishLaunch::flips
};

struct DeviceSlot {
  // The host slot's bytes, at the layout's offsets.
  std::byte* upload = nullptr;
  // What the consumer reads: the first field of `upload`, or the block of its own that a kernel writes.
  std::byte* tensor = nullptr;
  std::vector<std::byte> small_fields;  // every field but the first in host memory, from the second field's offset on
  int64_t batch = -1;
  uint32_t count = 0;
  BatchStamps stamps;

  EventHandle copy_start = 0;  // recorded on the copy stream around the copy
  EventHandle uploaded = 0;
  EventHandle ready = 0;  // recorded behind the kernel; `uploaded` itself where there is none
  // Recorded on the consumer's stream around its wait for `ready`, and when the batch came back. Two of each in turns:
  // a batch may be lent and come back again before the times of the one before are read.
  struct Wait {
    EventHandle begin = 0, end = 0;
  };
  std::array<Wait, 2> waits = {};
  std::array<EventHandle, 2> released = {};
  uint64_t releases = 0;
  std::vector<StreamHandle> readers;  // that were made to wait for the batch: its release waits for what they do
  EventHandle latest_release = 0;     // that no upload has waited for yet; 0: none
  EventHandle upload_waited_for = 0;  // of the latest upload; 0: nothing

  uint64_t lends = 0;           // to a stream
  int64_t lent_batch = -1;      // the latest one's
  uint64_t measured_lends = 0;  // those whose wait was read
  int64_t freed_ns = 0;         // it came back
  int64_t freed_by_batch = -1;
  int64_t copied_ns = 0;  // its latest copy was seen to be complete
  int64_t issued_ns = 0;
  bool copied = true;  // its latest copy was seen to be complete and the stamps are final
};

// Allocates and frees what slots consist of. Threads: the caller is attached to the device.
class DeviceSlots {
 public:
  explicit DeviceSlots(Device& device) : device_(device) {}

  // Throws std::system_error naming the bytes wanted and free where the device has no room.
  void Allocate(uint32_t slots, const SlotLayout& layout, const std::optional<DeviceFinish>& finish);
  // No work may be left on them. Errors are ignored: nothing can be reported to anybody, and a driver that is going
  // away has freed everything itself.
  void Free() noexcept;

  const std::vector<std::unique_ptr<DeviceSlot>>& slots() const noexcept { return slots_; }

 private:
  void AllocateOne(DeviceSlot& slot, const SlotLayout& layout, const std::optional<DeviceFinish>& finish);
  std::byte* Memory(size_t bytes);

  Device& device_;
  std::vector<std::unique_ptr<DeviceSlot>> slots_;
};

}  // namespace stoker

// What the driver is told to bring batches to the device, and what it tells of how long that took.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <system_error>
#include <vector>

#include "transfer/device.h"
#include "transfer/device_slot.h"
#include "transfer/ring.h"

namespace stoker {

// Events order everything on the device: the copy stream waits for the consumer's release of the device slot; the
// finishing kernel, where there is one, on a stream of its own, so that the next copy runs beside it, for the upload;
// the consumer's stream for the tensor.
// Threads: none of its own; every function wants the calling thread attached, and but for Lend one thread at a time.
// Owns the device slots, the streams, the events and the registration of the ring's memory; device and ring outlive it.
class Uploader {
 public:
  // Allocates the device slots and tries to page-lock the ring's memory. Throws std::system_error naming the bytes
  // wanted where the device has no room.
  Uploader(Device& device, Ring& ring, uint32_t device_slots, const std::optional<DeviceFinish>& finish);
  ~Uploader();
  Uploader(const Uploader&) = delete;
  Uploader& operator=(const Uploader&) = delete;

  const std::vector<std::unique_ptr<DeviceSlot>>& slots() const noexcept { return slots_.slots(); }
  // False where the host memory could not be page-locked: copies are then staged by the driver.
  bool pinned() const noexcept { return pinned_; }

  // Submits the copy of a full host slot to `target`, and the kernel behind it.
  std::error_code Upload(const BatchSlot& host, DeviceSlot& target) noexcept;
  // How that went, in nanoseconds of the device's clock. kNotReady while it runs.
  struct Times {
    int64_t copy_ns = 0;
    // From the release of the slot's previous batch to the copy's start; -1 where no stream released it.
    int64_t since_release_ns = -1;
  };
  std::error_code TimesOf(const DeviceSlot& target, Times& times) noexcept;

  // Makes work submitted to `consumer` from now on wait for the batch. `lend` numbers the slot's lends.
  std::error_code Lend(const DeviceSlot& slot, uint64_t lend, StreamHandle consumer) noexcept;
  // How long the consumer's stream stood still for that; 0 where that is not known.
  int64_t WaitOf(const DeviceSlot& slot, uint64_t lend) noexcept;
  // The slot's next upload waits for the work that its readers were given so far; from now on it has none.
  std::error_code Release(DeviceSlot& slot) noexcept;

  // Blocks until no work uses the memory any more, for no longer than `limit`; false where it still does. To be called
  // before the end: taking memory from under a copy is worse than giving it up.
  bool WaitUntilIdle(std::chrono::nanoseconds limit) noexcept;
  // Gives up all that is still in use, the ring's memory too.
  void Abandon() noexcept;

 private:
  void Allocate(uint32_t device_slots);
  void Free() noexcept;

  Device& device_;
  Ring& ring_;
  const std::optional<DeviceFinish> finish_;
  DeviceSlots slots_;
  StreamHandle copy_stream_ = 0;
  StreamHandle finish_stream_ = 0;
  std::array<EventHandle, 2> drained_ = {};  // recorded behind the last work on each stream
  bool pinned_ = false;
  bool abandoned_ = false;
};

}  // namespace stoker

// The last stretch: full batches to the caller, in host slots or through a device, and back again.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <system_error>

#include "loader/batch.h"
#include "loader/stall_log.h"
#include "loader/transfer_plan.h"
#include "transfer/device.h"
#include "transfer/pinned_lender.h"
#include "transfer/prefetcher.h"
#include "transfer/ring.h"

namespace stoker {

// The slots and, where there is a device, the copies into it. Shared by the loader and the batches that the caller
// still holds, so that a batch may outlive its loader.
// Threads: thread-safe.
class Delivery {
 public:
  // Throws Error, saying what was wanted, where the device has no room.
  Delivery(TransferPlan transfer, uint32_t host_slots, uint32_t device_slots, NowFn now, std::function<void()> on_free);

  Ring& ring() noexcept { return ring_; }
  Prefetcher* prefetcher() noexcept { return prefetcher_.get(); }
  Device* device() noexcept { return device_.get(); }
  // False where a device is to copy from host memory that could not be page-locked.
  bool pinned() const noexcept;

  void Start();
  // Wakes the takers for good and ends the prefetcher; batches may still come back.
  void Stop();

  // The next batch in order, or nothing where the timeout passed or a copy failed.
  Delivered Take(StreamHandle stream, std::chrono::nanoseconds timeout, std::error_code& error);
  void Return(const Delivered& batch, StreamHandle stream);
  BatchStamps StampsOf(const Delivered& batch) const;

  // Tells `log`, which counts this delivery's batches from `first_batch`, what has happened on the device since the
  // last call.
  void LogCopies(StallLog& log, int64_t first_batch = 0);

  // Batches that are full and wait for the caller.
  uint32_t ready() const;
  uint32_t held_by_caller() const;
  uint32_t slots_for_caller() const;

  // Makes work submitted to `stream` from now on wait until the batch is there, and its release for that work.
  std::error_code WaitOn(const Delivered& batch, StreamHandle stream);

  // Host bytes of a field of a batch: the device's own copy for all but the first one.
  const std::byte* HostField(const Delivered& batch, size_t field) const noexcept;
  // Where a field lies in the memory that the consumer reads: the device's, where there is one.
  const std::byte* Field(const Delivered& batch, size_t field) const noexcept;

 private:
  const NowFn now_;
  std::unique_ptr<Device> device_;
  Ring ring_;
  // At most one of the two. After what they work with: destroyed first.
  std::unique_ptr<Prefetcher> prefetcher_;
  std::unique_ptr<PinnedLender> lender_;
};

}  // namespace stoker

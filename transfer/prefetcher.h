// Copies full host slots to the device ahead of the consumer, one asynchronous copy a batch.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "transfer/clock.h"
#include "transfer/device.h"
#include "transfer/device_slot.h"
#include "transfer/fixed_queue.h"
#include "transfer/mutex.h"
#include "transfer/ring.h"

namespace stoker {

// Takes full slots from the ring in order and uploads each to a free device slot. Events order everything on the
// device: the copy stream waits for the consumer's release of the device slot, the finishing kernel (where there is
// one, on a stream of its own, so that the next copy runs beside it) for the upload, the consumer's stream for the
// tensor. A host slot goes back to the ring when its copy has completed, not when it was issued. In steady state
// nothing is allocated, registered or created, and the host waits for no stream. Threads: one *prefetcher* thread, made
// by Start, joined by the destructor; it alone issues copies and kernels and records releases. The public functions are
// the caller's and thread-safe; of them only Take calls the driver. Owns the device slots, the streams and the events;
// the device and the ring outlive it.
class Prefetcher {
 public:
  struct Options {
    uint32_t device_slots = 2;
    std::optional<DeviceFinish> finish = {};
    // A copy that takes longer has failed: a device that fell off the bus never says so.
    std::chrono::nanoseconds copy_deadline = std::chrono::seconds(30);
  };

  // Allocates the device slots and tries to page-lock the ring's memory. Throws std::system_error naming the bytes
  // wanted where the device has no room.
  Prefetcher(Device& device, Ring& ring, Options options, NowFn now);
  // Waits for the work that still uses its memory, up to the deadline; after that it gives memory up on purpose, the
  // ring's too: taking it from under a copy is worse.
  ~Prefetcher();
  Prefetcher(const Prefetcher&) = delete;
  Prefetcher& operator=(const Prefetcher&) = delete;

  void Start();
  // Ends the thread; batches may still come back, none is handed out any more.
  void Stop() EXCLUDES(mutex_);

  // The next batch in order, ready for work submitted to `consumer` from now on (kHostStream: its copy and kernel are
  // done). Null when the `timeout` passed or the device failed (`error`).
  DeviceSlot* Take(StreamHandle consumer, std::chrono::nanoseconds timeout, std::error_code& error) EXCLUDES(mutex_);
  // Makes work submitted to `stream` from now on wait for a taken batch.
  std::error_code WaitOn(const DeviceSlot& slot, StreamHandle stream) noexcept;

  // Gives a batch back: the next copy into it waits for what `consumer` has been given to do until the prefetcher
  // thread comes to it, which is at once. Calls no driver, so any thread may do it at any time.
  void Return(DeviceSlot& slot, StreamHandle consumer) EXCLUDES(mutex_);

  // The stamps of a taken batch; copy_end_ns is 0 while its copy was not seen to be complete.
  BatchStamps StampsOf(const DeviceSlot& slot) const EXCLUDES(mutex_);

  // A copy that ended, for who was handed the batch before it did.
  struct CopyTimes {
    int64_t batch = -1;
    int64_t start_ns = 0;
    int64_t end_ns = 0;
  };
  // The next of those not asked for yet, in order; false where there is none.
  bool TakeCopied(CopyTimes& copied) EXCLUDES(mutex_);
  // How long consumers' streams have stood still for batches, on the device's own clock, since this was last asked.
  int64_t TakeDeviceStallNs() EXCLUDES(mutex_);

  uint32_t device_slots() const noexcept { return static_cast<uint32_t>(slots_.slots().size()); }
  uint32_t held_by_caller() const EXCLUDES(mutex_);
  // False where the host memory could not be page-locked: copies are then staged by the driver.
  bool pinned() const noexcept { return pinned_; }
  Device& device() const noexcept { return device_; }

 private:
  struct Upload {
    BatchSlot* host = nullptr;
    DeviceSlot* target = nullptr;
  };
  struct Returned {
    DeviceSlot* slot = nullptr;
    StreamHandle consumer = kHostStream;
  };

  void Allocate();
  void Free() noexcept;
  bool WaitUntilIdle() noexcept;
  void Run() EXCLUDES(mutex_);
  void RecordReturned() EXCLUDES(mutex_);
  DeviceSlot* TakeFree() EXCLUDES(mutex_);
  void Issue(BatchSlot& host, DeviceSlot& target) EXCLUDES(mutex_);
  std::error_code Submit(const BatchSlot& host, const DeviceSlot& target) noexcept;
  bool FinishIfDone(const Upload& upload) EXCLUDES(mutex_);
  int64_t WaitOfLastLend(DeviceSlot& slot) noexcept;
  void Changed() EXCLUDES(mutex_);
  void Fail(std::error_code error) EXCLUDES(mutex_);
  bool stopped() const EXCLUDES(mutex_);

  Device& device_;
  Ring& ring_;
  const Options options_;
  const NowFn now_;
  DeviceSlots slots_;
  StreamHandle copy_stream_ = 0;
  StreamHandle finish_stream_ = 0;
  std::array<EventHandle, 2> drained_ = {};  // recorded behind the last work on each stream
  bool pinned_ = false;
  FixedQueue<Upload> in_flight_;  // prefetcher thread only

  mutable Mutex mutex_;
  CondVar changed_;
  uint64_t changes_ GUARDED_BY(mutex_) = 0;  // counts what the prefetcher thread should look at
  std::vector<DeviceSlot*> free_ GUARDED_BY(mutex_);
  FixedQueue<Returned> returned_ GUARDED_BY(mutex_);
  FixedQueue<DeviceSlot*> uploading_ GUARDED_BY(mutex_);  // issued, in order, not yet taken
  uint32_t held_ GUARDED_BY(mutex_) = 0;
  FixedQueue<CopyTimes> copied_ GUARDED_BY(mutex_);  // of the latest copies
  int64_t device_stall_ns_ GUARDED_BY(mutex_) = 0;
  std::error_code error_ GUARDED_BY(mutex_);
  bool stop_ GUARDED_BY(mutex_) = false;

  std::thread thread_;
};

}  // namespace stoker

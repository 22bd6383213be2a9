// Copies full host slots to the device ahead of the consumer, one asynchronous copy a batch.
#pragma once

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
#include "transfer/uploader.h"

namespace stoker {

// Takes full slots from the ring in order and has each uploaded to a free device slot.
// A host slot goes back to the ring when its copy has completed, not when it was issued.
// In steady state nothing is allocated, registered or created, and the host waits for no stream.
// Threads: one *prefetcher* thread, made by Start, joined by the destructor; it alone has copies and kernels issued and
// releases recorded. The public functions are the caller's and thread-safe; of them only Take and WaitOn call the
// driver. The device and the ring outlive it.
class Prefetcher {
 public:
  struct Options {
    uint32_t device_slots = 2;
    std::optional<DeviceFinish> finish = {};
    // A copy that takes longer has failed: a device that fell off the bus never says so.
    std::chrono::nanoseconds copy_deadline = std::chrono::seconds(30);
  };

  // Throws std::system_error, as Uploader does.
  Prefetcher(Device& device, Ring& ring, const Options& options, NowFn now);
  // Waits for the work that still uses its memory, up to the deadline; after that it gives memory up on purpose, the
  // ring's too.
  ~Prefetcher();
  Prefetcher(const Prefetcher&) = delete;
  Prefetcher& operator=(const Prefetcher&) = delete;

  void Start();
  // Ends the thread; batches may still come back, none is handed out any more.
  void Stop() EXCLUDES(mutex_);
  // One round of what the thread does, for who drives it without one, attached to the device: false where nothing could
  // be issued.
  bool Step() EXCLUDES(mutex_);

  // The next batch in order, ready for work submitted to `consumer` from now on (kHostStream: its copy and kernel are
  // done). Null when the `timeout` passed or the device failed (`error`).
  DeviceSlot* Take(StreamHandle consumer, std::chrono::nanoseconds timeout, std::error_code& error) EXCLUDES(mutex_);
  // Makes work submitted to `stream` from now on wait for a taken batch, and the batch's release for that work.
  std::error_code WaitOn(DeviceSlot& slot, StreamHandle stream) EXCLUDES(mutex_);

  // Gives a batch back: the next copy into it waits for what `consumer`, and every stream of WaitOn, has been given to
  // do until the prefetcher thread comes to it, which is at once. Calls no driver, so any thread may do it at any time.
  void Return(DeviceSlot& slot, StreamHandle consumer) EXCLUDES(mutex_);

  // The stamps of a taken batch; copy_end_ns is 0 while its copy was not seen to be complete.
  BatchStamps StampsOf(const DeviceSlot& slot) const EXCLUDES(mutex_);

  // A copy that ended, for who was handed the batch before it did.
  struct Copied {
    int64_t batch = -1;
    BatchStamps stamps;
    bool released_by_stream = false;  // device_slot_ns is when the device was done with device_slot_batch
  };
  // The next of those not asked for yet, in order; false where there is none.
  bool TakeCopied(Copied& copied) EXCLUDES(mutex_);
  // How long consumers' streams have stood still for batches, on the device's own clock, since this was last asked.
  int64_t TakeDeviceStallNs() EXCLUDES(mutex_);

  uint32_t device_slots() const noexcept { return static_cast<uint32_t>(uploader_->slots().size()); }
  // Batches on their way or on the device, not yet taken.
  uint32_t waiting() const EXCLUDES(mutex_);
  uint32_t held_by_caller() const EXCLUDES(mutex_);
  bool pinned() const noexcept { return uploader_->pinned(); }
  Device& device() const noexcept { return device_; }

 private:
  struct InFlight {
    BatchSlot* host = nullptr;
    DeviceSlot* target = nullptr;
  };

  void Run() EXCLUDES(mutex_);
  void RecordReturned() EXCLUDES(mutex_);
  DeviceSlot* TakeFree() EXCLUDES(mutex_);
  void Issue(BatchSlot& host, DeviceSlot& target) EXCLUDES(mutex_);
  bool FinishIfDone(const InFlight& upload) EXCLUDES(mutex_);
  int64_t WaitOfLastLend(DeviceSlot& slot) EXCLUDES(mutex_);
  void Changed() EXCLUDES(mutex_);
  void Fail(std::error_code error) EXCLUDES(mutex_);
  bool stopped() const EXCLUDES(mutex_);

  Device& device_;
  Ring& ring_;
  const Options options_;
  const NowFn now_;
  std::optional<Uploader> uploader_;
  FixedQueue<InFlight> in_flight_;  // prefetcher thread only, as is the next
  DeviceSlot* target_ = nullptr;    // free, for the next upload

  mutable Mutex mutex_;
  CondVar changed_;
  uint64_t changes_ GUARDED_BY(mutex_) = 0;  // counts what the prefetcher thread should look at
  std::vector<DeviceSlot*> free_ GUARDED_BY(mutex_);
  FixedQueue<DeviceSlot*> returned_ GUARDED_BY(mutex_);
  FixedQueue<DeviceSlot*> uploading_ GUARDED_BY(mutex_);  // issued, in order, not yet taken
  uint32_t held_ GUARDED_BY(mutex_) = 0;
  FixedQueue<Copied> copied_ GUARDED_BY(mutex_);  // the latest ones
  int64_t device_stall_ns_ GUARDED_BY(mutex_) = 0;
  std::error_code error_ GUARDED_BY(mutex_);
  bool stop_ GUARDED_BY(mutex_) = false;

  std::thread thread_;
};

}  // namespace stoker

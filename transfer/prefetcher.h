// Copies full host slots to the device ahead of the consumer, one asynchronous copy a batch.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <system_error>
#include <thread>
#include <vector>

#include "transfer/clock.h"
#include "transfer/device.h"
#include "transfer/fixed_queue.h"
#include "transfer/mutex.h"
#include "transfer/ring.h"

namespace stoker {

// One batch in device memory, and the host's copy of its small fields.
struct DeviceSlot {
  void* memory = nullptr;
  std::vector<std::byte> small_fields;  // every field but the first, at the layout's offsets less the second field's
  int64_t batch = -1;
  uint32_t count = 0;
  BatchStamps stamps;
  EventHandle copy_start = 0;  // recorded on the copy stream around the copy
  EventHandle uploaded = 0;
  EventHandle released = 0;  // recorded on the consumer's stream when the batch came back
  int64_t freed_ns = 0;
  int64_t freed_by_batch = -1;
  bool copied = true;  // its latest copy was seen to be complete and the stamps are final
};

// Takes full slots from the ring in order and uploads each to a free device slot. Events order everything on the
// device: the copy stream waits for the consumer's release of the device slot, the consumer's stream for the upload.
// A host slot goes back to the ring when its copy has completed, not when it was issued.
// Threads: one *prefetcher* thread, made by Start, joined by the destructor; it alone issues copies. The public
// functions are the caller's and thread-safe. Owns the device slots, the copy stream and the events; the device and the
// ring outlive it.
class Prefetcher {
 public:
  // Allocates the device slots and tries to page-lock the ring's memory. Throws std::system_error naming the bytes
  // wanted where the device has no room.
  Prefetcher(Device& device, Ring& ring, uint32_t device_slots, NowFn now);
  ~Prefetcher();
  Prefetcher(const Prefetcher&) = delete;
  Prefetcher& operator=(const Prefetcher&) = delete;

  void Start();
  // Ends the thread; batches may still come back, none is handed out any more.
  void Stop() EXCLUDES(mutex_);

  // The next batch in order, ready for work submitted to `consumer` from now on (kHostStream: the host may read it now,
  // so this waits for the copy). Null when the `timeout` passed or a copy failed (`error`).
  DeviceSlot* Take(StreamHandle consumer, std::chrono::nanoseconds timeout, std::error_code& error) EXCLUDES(mutex_);

  // Gives a batch back. Work on `consumer` submitted so far may still read it; the next copy into it waits for that.
  void Return(DeviceSlot& slot, StreamHandle consumer) EXCLUDES(mutex_);

  // The stamps of a taken batch; copy_end_ns is 0 while its copy was not seen to be complete.
  BatchStamps StampsOf(const DeviceSlot& slot) const EXCLUDES(mutex_);

  uint32_t device_slots() const noexcept { return static_cast<uint32_t>(slots_.size()); }
  uint32_t held_by_caller() const EXCLUDES(mutex_);
  // False where the host memory could not be page-locked: copies are then staged by the driver.
  bool pinned() const noexcept { return pinned_; }
  Device& device() const noexcept { return device_; }

 private:
  struct Upload {
    BatchSlot* host = nullptr;
    DeviceSlot* target = nullptr;
  };

  void Allocate(uint32_t device_slots) EXCLUDES(mutex_);
  void Free() noexcept;
  void Run();
  DeviceSlot* TakeFree(bool wait) EXCLUDES(mutex_);
  void Issue(BatchSlot& host, DeviceSlot& target);
  void Finish(Upload upload);
  void Fail(std::error_code error) EXCLUDES(mutex_);
  bool stopped() const EXCLUDES(mutex_);

  Device& device_;
  Ring& ring_;
  const NowFn now_;
  std::vector<std::unique_ptr<DeviceSlot>> slots_;
  StreamHandle copy_stream_ = 0;
  bool pinned_ = false;
  FixedQueue<Upload> in_flight_;  // prefetcher thread only

  mutable Mutex mutex_;
  CondVar changed_;
  std::vector<DeviceSlot*> free_ GUARDED_BY(mutex_);
  FixedQueue<DeviceSlot*> uploading_ GUARDED_BY(mutex_);  // issued, in order, not yet taken
  uint32_t held_ GUARDED_BY(mutex_) = 0;
  std::error_code error_ GUARDED_BY(mutex_);
  bool stop_ GUARDED_BY(mutex_) = false;

  std::thread thread_;
};

}  // namespace stoker

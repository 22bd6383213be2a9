// Host slots lent in page-locked memory, for a caller that copies them to a device itself.
#pragma once

#include <chrono>
#include <thread>
#include <vector>

#include "transfer/clock.h"
#include "transfer/device.h"
#include "transfer/fixed_queue.h"
#include "transfer/mutex.h"
#include "transfer/ring.h"

namespace stoker {

// A batch that the caller sends off with an asynchronous copy and then drops is still being read. So a slot that comes
// back is free only when the work that its stream had been given until then is done.
// Threads: one *lender* thread, made by Start, joined by the destructor. Return may be called from any thread at any
// time and calls no driver. Owns events and the registration; the device and the ring outlive it.
class PinnedLender {
 public:
  // Tries to page-lock the ring's memory. Throws std::system_error where the device cannot make events.
  PinnedLender(Device& device, Ring& ring, NowFn now, std::chrono::nanoseconds deadline = std::chrono::seconds(30));
  // Waits for the work that still reads slots, up to the deadline; after that it gives the ring's memory up on purpose.
  ~PinnedLender();
  PinnedLender(const PinnedLender&) = delete;
  PinnedLender& operator=(const PinnedLender&) = delete;

  void Start();

  // False where the memory could not be page-locked. A driver has read pageable memory when a copy's call returns, so
  // slots are then free as soon as they come back.
  bool pinned() const noexcept { return pinned_; }

  // Gives a taken slot back: to the ring once `consumer` is done with it.
  void Return(BatchSlot& slot, StreamHandle consumer) EXCLUDES(mutex_);

 private:
  struct Returned {
    BatchSlot* slot = nullptr;
    StreamHandle consumer = kHostStream;
    EventHandle released = 0;
  };

  void Run() EXCLUDES(mutex_);
  bool TakeReturned(Returned& returned, std::chrono::nanoseconds wait) EXCLUDES(mutex_);
  void Record(Returned returned);
  void FreeFinished();
  void Free() noexcept;

  Device& device_;
  Ring& ring_;
  const NowFn now_;
  const std::chrono::nanoseconds deadline_;
  bool pinned_ = false;
  std::vector<EventHandle> events_;  // those not in use; the lender thread's, as is the next
  FixedQueue<Returned> recorded_;

  Mutex mutex_;
  CondVar changed_;
  FixedQueue<Returned> returned_ GUARDED_BY(mutex_);
  bool stop_ GUARDED_BY(mutex_) = false;

  std::thread thread_;
};

}  // namespace stoker

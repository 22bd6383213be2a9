// The ring of host slots between the workers and whoever takes batches: back-pressure of the CPU side.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "transfer/arena.h"
#include "transfer/clock.h"
#include "transfer/device.h"
#include "transfer/fixed_queue.h"
#include "transfer/mutex.h"
#include "transfer/slot.h"

namespace stoker {

// Slots are leased by the feeder, filled by workers, and taken in lease order, whatever order they became full in.
// The life of a slot: free -> TryLease -> filling -> (last SampleSlot released) full -> TakeFull -> Return -> free.
// A ring may grow for a caller that keeps many batches: Extend adds a slot, and it goes again when it comes back to a
// ring that has twice its slots to work with: there are never more than kMaxIdle times its slots beside those lent.
// Threads: thread-safe. No thread of its own.
class Ring {
 public:
  // `on_free` is called after a slot became free, from the thread that returned it; it must not call the ring.
  // `for_device`: slots begin on huge pages, however small they are. Throws std::bad_alloc.
  Ring(SlotLayout layout, uint32_t slots, NowFn now, std::function<void()> on_free, bool for_device = false);

  const SlotLayout& layout() const noexcept { return layout_; }
  static constexpr uint32_t kMaxIdle = 3;

  // As many as it was made with.
  uint32_t slots() const noexcept { return planned_slots_; }
  const Arena& arena() const noexcept { return arena_; }
  Arena& arena() noexcept { return arena_; }

  // Faults the slots in near `device`, keeps them from children of fork() and page-locks them for it. False where that
  // is not to be had. Requires: the calling thread is attached.
  bool PageLock(Device& device) noexcept;

  // `on_full` is called whenever a slot became full, by the thread that filled it; it must not call the ring.
  void OnFull(std::function<void()> on_full) EXCLUDES(mutex_);

  // A slot for the next batch of `count` samples, or null when none is free. Does not block.
  BatchSlot* TryLease(uint32_t count) EXCLUDES(mutex_);

  // The earliest leased slot once it is full; blocks until then. Null when Stop was called or the `timeout` passed.
  BatchSlot* TakeFull(std::chrono::nanoseconds timeout) EXCLUDES(mutex_);
  // The same without waiting.
  BatchSlot* TryTakeFull() EXCLUDES(mutex_);

  // Gives a taken slot back; `freed_ns` is when its last reader was done.
  void Return(BatchSlot& slot, int64_t freed_ns) EXCLUDES(mutex_);

  // Marks a taken slot as lent to the caller, and tells how many are.
  void Lend(BatchSlot& slot) EXCLUDES(mutex_);
  // The caller has let go of a slot that will be returned only later.
  void EndLoan(BatchSlot& slot) EXCLUDES(mutex_);
  uint32_t held_by_caller() const EXCLUDES(mutex_);

  // Adds a slot with memory of its own where fewer than slots() - 1 are left beside those lent to the caller. Throws
  // std::bad_alloc.
  void Extend() EXCLUDES(mutex_);
  // Slots beyond slots(), now and at most.
  uint32_t extra_slots() const EXCLUDES(mutex_);
  uint32_t extra_slots_peak() const EXCLUDES(mutex_);

  // Slots that are full and wait to be taken.
  uint32_t full_slots() const EXCLUDES(mutex_);
  // Batches leased so far: the sequence number of the next one.
  int64_t leased_batches() const EXCLUDES(mutex_);
  // Wakes the takers for good.
  void Stop() EXCLUDES(mutex_);

  // Times that a taker came while every slot was still being filled.
  uint64_t empties() const EXCLUDES(mutex_);

 private:
  friend class SampleSlot;
  void MarkFull(BatchSlot& slot, uint32_t last_sample) EXCLUDES(mutex_);
  BatchSlot* TakeIfFull() REQUIRES(mutex_);
  BatchSlot* AddSlot(std::byte* data) REQUIRES(mutex_);
  size_t idle() const REQUIRES(mutex_) { return slots_.size() - held_; }

  const SlotLayout layout_;
  const NowFn now_;
  const std::function<void()> on_free_;
  const uint32_t planned_slots_;
  const size_t slot_stride_;
  Arena arena_;

  mutable Mutex mutex_;
  CondVar full_;
  std::function<void()> on_full_ GUARDED_BY(mutex_);
  std::vector<std::unique_ptr<BatchSlot>> slots_ GUARDED_BY(mutex_);
  size_t slots_peak_ GUARDED_BY(mutex_) = 0;
  // The slot that came back last goes first: it may still be in a cache, and slots that are not needed are never
  // touched.
  std::vector<BatchSlot*> free_ GUARDED_BY(mutex_);
  // When each of them came free, and with which batch; the earliest first: since then a lease has waited for no slot.
  FixedQueue<std::pair<int64_t, int64_t>> freed_ GUARDED_BY(mutex_);
  FixedQueue<BatchSlot*> leased_ GUARDED_BY(mutex_);
  int64_t next_batch_ GUARDED_BY(mutex_) = 0;
  uint32_t held_ GUARDED_BY(mutex_) = 0;
  uint32_t full_slots_ GUARDED_BY(mutex_) = 0;
  uint64_t empties_ GUARDED_BY(mutex_) = 0;
  bool stopped_ GUARDED_BY(mutex_) = false;
};

}  // namespace stoker

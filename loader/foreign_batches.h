// Batches of loaders that are not ours, over the ring and the copies that ours take.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "loader/batch.h"
#include "loader/loader.h"
#include "loader/stall_log.h"
#include "loader/stall_report.h"
#include "transfer/clock.h"
#include "transfer/mutex.h"
#include "transfer/slot.h"

namespace stoker {

class Delivery;
class FreeSignal;

// Copies batches of bytes to a device ahead of the caller. One thread, the *puller*, takes them from their loader and
// puts them in; the caller takes them out in that order. A batch is copied once on the host, into a page-locked slot,
// and once to the device. Slots are as large as the largest batch so far; a larger one has them made anew, larger than
// it needs, when the caller has taken all before it.
// Threads: Put and End are the puller's, Begin and Next the caller's, the reports anybody's; Stop may be called from
// any thread, by one at a time. With a *prefetcher* of its own. Batches may outlive it.
class ForeignBatches {
 public:
  static constexpr uint32_t kMaxDepth = 64;

  // `device`: as LoaderOptions::device, but not the cpu. `depth`: batches on the device ahead of the caller, 1 to
  // kMaxDepth. Throws std::invalid_argument naming a bad option, Error where the device is not to be had.
  ForeignBatches(std::string device, uint32_t depth, NowFn now = SteadyNow);
  ~ForeignBatches();
  ForeignBatches(const ForeignBatches&) = delete;
  ForeignBatches& operator=(const ForeignBatches&) = delete;

  // Before the first Put of an epoch; drops what is left of one that the caller has left. Requires: the puller has
  // called End since the last Begin.
  void Begin(const WhileWaiting& while_waiting = {}) EXCLUDES(mutex_);

  // A part of a batch, and where it is to lie in it.
  struct Piece {
    const void* data = nullptr;
    size_t bytes = 0;
    size_t offset = 0;
  };
  // The next batch, of `bytes` in all; the time since the last call was its loader's. Blocks until there is a slot for
  // it. False once the caller has left the epoch, or Stop was called. Throws Error where the device has no room for
  // slots of that size.
  bool Put(std::span<const Piece> pieces, size_t bytes) EXCLUDES(mutex_);
  // There are no more in this epoch.
  void End() EXCLUDES(mutex_);

  // The next batch, as Loader::Next gives them: bytes, of which the first are those of Put. Nothing at the end of the
  // epoch. Throws Error where the caller holds `depth` batches, a copy has failed, or Stop was called.
  std::optional<Batch> Next(StreamHandle stream, const WhileWaiting& while_waiting = {}) EXCLUDES(mutex_);

  // The caller wants no more of this epoch: ends what waits in Put, and every call of it until the next Begin.
  void Leave() EXCLUDES(mutex_);
  // Ends what waits in Put and Next, and every later call of them.
  void Stop() EXCLUDES(mutex_);

  // What held the caller back: Stage::kIo is the batches' own loader, whatever it does; Stage::kDecode is nothing;
  // Stage::kRuntime has the copy into a slot. A sample is a batch.
  StallReport Report() EXCLUDES(mutex_);
  void RestartReport() EXCLUDES(mutex_);

  // 0 before the first batch.
  size_t slot_bytes() const EXCLUDES(mutex_);

 private:
  void Open(size_t slot_bytes) REQUIRES(mutex_);
  bool MakeRoom(size_t bytes) EXCLUDES(mutex_);
  BatchSlot* Lease() EXCLUDES(mutex_);
  void Record(const BatchSlot& slot, int64_t arrived_ns) EXCLUDES(mutex_);
  bool going() const REQUIRES(mutex_) { return !stopped_ && !left_; }
  bool WaitForBatch(const WhileWaiting& while_waiting) EXCLUDES(mutex_);
  void CheckOpen() const REQUIRES(mutex_);
  Delivered Take(Delivery& delivery, StreamHandle stream, const WhileWaiting& while_waiting);
  void LogCopies() REQUIRES(mutex_);
  void LogHandOver(const Delivered& slot, StreamHandle stream) REQUIRES(mutex_);

  const std::string device_;
  const uint32_t depth_;
  const NowFn now_;
  const std::shared_ptr<FreeSignal> freed_;

  mutable Mutex mutex_;
  CondVar changed_;
  std::shared_ptr<Delivery> delivery_ GUARDED_BY(mutex_);  // null where it could not be made anew
  SampleSpec spec_ GUARDED_BY(mutex_);                     // bytes alone, of a slot
  int64_t put_ GUARDED_BY(mutex_) = 0;                     // batches, over the whole life
  int64_t taken_ GUARDED_BY(mutex_) = 0;                   // of them
  int64_t opened_ GUARDED_BY(mutex_) = 0;                  // how many of them were put before `delivery_` was opened
  bool ended_ GUARDED_BY(mutex_) = true;
  bool left_ GUARDED_BY(mutex_) = false;
  bool stopped_ GUARDED_BY(mutex_) = false;
  // Its records of samples are the puller's until their batch is put, the rest is guarded by the mutex.
  StallLog log_;
  Predecessor before_pull_ GUARDED_BY(mutex_);  // what the pull under way had waited for
  int64_t pull_ns_ GUARDED_BY(mutex_) = 0;      // and when it began
};

}  // namespace stoker

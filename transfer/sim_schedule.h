// What the simulated device does when: streams, events and copy engines in the time of a modelled link.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>

#include "transfer/device.h"
#include "transfer/sim_device.h"

namespace stoker {

// "Everything submitted to this stream up to this operation": what a record captures and a wait waits for. A plain
// value, so that recording an event anew cannot change an earlier wait.
struct SimTicket {
  StreamHandle stream = 0;  // 0: never recorded
  uint64_t operation = 0;   // counted from 1
};

enum SimDirection { kToDevice, kToHost };

struct SimCopy {
  void* to = nullptr;
  const void* from = nullptr;
  size_t bytes = 0;
  SimDirection direction = kToDevice;
  bool pinned = true;
  bool fails = false;

  const void* host() const { return direction == kToDevice ? from : to; }
  const void* device() const { return direction == kToDevice ? to : from; }
};

struct SimOperation {
  enum Kind { kCopy, kRecord, kWait };

  Kind kind = kCopy;
  int64_t submit_ns = 0;
  SimCopy copy = {};
  EventHandle event = 0;    // kRecord
  SimTicket captured = {};  // kWait
};

// Work in the order of submission, in a ring: nothing is allocated per operation.
class SimStream {
 public:
  bool empty() const { return completed_ == submitted_; }
  bool full() const { return submitted_ - completed_ == kDepth; }
  uint64_t submitted() const { return submitted_; }
  uint64_t completed() const { return completed_; }
  const SimOperation& front() const { return queue_[completed_ % kDepth]; }
  void Push(const SimOperation& operation) { queue_[submitted_++ % kDepth] = operation; }
  void Pop() { ++completed_; }
  void Clear() { completed_ = submitted_; }

  bool destroyed = false;   // by the caller; it lives on until its work is done
  int64_t model_ns = 0;     // when its last operation was finished on the modelled link ...
  int64_t finished_ns = 0;  // ... and when it really was: never earlier

 private:
  static constexpr size_t kDepth = 256;  // a driver's launch queue is bounded, too

  std::array<SimOperation, kDepth> queue_;
  uint64_t submitted_ = 0;
  uint64_t completed_ = 0;
};

struct SimEvent {
  SimTicket record;         // the latest one
  int64_t finished_ns = 0;  // of that record, once it is complete
};

// Moves the bytes of one direction, one copy after the other.
struct SimCopyEngine {
  SimStream* running = nullptr;  // its front is the copy
  int64_t free_ns = 0;           // when the running copy is finished on the modelled link, or the last one was
};

// Copies run in the order in which they become ready. Times are the caller's: this class reads no clock, moves no byte.
// Threads: none of its own; the device guards it.
// Invariant: a wait captures a record that was submitted before it, so waits form no cycle and all work finishes.
class SimSchedule {
 public:
  explicit SimSchedule(const SimOptions& options) : options_(options) {}

  StreamHandle CreateStream();
  EventHandle CreateEvent();
  bool DestroyEvent(EventHandle handle) { return events_.erase(handle) > 0; }
  // Null for handles that are unknown or destroyed. A stream is destroyed by its flag.
  SimStream* FindStream(StreamHandle handle);
  SimEvent* FindEvent(EventHandle handle);
  bool IsComplete(const SimTicket& ticket) const;

  // Finishes the records and waits whose turn it is and starts copies on idle engines. True if something finished.
  bool Advance();
  // The engine whose running copy is the first to finish; null when all are idle, and after Advance() all work is done.
  SimCopyEngine* NextToFinish();
  void FinishCopy(SimCopyEngine& engine, int64_t now_ns);
  // Forgets all work; it counts as complete.
  void Clear();

 private:
  bool AdvanceStream(StreamHandle handle, SimStream& stream);
  void StartCopy(SimDirection direction);
  int64_t ModelNs(const SimCopy& copy) const;

  const SimOptions options_;
  uint64_t last_handle_ = 0;  // never used twice, so that every stale handle is found out
  std::map<StreamHandle, SimStream> streams_;
  std::map<EventHandle, SimEvent> events_;
  std::array<SimCopyEngine, 2> engines_;  // by SimDirection
};

}  // namespace stoker

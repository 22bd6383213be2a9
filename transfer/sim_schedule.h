// What the simulated device does when: streams, events and engines in the time of a modelled link.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "transfer/device.h"
#include "transfer/sim_options.h"

namespace stoker {

// "Everything submitted to this stream up to this operation": what a record captures and a wait waits for. A plain
// value, so that recording an event anew cannot change an earlier wait.
struct SimTicket {
  StreamHandle stream = 0;  // 0: never recorded
  uint64_t operation = 0;   // counted from 1
};

// Also the index of the engine that serves it.
enum SimDirection { kToDevice, kToHost, kOnDevice };

struct SimCopy {
  void* to = nullptr;
  const void* from = nullptr;
  size_t bytes = 0;
  SimDirection direction = kToDevice;
  bool pinned = true;
  bool fails = false;
  bool hangs = false;
  std::optional<uint64_t> checksum = {};  // of a pinned source when the copy was submitted, where anybody asks
  // What was read of an unregistered source when the copy was submitted; null where the caller waits instead.
  std::shared_ptr<const std::byte[]> staged = nullptr;

  const void* host() const { return direction == kToDevice ? from : to; }
  const void* device() const { return direction == kToDevice ? to : from; }
};

struct SimOperation {
  enum Kind { kCopy, kFinish, kRecord, kWait };

  // Takes time and moves bytes.
  bool is_work() const { return kind == kCopy || kind == kFinish; }
  SimDirection direction() const { return kind == kCopy ? copy.direction : kOnDevice; }

  Kind kind = kCopy;
  SimTicket ticket = {};  // its own
  int64_t submit_ns = 0;
  SimCopy copy = {};         // kCopy
  FinishLaunch launch = {};  // kFinish
  EventHandle event = 0;     // kRecord
  SimTicket captured = {};   // kWait
};

// What a launch reads and writes; 0: a size that is not one.
struct FinishBytes {
  size_t pixels = 0;
  size_t out = 0;
};
FinishBytes BytesOf(const FinishLaunch& launch);

// Work in the order of submission, in a ring: nothing is allocated per operation.
class SimStream {
 public:
  bool empty() const { return completed_ == submitted_; }
  bool full() const { return submitted_ - completed_ == kDepth; }
  uint64_t submitted() const { return submitted_; }
  uint64_t completed() const { return completed_; }
  const SimOperation& front() const { return queue_[completed_ % kDepth]; }
  void Push(SimOperation operation) { queue_[submitted_++ % kDepth] = std::move(operation); }
  void Pop() { queue_[completed_++ % kDepth] = {}; }
  void Clear() {
    while (!empty()) Pop();
  }

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
  int queries = 0;          // of that record, before it was complete
};

// Does the work of one direction, one operation after the other.
struct SimEngine {
  SimStream* running = nullptr;  // its front is the work
  int64_t free_ns = 0;           // when the running work is finished by the model, or the last one was
};

// Times are the caller's: this class reads no clock, moves no byte.
// Threads: none of its own; the device guards it.
// Invariant: a wait captures a record that was submitted before it, so waits form no cycle and all work finishes.
class SimSchedule {
 public:
  explicit SimSchedule(const SimOptions& options) : options_(options) { streams_.try_emplace(kLegacyStream); }

  StreamHandle CreateStream();
  EventHandle CreateEvent();
  bool DestroyEvent(EventHandle handle) { return events_.erase(handle) > 0; }
  // Null for handles that are unknown or destroyed. A stream is destroyed by its flag.
  SimStream* FindStream(StreamHandle handle);
  SimEvent* FindEvent(EventHandle handle);
  bool IsComplete(const SimTicket& ticket) const;
  // Created and not destroyed.
  size_t streams() const;
  size_t events() const { return events_.size(); }

  // Finishes the records and waits whose turn it is. True if something finished.
  bool Advance();

  // After Advance: the streams whose front is work that could be done now.
  std::vector<SimStream*> Ready();
  // After Advance: the one whose front is the next work towards the ticket. Null where it is complete, or hangs.
  SimStream* NextTowards(SimTicket ticket);

  // Starts the front of the stream, which is work, on its idle engine.
  SimEngine& Start(SimStream& stream);
  // Starts work on every idle engine, in the order in which it became ready.
  void StartEngines();
  // The engine whose running work is the first to finish; null when all are idle, or hang.
  SimEngine* NextToFinish();
  void Finish(SimEngine& engine, int64_t now_ns);

  // Forgets all work; it counts as complete.
  void Clear();
  // Copies that would hang end as others do.
  void EndHang() { hangs_ = false; }

 private:
  bool AdvanceStream(StreamHandle handle, SimStream& stream);
  bool IsHung(const SimOperation& operation) const { return hangs_ && operation.copy.hangs; }
  int64_t ModelNs(const SimOperation& operation) const;

  const SimOptions options_;
  // Never used twice, so that every stale handle is found out.
  uint64_t last_handle_ = kLegacyStream;
  bool hangs_ = true;
  std::map<StreamHandle, SimStream> streams_;
  std::map<EventHandle, SimEvent> events_;
  std::array<SimEngine, 3> engines_;  // by SimDirection
};

}  // namespace stoker

// Finds programs that are wrong though the bytes came out right this time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "transfer/sim_calls.h"
#include "transfer/sim_memory.h"
#include "transfer/sim_options.h"
#include "transfer/sim_schedule.h"

namespace stoker {

// How far each stream's work is known to be complete.
using SimClock = std::map<StreamHandle, uint64_t>;

// A hash of bytes. They must not change meanwhile.
uint64_t SimChecksum(const void* bytes, size_t size) noexcept;

// The rules, each reported in words when it is broken:
// - What a stream does is ordered only by the stream, by events that it waits for, and by what the host had seen to be
//   complete when it submitted it. Two uses of overlapping memory, one of them a write, are ordered one way or the
//   other. The whole host counts as one thread, which sees an end by Synchronize, Query or Elapsed.
// - A pinned source stays as it is until the host has seen that its copy is complete.
// - Memory is freed and unregistered once, after the host has seen that no work uses it any more.
// - All that was made is given back before the device goes away.
// - Calls come from attached threads, and our own work goes to streams of our own.
// - A thread that was told kShuttingDown only gives back.
// Switched off (SimChecks::kOff) it does and finds nothing.
// Threads: none of its own; the device guards it.
class SimChecker {
 public:
  explicit SimChecker(const SimOptions& options) : options_(options) {}

  bool is_on() const noexcept { return options_.checks != SimChecks::kOff; }
  const std::vector<std::string>& violations() const noexcept { return violations_; }
  void Report(std::string_view violation);

  // An operation enters its stream.
  void Submitted(const SimOperation& operation);
  void Waited(StreamHandle stream, EventHandle event);
  // The source was not what it had been when the copy was submitted.
  void SourceChanged(const SimTicket& ticket);

  // What will be known when all that the stream holds, or the event has captured, is complete.
  SimClock ClockOf(StreamHandle stream) const;
  SimClock ClockOfEvent(EventHandle event) const;
  // The host has seen that so much is complete.
  void HostKnows(const SimClock& clock);

  // Memory is about to be freed or unregistered, as `call`; `bytes` 0: it is not known, and not null.
  void GivenBack(SimCall call, const void* memory, size_t bytes);
  // All work was dropped.
  void Dropped() { uses_.clear(); }
  // The thread calls though the device told it before that it is shutting down, or is told now.
  void CalledAtShutdown(SimCall call);
  void CheckLeaks(const SimMemory& memory, const SimSchedule& schedule);

 private:
  // One range that an operation reads or writes, which the host does not know to be complete.
  struct Use {
    SimTicket ticket = {};
    uintptr_t begin = 0;
    uintptr_t end = 0;
    bool writes = false;
    std::optional<uint64_t> checksum = {};  // of a source: the host may not change it
    const char* what = "";
  };

  static bool Overlap(const Use& a, const Use& b) { return a.begin < b.end && b.begin < a.end; }
  static bool IsWithin(const Use& a, const Use& b) { return b.begin <= a.begin && a.end <= b.end; }
  static std::string NameOfUse(const Use& use);
  void Enter(const Use& use, const SimClock& clock);
  void CheckSource(Use& use);

  const SimOptions options_;
  std::vector<std::string> violations_;
  std::map<StreamHandle, SimClock> streams_;
  std::map<EventHandle, SimClock> events_;
  std::vector<Use> uses_;  // in order of submission
  std::set<std::thread::id> told_;
};

}  // namespace stoker

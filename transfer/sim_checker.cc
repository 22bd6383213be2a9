#include "transfer/sim_checker.h"

#include <algorithm>

namespace stoker {
namespace {

uintptr_t Address(const void* pointer) { return reinterpret_cast<uintptr_t>(pointer); }

void Join(SimClock& clock, const SimClock& other) {
  for (const auto& [stream, operation] : other) {
    uint64_t& known = clock[stream];
    known = std::max(known, operation);
  }
}

bool Knows(const SimClock& clock, const SimTicket& ticket) {
  const auto known = clock.find(ticket.stream);
  return known != clock.end() && ticket.operation <= known->second;
}

SimClock Find(const std::map<uint64_t, SimClock>& clocks, uint64_t handle) {
  const auto clock = clocks.find(handle);
  return clock == clocks.end() ? SimClock() : clock->second;
}

}  // namespace

uint64_t SimChecksum(const void* bytes, size_t size) noexcept {
  return std::hash<std::string_view>()({static_cast<const char*>(bytes), size});
}

void SimChecker::Report(std::string_view violation) {
  if (!is_on()) return;
  std::string text(violation);
  if (options_.mode == SimMode::kRandom) text += " (seed " + std::to_string(options_.seed) + ")";
  violations_.push_back(std::move(text));
}

std::string SimChecker::NameOfUse(const Use& use) {
  return std::string(use.what) + " (operation " + std::to_string(use.ticket.operation) + " of stream " +
         std::to_string(use.ticket.stream) + ")";
}

void SimChecker::Submitted(const SimOperation& operation) {
  if (!is_on()) return;
  const SimTicket ticket = operation.ticket;
  SimClock& clock = streams_[ticket.stream];
  clock[ticket.stream] = ticket.operation;
  const auto enter = [&](const char* what, const void* memory, size_t bytes, bool writes) {
    if (bytes > 0) Enter({ticket, Address(memory), Address(memory) + bytes, writes, {}, what}, clock);
  };
  if (operation.kind == SimOperation::kRecord) {
    events_[operation.event] = clock;
  } else if (operation.kind == SimOperation::kFinish) {
    const FinishLaunch& launch = operation.launch;
    const FinishBytes bytes = BytesOf(launch);
    enter("kernel", launch.pixels, bytes.pixels, false);
    enter("kernel", launch.flips, launch.flips == nullptr ? 0 : static_cast<size_t>(launch.count), false);
    enter("kernel", launch.out, bytes.out, true);
  } else if (operation.kind == SimOperation::kCopy) {
    const SimCopy& copy = operation.copy;
    const bool up = copy.direction == kToDevice;
    const char* const what = up ? "copy to the device" : "copy to the host";
    if (!up) enter(what, copy.from, copy.bytes, false);
    // What is read of an unregistered source has been read when the call returns.
    if (up && copy.pinned && copy.bytes > 0) {
      Use source = {ticket, Address(copy.from), Address(copy.from) + copy.bytes, false, copy.checksum, what};
      // Where the device itself has yet to write it, it may change.
      const auto is_written = [&](const Use& use) { return use.writes && Overlap(use, source); };
      if (std::ranges::any_of(uses_, is_written)) source.checksum.reset();
      Enter(source, clock);
    }
    enter(what, copy.to, copy.bytes, true);
  }
}

void SimChecker::Enter(const Use& use, const SimClock& clock) {
  for (Use& earlier : uses_) {
    if (!Overlap(earlier, use)) continue;
    const bool same = earlier.ticket.stream == use.ticket.stream && earlier.ticket.operation == use.ticket.operation;
    if ((earlier.writes || use.writes) && !same && !Knows(clock, earlier.ticket)) {
      Report("no order between " + NameOfUse(earlier) + ", which " + (earlier.writes ? "writes" : "reads") + ", and " +
             NameOfUse(use) + ", which " + (use.writes ? "writes" : "reads") + " the same memory");
    }
    if (use.writes) earlier.checksum.reset();
  }
  // What comes later and knows this use knows those, too.
  std::erase_if(uses_, [&](const Use& earlier) {
    return IsWithin(earlier, use) && Knows(clock, earlier.ticket) && (use.writes || !earlier.writes) &&
           (!earlier.checksum || (earlier.checksum == use.checksum && IsWithin(use, earlier)));
  });
  uses_.push_back(use);
}

void SimChecker::CheckSource(Use& use) {
  if (!use.checksum) return;
  const void* const memory = reinterpret_cast<const void*>(use.begin);
  if (SimChecksum(memory, use.end - use.begin) == *use.checksum) return;
  use.checksum.reset();
  Report("the host changed the source of a " + NameOfUse(use) + " that it had not seen to be complete");
}

void SimChecker::SourceChanged(const SimTicket& ticket) {
  for (Use& use : uses_) {
    if (use.ticket.stream != ticket.stream || use.ticket.operation != ticket.operation || !use.checksum) continue;
    use.checksum.reset();
    Report("the host changed the source of a " + NameOfUse(use) + " before it was read");
  }
}

void SimChecker::Waited(StreamHandle stream, EventHandle event) {
  if (is_on()) Join(streams_[stream], ClockOfEvent(event));
}

SimClock SimChecker::ClockOf(StreamHandle stream) const { return Find(streams_, stream); }
SimClock SimChecker::ClockOfEvent(EventHandle event) const { return Find(events_, event); }

void SimChecker::HostKnows(const SimClock& clock) {
  if (!is_on()) return;
  // Until now the host had no right to change a source: it must still be as it was.
  for (Use& use : uses_) {
    if (Knows(clock, use.ticket)) CheckSource(use);
  }
  // All that the host submits from now on comes after these.
  std::erase_if(uses_, [&](const Use& use) { return Knows(clock, use.ticket); });
}

void SimChecker::GivenBack(SimCall call, const void* memory, size_t bytes) {
  if (!is_on()) return;
  if (bytes == 0) {
    if (memory != nullptr) Report(std::string(NameOf(call)) + " of memory that is not there: twice, or never taken");
    return;
  }
  const Use range = {.begin = Address(memory), .end = Address(memory) + bytes};
  for (Use& use : uses_) {
    if (!Overlap(use, range)) continue;
    CheckSource(use);
    Report(std::string(NameOf(call)) + " of memory that a " + NameOfUse(use) + " may still use");
  }
  std::erase_if(uses_, [&](const Use& use) { return Overlap(use, range); });
}

void SimChecker::CalledAtShutdown(SimCall call) {
  if (!is_on() || told_.insert(std::this_thread::get_id()).second) return;
  switch (call) {
    case SimCall::kAllocate:
    case SimCall::kRegisterHost:
    case SimCall::kCreateStream:
    case SimCall::kCreateEvent:
    case SimCall::kStreamWaitEvent:
    case SimCall::kCopyToDevice:
    case SimCall::kCopyToHost:
    case SimCall::kFinish:
      return Report(std::string(NameOf(call)) + " after the device said that it is shutting down");
    default:
      return;
  }
}

void SimChecker::CheckLeaks(const SimMemory& memory, const SimSchedule& schedule) {
  for (const auto& [begin, end] : memory.allocations().ends()) {
    Report("never freed: " + std::to_string(end - begin) + " bytes of device memory");
  }
  for (const auto& [begin, end] : memory.registrations().ends()) {
    Report("never unregistered: " + std::to_string(end - begin) + " bytes of host memory");
  }
  if (schedule.streams() > 0) Report("never destroyed: " + std::to_string(schedule.streams()) + " streams");
  if (schedule.events() > 0) Report("never destroyed: " + std::to_string(schedule.events()) + " events");
}

}  // namespace stoker

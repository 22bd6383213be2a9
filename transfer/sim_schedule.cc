#include "transfer/sim_schedule.h"

#include <algorithm>

namespace stoker {

StreamHandle SimSchedule::CreateStream() {
  streams_.try_emplace(++last_handle_);
  return last_handle_;
}

EventHandle SimSchedule::CreateEvent() {
  events_.try_emplace(++last_handle_);
  return last_handle_;
}

SimStream* SimSchedule::FindStream(StreamHandle handle) {
  const auto stream = streams_.find(handle);
  return stream == streams_.end() || stream->second.destroyed ? nullptr : &stream->second;
}

SimEvent* SimSchedule::FindEvent(EventHandle handle) {
  const auto event = events_.find(handle);
  return event == events_.end() ? nullptr : &event->second;
}

bool SimSchedule::IsComplete(const SimTicket& ticket) const {
  const auto stream = streams_.find(ticket.stream);  // gone only when all of its work is done
  return stream == streams_.end() || ticket.operation <= stream->second.completed();
}

bool SimSchedule::Advance() {
  bool finished = false;
  for (bool again = true; again;) {
    again = false;
    for (auto& [handle, stream] : streams_) again |= AdvanceStream(handle, stream);
    finished |= again;
  }
  std::erase_if(streams_, [](const auto& entry) { return entry.second.destroyed && entry.second.empty(); });
  StartCopy(kToDevice);
  StartCopy(kToHost);
  return finished;
}

bool SimSchedule::AdvanceStream(StreamHandle handle, SimStream& stream) {
  const uint64_t completed = stream.completed();
  for (; !stream.empty(); stream.Pop()) {
    const SimOperation& operation = stream.front();
    if (operation.kind == SimOperation::kCopy) break;
    if (operation.kind == SimOperation::kRecord) {
      SimEvent* const event = FindEvent(operation.event);
      const bool is_latest =
          event != nullptr && event->record.stream == handle && event->record.operation == stream.completed() + 1;
      if (is_latest) event->finished_ns = std::max(operation.submit_ns, stream.finished_ns);
    } else {
      if (!IsComplete(operation.captured)) break;
      // The captured work has only just finished, for a wait for finished work is never submitted.
      if (const auto other = streams_.find(operation.captured.stream); other != streams_.end()) {
        stream.model_ns = std::max(stream.model_ns, other->second.model_ns);
        stream.finished_ns = std::max(stream.finished_ns, other->second.finished_ns);
      }
    }
  }
  return stream.completed() != completed;
}

void SimSchedule::StartCopy(SimDirection direction) {
  SimCopyEngine& engine = engines_[direction];
  if (engine.running != nullptr) return;
  int64_t first_ready_ns = 0;
  for (auto& [handle, stream] : streams_) {
    if (stream.empty() || stream.front().kind != SimOperation::kCopy) continue;
    if (stream.front().copy.direction != direction) continue;
    const int64_t ready_ns = std::max(stream.front().submit_ns, stream.model_ns);
    if (engine.running == nullptr || ready_ns < first_ready_ns) {
      engine.running = &stream;
      first_ready_ns = ready_ns;
    }
  }
  if (engine.running == nullptr) return;
  engine.free_ns = std::max(engine.free_ns, first_ready_ns) + ModelNs(engine.running->front().copy);
}

SimCopyEngine* SimSchedule::NextToFinish() {
  SimCopyEngine* next = nullptr;
  for (SimCopyEngine& engine : engines_) {
    if (engine.running != nullptr && (next == nullptr || engine.free_ns < next->free_ns)) next = &engine;
  }
  return next;
}

void SimSchedule::FinishCopy(SimCopyEngine& engine, int64_t now_ns) {
  SimStream& stream = *engine.running;
  // The next copy starts where the model says, so that late wake-ups do not add up; events tell the real time.
  stream.model_ns = engine.free_ns;
  stream.finished_ns = std::max(engine.free_ns, now_ns);
  stream.Pop();
  engine.running = nullptr;
}

void SimSchedule::Clear() {
  for (auto& [handle, stream] : streams_) stream.Clear();
  engines_ = {};
}

int64_t SimSchedule::ModelNs(const SimCopy& copy) const {
  const double bytes_per_second = options_.bytes_per_second * (copy.pinned ? 1 : options_.pageable_factor);
  return options_.latency_ns + static_cast<int64_t>(static_cast<double>(copy.bytes) * 1e9 / bytes_per_second);
}

}  // namespace stoker

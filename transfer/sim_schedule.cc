#include "transfer/sim_schedule.h"

#include <algorithm>

namespace stoker {

FinishBytes BytesOf(const FinishLaunch& launch) {
  if (launch.count <= 0 || launch.height <= 0 || launch.width <= 0) return {};
  if (launch.channels != 1 && launch.channels != 3) return {};
  const size_t element_bytes = launch.type == FinishType::kFloat32 ? 4 : 2;
  size_t pixels = static_cast<size_t>(launch.height) * static_cast<size_t>(launch.width);
  size_t out = 0;
  if (__builtin_mul_overflow(pixels, static_cast<size_t>(launch.channels), &pixels)) return {};
  if (__builtin_mul_overflow(pixels, static_cast<size_t>(launch.count), &pixels)) return {};
  if (__builtin_mul_overflow(pixels, element_bytes, &out)) return {};
  return {pixels, out};
}

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

size_t SimSchedule::streams() const {
  const auto is_there = [](const auto& entry) { return entry.first != kLegacyStream && !entry.second.destroyed; };
  return static_cast<size_t>(std::ranges::count_if(streams_, is_there));
}

bool SimSchedule::Advance() {
  bool finished = false;
  for (bool again = true; again;) {
    again = false;
    for (auto& [handle, stream] : streams_) again |= AdvanceStream(handle, stream);
    finished |= again;
  }
  std::erase_if(streams_, [](const auto& entry) { return entry.second.destroyed && entry.second.empty(); });
  return finished;
}

bool SimSchedule::AdvanceStream(StreamHandle handle, SimStream& stream) {
  const uint64_t completed = stream.completed();
  for (; !stream.empty(); stream.Pop()) {
    const SimOperation& operation = stream.front();
    if (operation.is_work()) break;
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

std::vector<SimStream*> SimSchedule::Ready() {
  std::vector<SimStream*> ready;
  for (auto& [handle, stream] : streams_) {
    if (!stream.empty() && stream.front().is_work() && !IsHung(stream.front())) ready.push_back(&stream);
  }
  return ready;
}

SimStream* SimSchedule::NextTowards(SimTicket ticket) {
  while (!IsComplete(ticket)) {
    SimStream& stream = streams_.at(ticket.stream);
    const SimOperation& front = stream.front();
    if (front.is_work()) return IsHung(front) ? nullptr : &stream;
    ticket = front.captured;
  }
  return nullptr;
}

SimEngine& SimSchedule::Start(SimStream& stream) {
  const SimOperation& operation = stream.front();
  SimEngine& engine = engines_[operation.direction()];
  engine.running = &stream;
  engine.free_ns = std::max({engine.free_ns, operation.submit_ns, stream.model_ns}) + ModelNs(operation);
  return engine;
}

void SimSchedule::StartEngines() {
  for (const SimDirection direction : {kToDevice, kToHost, kOnDevice}) {
    if (engines_[direction].running != nullptr) continue;
    SimStream* first = nullptr;
    int64_t first_ready_ns = 0;
    for (auto& [handle, stream] : streams_) {
      if (stream.empty() || !stream.front().is_work() || stream.front().direction() != direction) continue;
      const int64_t ready_ns = std::max(stream.front().submit_ns, stream.model_ns);
      if (first == nullptr || ready_ns < first_ready_ns) {
        first = &stream;
        first_ready_ns = ready_ns;
      }
    }
    if (first != nullptr) Start(*first);
  }
}

SimEngine* SimSchedule::NextToFinish() {
  SimEngine* next = nullptr;
  for (SimEngine& engine : engines_) {
    if (engine.running == nullptr || IsHung(engine.running->front())) continue;
    if (next == nullptr || engine.free_ns < next->free_ns) next = &engine;
  }
  return next;
}

void SimSchedule::Finish(SimEngine& engine, int64_t now_ns) {
  SimStream& stream = *engine.running;
  // The next work starts where the model says, so that late wake-ups do not add up; events tell the real time.
  stream.model_ns = engine.free_ns;
  stream.finished_ns = std::max(engine.free_ns, now_ns);
  stream.Pop();
  engine.running = nullptr;
}

void SimSchedule::Clear() {
  for (auto& [handle, stream] : streams_) stream.Clear();
  engines_ = {};
}

int64_t SimSchedule::ModelNs(const SimOperation& operation) const {
  size_t bytes = operation.copy.bytes;
  double bytes_per_second = options_.bytes_per_second * (operation.copy.pinned ? 1 : options_.pageable_factor);
  if (operation.kind == SimOperation::kFinish) {
    const FinishBytes finish = BytesOf(operation.launch);
    bytes = finish.pixels + finish.out;
    bytes_per_second = options_.memory_bytes_per_second;
  }
  return options_.latency_ns + static_cast<int64_t>(static_cast<double>(bytes) * 1e9 / bytes_per_second);
}

}  // namespace stoker

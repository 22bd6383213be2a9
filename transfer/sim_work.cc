// How SimDevice takes work in and does it.
#include <algorithm>
#include <chrono>
#include <cstring>
#include <utility>

#include "transfer/clock.h"
#include "transfer/finish_kernel.h"
#include "transfer/sim_device.h"

namespace stoker {
namespace {

// Moves the bytes of an operation whose addresses are the host's. False where the source of a copy was changed under
// it.
bool Execute(const SimOperation& operation) {
  if (operation.kind == SimOperation::kFinish) {
    FinishOnHost(operation.launch);
    return true;
  }
  const SimCopy& copy = operation.copy;
  const bool same = !copy.checksum || SimChecksum(copy.from, copy.bytes) == *copy.checksum;
  std::memcpy(copy.to, copy.from, copy.bytes);
  return same;
}

}  // namespace

std::error_code SimDevice::SubmitCopy(SimCopy copy, StreamHandle handle) {
  MutexLock lock(mutex_);
  const bool up = copy.direction == kToDevice;
  if (const auto refusal = Enter(up ? SimCall::kCopyToDevice : SimCall::kCopyToHost)) return refusal;
  SimStream* const stream = schedule_.FindStream(handle);
  if (stream == nullptr || !memory_.allocations().Contains(copy.device(), copy.bytes)) {
    return DeviceError::kInvalidValue;
  }
  copy.pinned = memory_.registrations().Contains(copy.host(), copy.bytes);
  if (!copy.pinned && !memory_.IsPageable(copy.host(), copy.bytes)) return DeviceError::kInvalidValue;
  if (up && handle == kLegacyStream) checker_.Report("a copy to the device on the legacy stream");
  copy.fails = submitted_copies_ == options_.fail_copy_at;
  copy.hangs = submitted_copies_ == options_.hang_copy_at;
  ++submitted_copies_;
  const bool waits = !copy.pinned && (!up || options_.mode == SimMode::kModelled);
  if (!copy.pinned && !waits) {
    const std::shared_ptr<std::byte[]> staged(new std::byte[copy.bytes]);
    std::memcpy(staged.get(), copy.from, copy.bytes);
    copy.staged = staged;
  } else if (checker_.is_on() && up) {
    copy.checksum = SimChecksum(copy.from, copy.bytes);
  }
  const SimTicket ticket = Submit(handle, *stream, {.kind = SimOperation::kCopy, .copy = std::move(copy)});
  if (!waits) return sticky_;
  // A copy to the device that the caller waited for may still be on its way from where it was staged.
  return WaitFor(ticket, up ? SimClock() : checker_.ClockOf(handle));
}

std::error_code SimDevice::FinishAsync(const FinishLaunch& launch, StreamHandle handle) noexcept {
  MutexLock lock(mutex_);
  if (const auto refusal = Enter(SimCall::kFinish)) return refusal;
  SimStream* const stream = schedule_.FindStream(handle);
  const SimOperation operation = {.kind = SimOperation::kFinish, .launch = launch};
  if (stream == nullptr || BytesOf(launch).out == 0 || !CanRun(operation)) return DeviceError::kInvalidValue;
  if (handle == kLegacyStream) checker_.Report("a kernel on the legacy stream");
  Submit(handle, *stream, operation);
  return sticky_;
}

SimTicket SimDevice::Submit(StreamHandle handle, SimStream& stream, SimOperation operation) {
  while (stream.full()) {
    if (!RunTowards({handle, stream.completed() + 1})) done_.Wait(mutex_);
  }
  const SimTicket ticket = {handle, stream.submitted() + 1};
  if (sticky_) return {};
  operation.ticket = ticket;
  operation.submit_ns = Now();
  checker_.Submitted(operation);
  if (operation.kind == SimOperation::kRecord) {
    if (SimEvent* const event = schedule_.FindEvent(operation.event)) *event = {.record = ticket};
  }
  stream.Push(std::move(operation));
  if (options_.mode == SimMode::kModelled) {
    work_.NotifyOne();
    return ticket;
  }
  schedule_.Advance();
  if (options_.mode == SimMode::kEager) {
    while (RunAny()) {
    }
  }
  return ticket;
}

std::error_code SimDevice::WaitFor(SimTicket ticket, const SimClock& known) {
  while (!schedule_.IsComplete(ticket)) {
    if (!RunTowards(ticket)) done_.Wait(mutex_);
  }
  if (!sticky_) checker_.HostKnows(known);
  return sticky_;
}

bool SimDevice::Polled(SimEvent& event) {
  if (options_.mode == SimMode::kLazy && !schedule_.IsComplete(event.record)) {
    if (++event.queries >= options_.lazy_queries) {
      while (RunTowards(event.record)) {
      }
    }
  }
  return schedule_.IsComplete(event.record);
}

bool SimDevice::RunTowards(const SimTicket& ticket) {
  if (options_.mode == SimMode::kModelled) return false;
  if (options_.mode != SimMode::kLazy) return RunAny();
  SimStream* const stream = schedule_.NextTowards(ticket);
  if (stream != nullptr) Run(schedule_.Start(*stream));
  return stream != nullptr;
}

int64_t SimDevice::Now() const { return options_.mode == SimMode::kStepped ? stepped_ns_ : SteadyNow(); }

int64_t SimDevice::now_ns() const {
  MutexLock lock(mutex_);
  return stepped_ns_;
}

int64_t SimDevice::NextEndNs() {
  MutexLock lock(mutex_);
  schedule_.Advance();
  schedule_.StartEngines();
  const SimEngine* const engine = schedule_.NextToFinish();
  return engine == nullptr ? -1 : engine->free_ns;
}

void SimDevice::AdvanceTo(int64_t ns) {
  for (int64_t end_ns = NextEndNs(); end_ns >= 0 && end_ns <= ns; end_ns = NextEndNs()) {
    MutexLock lock(mutex_);
    RunNext();
  }
  MutexLock lock(mutex_);
  stepped_ns_ = std::max(stepped_ns_, ns);
}

// Time goes on to the end of the work that is done next.
bool SimDevice::RunNext() {
  schedule_.Advance();
  schedule_.StartEngines();
  SimEngine* const engine = schedule_.NextToFinish();
  if (engine == nullptr) return false;
  stepped_ns_ = std::max(stepped_ns_, engine->free_ns);
  Run(*engine);
  return true;
}

bool SimDevice::RunAny() {
  if (options_.mode == SimMode::kStepped) return RunNext();
  const std::vector<SimStream*> ready = schedule_.Ready();
  if (!ready.empty()) Run(schedule_.Start(*ready[options_.mode == SimMode::kRandom ? random_() % ready.size() : 0]));
  return !ready.empty();
}

bool SimDevice::CanRun(const SimOperation& operation) const {
  const RangeSet& allocations = memory_.allocations();
  if (operation.kind == SimOperation::kCopy) {
    const SimCopy& copy = operation.copy;
    return allocations.Contains(copy.device(), copy.bytes) &&
           (!copy.pinned || memory_.registrations().Contains(copy.host(), copy.bytes));
  }
  const FinishLaunch& launch = operation.launch;
  const FinishBytes bytes = BytesOf(launch);
  return allocations.Contains(launch.pixels, bytes.pixels) && allocations.Contains(launch.out, bytes.out) &&
         (launch.flips == nullptr || allocations.Contains(launch.flips, static_cast<size_t>(launch.count)));
}

SimOperation SimDevice::AsEnginesSeeIt(SimOperation operation) const {
  if (operation.kind == SimOperation::kFinish) {
    FinishLaunch& launch = operation.launch;
    const auto translate = [this](const void* memory) REQUIRES(mutex_) { return memory_.EngineAddress(memory); };
    launch.pixels = reinterpret_cast<const uint8_t*>(translate(launch.pixels));
    if (launch.flips != nullptr) launch.flips = reinterpret_cast<const uint8_t*>(translate(launch.flips));
    launch.out = translate(launch.out);
  } else if (operation.copy.direction == kToDevice) {
    operation.copy.to = memory_.EngineAddress(operation.copy.to);
    if (operation.copy.staged != nullptr) operation.copy.from = operation.copy.staged.get();
  } else {
    operation.copy.from = memory_.EngineAddress(operation.copy.from);
  }
  return operation;
}

void SimDevice::Run(SimEngine& engine) {
  const SimOperation& front = engine.running->front();
  if (front.copy.fails || !CanRun(front)) return Break(DeviceError::kLaunchFailed);
  const SimOperation operation = AsEnginesSeeIt(front);
  bool same = true;
  if (options_.mode == SimMode::kModelled) {
    engine_at_work_ = true;
    mutex_.Unlock();  // submitting never waits for bytes
    same = Execute(operation);
    mutex_.Lock();
    engine_at_work_ = false;
  } else {
    same = Execute(operation);
  }
  if (!same) checker_.SourceChanged(operation.ticket);
  schedule_.Finish(engine, Now());
  schedule_.Advance();
  done_.NotifyAll();
}

void SimDevice::RunEngines() {
  MutexLock lock(mutex_);
  while (true) {
    if (schedule_.Advance()) done_.NotifyAll();
    schedule_.StartEngines();
    SimEngine* const engine = schedule_.NextToFinish();
    if (engine == nullptr) {
      if (stopping_) return;
      work_.Wait(mutex_);
      continue;
    }
    const int64_t wait_ns = stopping_ ? 0 : engine->free_ns - SteadyNow();
    if (wait_ns > 0) {
      work_.WaitFor(mutex_, std::chrono::nanoseconds(wait_ns));
    } else {
      Run(*engine);
    }
  }
}

}  // namespace stoker

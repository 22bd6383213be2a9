// A device on the host with modelled copy engines, for tests and `--device sim`.
#pragma once

#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "transfer/device.h"
#include "transfer/mutex.h"
#include "transfer/sim_calls.h"
#include "transfer/sim_checker.h"
#include "transfer/sim_memory.h"
#include "transfer/sim_options.h"
#include "transfer/sim_schedule.h"

namespace stoker {

// Device memory is host memory; copies move bytes from one to the other when SimOptions::mode says so, kernels are the
// host's. One engine for each direction and one for kernels, each serving one operation at a time: its bytes are read
// and written together, in kModelled at the end of its modelled interval, the latest moment at which CUDA may.
// A copy from unregistered memory has read it when the call returns and may reach the device later; a copy to
// unregistered memory blocks the caller until it is done. The copy that is told to fail, and work whose memory was
// freed or unregistered under it, leave the sticky error; with it all other work is dropped and counts as complete.
//
// Threads: as Device says. In kModelled one of its own, the engine thread, runs all work; in the other modes the
// calling threads do. The destructor has the rest of the work done at once, without the modelled time; what stands
// behind a copy that never ends is dropped. Owns: device memory, streams and events that were not given back.
class SimDevice final : public Device {
 public:
  explicit SimDevice(const SimOptions& options = {});
  // With SimChecks::kAbort: prints the violations, if there are any, and ends the program.
  ~SimDevice() override;

  const DeviceInfo& info() const noexcept override { return info_; }
  std::error_code Attach() noexcept override;
  void Detach() noexcept override;

  std::error_code FreeMemory(size_t& bytes) noexcept override;
  std::error_code Allocate(size_t bytes, void*& memory) noexcept override;
  std::error_code Free(void* memory) noexcept override;
  std::error_code RegisterHost(void* memory, size_t bytes) noexcept override;
  std::error_code UnregisterHost(void* memory) noexcept override;

  std::error_code CreateStream(StreamHandle& stream) noexcept override;
  std::error_code DestroyStream(StreamHandle stream) noexcept override;
  std::error_code SynchronizeStream(StreamHandle stream) noexcept override;
  std::error_code StreamWaitEvent(StreamHandle stream, EventHandle event) noexcept override;

  std::error_code CreateEvent(EventHandle& event) noexcept override;
  std::error_code DestroyEvent(EventHandle event) noexcept override;
  std::error_code RecordEvent(EventHandle event, StreamHandle stream) noexcept override;
  std::error_code QueryEvent(EventHandle event) noexcept override;
  std::error_code SynchronizeEvent(EventHandle event) noexcept override;
  std::error_code ElapsedNs(EventHandle start, EventHandle end, int64_t& ns) noexcept override;

  std::error_code CopyToDeviceAsync(void* to, const void* from, size_t bytes, StreamHandle stream) noexcept override;
  std::error_code CopyToHostAsync(void* to, const void* from, size_t bytes, StreamHandle stream) noexcept override;
  bool can_finish() const noexcept override { return true; }
  std::error_code FinishAsync(const FinishLaunch& launch, StreamHandle stream) noexcept override;

  // The controls of tests, from any thread, attached or not.

  // Rules broken so far, in words.
  std::vector<std::string> violations() const EXCLUDES(mutex_);
  // Calls of an entry point so far, those that failed included.
  uint64_t calls(SimCall call) const EXCLUDES(mutex_);
  // The n-th call of `call` from now (from 0) does nothing but return `error`. kLaunchFailed and kShuttingDown stay:
  // every later call returns them, and work that is under way is dropped.
  void FailCall(SimCall call, uint64_t n, DeviceError error) EXCLUDES(mutex_);
  // Of kStepped: its time, which begins at 1, in nanoseconds; when the next work will be done (-1: there is none); and
  // on to `ns`, with all the work that is done by then.
  int64_t now_ns() const EXCLUDES(mutex_);
  int64_t NextEndNs() EXCLUDES(mutex_);
  void AdvanceTo(int64_t ns) EXCLUDES(mutex_);
  // The copy of hang_copy_at ends after all.
  void EndHang() EXCLUDES(mutex_);

 private:
  // Counts the call. Why it is refused whatever it asks for: a sticky error, no Attach, or a fault that was asked for.
  std::error_code Enter(SimCall call) REQUIRES(mutex_);
  // Notes the sticky error and drops all work.
  void Break(std::error_code error) REQUIRES(mutex_);
  bool Polled(SimEvent& event) REQUIRES(mutex_);
  void WaitForEngine() REQUIRES(mutex_);

  std::error_code SubmitCopy(SimCopy copy, StreamHandle stream) EXCLUDES(mutex_);
  // Blocks while the stream is full.
  SimTicket Submit(StreamHandle handle, SimStream& stream, SimOperation operation) REQUIRES(mutex_);
  // The host then knows `known`.
  std::error_code WaitFor(SimTicket ticket, const SimClock& known) REQUIRES(mutex_);

  // Whether the memory of an operation is still there, and what it is to an engine.
  bool CanRun(const SimOperation& operation) const REQUIRES(mutex_);
  SimOperation AsEnginesSeeIt(SimOperation operation) const REQUIRES(mutex_);
  // Does what runs on the engine; in kModelled it lets the mutex go meanwhile.
  void Run(SimEngine& engine) REQUIRES(mutex_);
  // The engine thread.
  void RunEngines() EXCLUDES(mutex_);
  // Without one, by the calling thread. Each does one operation; false where there is none.
  bool RunTowards(const SimTicket& ticket) REQUIRES(mutex_);
  bool RunAny() REQUIRES(mutex_);
  bool RunNext() REQUIRES(mutex_);
  int64_t Now() const REQUIRES(mutex_);

  const SimOptions options_;
  const DeviceInfo info_ = {.name = "sim",
                            .model = "simulated",
                            .uuid = {},
                            .pci_address = {},
                            .copy_engines = 2,
                            .memory_bytes = options_.memory_bytes};
  const uint64_t id_;
  mutable Mutex mutex_;
  CondVar work_;  // wakes the engine thread: something was submitted, or stop
  CondVar done_;  // wakes everybody else: something finished
  bool stopping_ GUARDED_BY(mutex_) = false;
  bool engine_at_work_ GUARDED_BY(mutex_) = false;  // the engine thread moves bytes, without the mutex
  std::error_code sticky_ GUARDED_BY(mutex_);
  int64_t submitted_copies_ GUARDED_BY(mutex_) = 0;
  int64_t stepped_ns_ GUARDED_BY(mutex_) = 1;
  std::mt19937_64 random_ GUARDED_BY(mutex_);
  SimCalls calls_ GUARDED_BY(mutex_);
  SimMemory memory_ GUARDED_BY(mutex_);
  SimSchedule schedule_ GUARDED_BY(mutex_);
  SimChecker checker_ GUARDED_BY(mutex_);
  std::thread engine_thread_;  // last: it uses all of the above
};

std::unique_ptr<Device> MakeSimDevice(const SimOptions& options = {});

}  // namespace stoker

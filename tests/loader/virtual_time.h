// A clock that stands still while any thread of a pipeline can run: for tests of times that depend on none.
#pragma once

#include <sched.h>

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <vector>

#include "transfer/mutex.h"
#include "transfer/sim_device.h"

namespace stoker {

// While it lives, all threads of one loader wait in its time: when none of them can run, the clock jumps to the next
// moment for which one waits. What a thread computes takes no time; what is to take some calls Work or Pause. A device
// (SimMode::kStepped) keeps step. Events of different moments happen in their order every time, those of one moment in
// any. All threads share one CPU, since a thread that only wakes another need not move it elsewhere: 2.5 times as fast.
// A pipeline that hangs ends the program with words on stderr: where no thread can run and none waits for a moment,
// where for kStuckNs nothing has happened but waits timing out, and where a thread that can run does not come back for
// a real minute. Threads: any. Made before the loader and destroyed after it, by the caller's thread.
class VirtualTime final : public WaitDouble {
 public:
  // `threads`: that wait in it sooner or later, the caller's and those that the loader starts, its workers excepted.
  // Time stands still until all of them do.
  explicit VirtualTime(int threads);
  ~VirtualTime();

  // The loader's clocks. Now begins at 1, as the device's does; a thread has spent what it has worked.
  static int64_t Now() noexcept;
  static int64_t ThreadCpuNow() noexcept;

  // From now on the device keeps step. It outlives every later wait.
  void Drive(SimDevice& device);

  // The calling thread is busy for so long; stands still for so long.
  void Work(int64_t ns) noexcept;
  void Pause(int64_t ns) noexcept;
  // Blocks until nobody else works or pauses and the device is idle: with a caller that takes nothing any more, until
  // all buffers are full. Before a loader is destroyed in the midst of its work.
  void Settle() noexcept;

  bool Wait(const CondVar& condition, std::mutex& mutex, std::chrono::nanoseconds timeout) noexcept override;
  void Notify(const CondVar& condition) noexcept override;
  void PoolThreads(int change) noexcept override;

 private:
  static constexpr int64_t kForever = INT64_MAX;

  struct Waiter {
    const CondVar* condition = nullptr;  // null: nothing but time ends it
    int64_t until_ns = kForever;
    bool waits = true;
    bool timed_out = false;
    std::condition_variable wake;
  };

  static int64_t After(std::chrono::nanoseconds timeout) noexcept;
  // These require the lock. The first two let it go meanwhile.
  void Block(Waiter& self, std::unique_lock<std::mutex>& lock) noexcept;
  // One thread less can run; where it was the last, time goes on until one can.
  void Leave(std::unique_lock<std::mutex>& lock) noexcept;
  void Wake(size_t waiter) noexcept;
  // Whether anybody works or pauses.
  bool Busy() const noexcept;
  [[noreturn]] void GiveUp(const char* why) const noexcept;

  std::mutex mutex_;  // of all that follows; taken after any other
  std::vector<Waiter*> waiting_;
  int can_run_;
  int64_t progress_ns_ = 1;  // the last moment at which something happened beyond a wait that timed out
  uint64_t moves_ = 0;       // of the clock
  SimDevice* device_ = nullptr;
  cpu_set_t cpus_before_;
};

}  // namespace stoker

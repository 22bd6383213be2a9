// std::mutex with the annotations that let clang check who holds what (-Wthread-safety).
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>

#if defined(__clang__)
#define STOKER_ANNOTATION(x) __attribute__((x))
#else
#define STOKER_ANNOTATION(x)
#endif
#define GUARDED_BY(x) STOKER_ANNOTATION(guarded_by(x))
#define REQUIRES(...) STOKER_ANNOTATION(requires_capability(__VA_ARGS__))
#define EXCLUDES(...) STOKER_ANNOTATION(locks_excluded(__VA_ARGS__))

namespace stoker {

class STOKER_ANNOTATION(capability("mutex")) Mutex {
 public:
  void Lock() STOKER_ANNOTATION(acquire_capability()) { mutex_.lock(); }
  void Unlock() STOKER_ANNOTATION(release_capability()) { mutex_.unlock(); }

 private:
  friend class CondVar;
  std::mutex mutex_;
};

class STOKER_ANNOTATION(scoped_lockable) MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) STOKER_ANNOTATION(acquire_capability(mutex)) : mutex_(mutex) { mutex_.Lock(); }
  ~MutexLock() STOKER_ANNOTATION(release_capability()) { mutex_.Unlock(); }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

 private:
  Mutex& mutex_;
};

class CondVar;

// What stands in for the system's waiting, so that a test can run a whole pipeline in a time of its own. All threads of
// ours block in a CondVar and nowhere else while batches flow.
// Threads: Install is called while no thread of ours runs, the rest by any.
class WaitDouble {
 public:
  // Null: the system's own waiting, as ever but in tests.
  static void Install(WaitDouble* instead) noexcept { installed.store(instead, std::memory_order_relaxed); }
  static WaitDouble* Installed() noexcept { return installed.load(std::memory_order_relaxed); }

  // Lets `mutex` go until `condition` is notified or `timeout` has passed (then it returns false), and takes it again.
  virtual bool Wait(const CondVar& condition, std::mutex& mutex, std::chrono::nanoseconds timeout) noexcept = 0;
  virtual void Notify(const CondVar& condition) noexcept = 0;
  // So many more threads (fewer, where below 0) of a pool have something to do: what they were given waits for them.
  virtual void PoolThreads(int change) noexcept = 0;

  WaitDouble(const WaitDouble&) = delete;
  WaitDouble& operator=(const WaitDouble&) = delete;

 protected:
  WaitDouble() = default;
  ~WaitDouble() = default;

 private:
  static inline std::atomic<WaitDouble*> installed{nullptr};  // published to threads by what starts them
};

// Waits may wake early: test the condition in a loop.
class CondVar {
 public:
  void Wait(Mutex& mutex) REQUIRES(mutex) {
    if (WaitDouble* const instead = WaitDouble::Installed()) {
      (void)instead->Wait(*this, mutex.mutex_, std::chrono::nanoseconds::max());
      return;
    }
    std::unique_lock<std::mutex> lock(mutex.mutex_, std::adopt_lock);
    condition_.wait(lock);
    lock.release();
  }
  // Returns false when `timeout` passed.
  bool WaitFor(Mutex& mutex, std::chrono::nanoseconds timeout) REQUIRES(mutex) {
    if (WaitDouble* const instead = WaitDouble::Installed()) return instead->Wait(*this, mutex.mutex_, timeout);
    std::unique_lock<std::mutex> lock(mutex.mutex_, std::adopt_lock);
    const bool woken = condition_.wait_for(lock, timeout) == std::cv_status::no_timeout;
    lock.release();
    return woken;
  }
  void NotifyOne() noexcept {
    if (WaitDouble* const instead = WaitDouble::Installed()) return instead->Notify(*this);
    condition_.notify_one();
  }
  void NotifyAll() noexcept {
    if (WaitDouble* const instead = WaitDouble::Installed()) return instead->Notify(*this);
    condition_.notify_all();
  }

 private:
  std::condition_variable condition_;
};

}  // namespace stoker

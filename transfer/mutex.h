// std::mutex with the annotations that let clang check who holds what (-Wthread-safety).
#pragma once

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

// Waits may wake early: test the condition in a loop.
class CondVar {
 public:
  void Wait(Mutex& mutex) REQUIRES(mutex) {
    std::unique_lock<std::mutex> lock(mutex.mutex_, std::adopt_lock);
    condition_.wait(lock);
    lock.release();
  }
  // Returns false when `timeout` passed.
  bool WaitFor(Mutex& mutex, std::chrono::nanoseconds timeout) REQUIRES(mutex) {
    std::unique_lock<std::mutex> lock(mutex.mutex_, std::adopt_lock);
    const bool woken = condition_.wait_for(lock, timeout) == std::cv_status::no_timeout;
    lock.release();
    return woken;
  }
  void NotifyOne() noexcept { condition_.notify_one(); }
  void NotifyAll() noexcept { condition_.notify_all(); }

 private:
  std::condition_variable condition_;
};

}  // namespace stoker

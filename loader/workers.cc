#include "loader/workers.h"

#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/task_arena.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cassert>
#include <mutex>
#include <optional>

#include "loader/error.h"
#include "loader/machine/limits.h"

namespace stoker {
namespace {

// The process in which oneTBB was first given work, 0 before: orders nothing.
std::atomic<pid_t> worked_in{0};

// Whose turn is next, of all loaders. oneTBB is only told "one more", without a word of what: how it hands something
// over ThreadSanitizer cannot see, and a suppression wide enough would hide our own races.
class Turns {
 public:
  // Never destroyed: oneTBB's threads may outlive what is static.
  static Turns& OfThisProcess() {
    static Turns& turns = *new Turns;
    return turns;
  }
  void Push(Workers& workers) EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    waiting_.push_back(&workers);
  }
  Workers& Pop() EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    Workers* next = waiting_.front();
    waiting_.erase(waiting_.begin());  // never more of them than there are workers
    return *next;
  }
  bool empty() const EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    return waiting_.empty();
  }

 private:
  mutable Mutex mutex_;
  std::vector<Workers*> waiting_ GUARDED_BY(mutex_);
};

}  // namespace

// One per process while any loader lives: oneTBB's threads, and the one arena where they find the work of all loaders.
// With an arena each, the threads would stay in one that never runs dry and let the others starve. It alone sets the
// global limit: the smallest limit in a process wins, and without one an arena larger than the machine silently gets
// fewer threads than asked.
class WorkerPool {
 public:
  static std::shared_ptr<WorkerPool> Shared(uint32_t workers) {
    static std::mutex mutex;
    static std::weak_ptr<WorkerPool> shared;
    const std::lock_guard<std::mutex> lock(mutex);
    std::shared_ptr<WorkerPool> pool = shared.lock();
    if (pool == nullptr) {
      pool = std::make_shared<WorkerPool>();
      shared = pool;
    }
    pool->GrowTo(workers);
    return pool;
  }

  // `workers` will Run on one more thread; it must not go before.
  void Enqueue(Workers& workers) {
    worked_in.store(getpid(), std::memory_order_relaxed);
    Turns::OfThisProcess().Push(workers);
    arena_.load(std::memory_order_acquire)->enqueue([] { Turns::OfThisProcess().Pop().Run(); });
  }

 private:
  void GrowTo(uint32_t workers) {
    if (workers <= workers_) return;
    workers_ = workers;
    limit_.reset();
    // One more than the workers: the limit counts the thread that enqueues as well.
    limit_.emplace(tbb::global_control::max_allowed_parallelism, workers + 1);
    // No slot is kept for the thread that enqueues.
    arenas_.push_back(std::make_unique<tbb::task_arena>(static_cast<int>(workers), 0));
    arena_.store(arenas_.back().get(), std::memory_order_release);
  }

  uint32_t workers_ = 0;
  std::optional<tbb::global_control> limit_;
  std::vector<std::unique_ptr<tbb::task_arena>> arenas_;  // those before the last one were too small
  // The last one. Release and acquire publish the arena to who enqueues.
  std::atomic<tbb::task_arena*> arena_{nullptr};
};

Workers::Workers(uint32_t max_workers, size_t queue, Task task, size_t low, std::function<void()> on_low,
                 std::vector<int> cpus)
    : max_workers_(max_workers),
      task_(std::move(task)),
      low_(low),
      on_low_(std::move(on_low)),
      pool_(max_workers > 0 ? WorkerPool::Shared(max_workers) : nullptr),
      cpus_(std::move(cpus)),
      waiting_(std::max<size_t>(queue, 1)),
      active_(max_workers) {
  CheckThreads();
  free_numbers_.reserve(max_workers);
  for (uint32_t i = max_workers; i > 0; --i) free_numbers_.push_back(i - 1);
}

Workers::~Workers() { Drain(); }

void Workers::Push(SampleJob job) {
  if (max_workers_ == 0) return task_(0, std::move(job));
  MutexLock lock(mutex_);
  waiting_.Push(std::move(job));
  StartOne();
}

void Workers::StartOne() {
  if (running_ >= active_ || running_ >= waiting_.size() + (max_workers_ - free_numbers_.size())) return;
  ++running_;
  if (WaitDouble* const instead = WaitDouble::Installed()) instead->PoolThreads(+1);
  pool_->Enqueue(*this);
}

void Workers::Run() {
  StayOn(cpus_);  // the thread may have worked for another loader
  mutex_.Lock();
  while (!waiting_.empty() && running_ <= active_) {
    SampleJob job = waiting_.Pop();
    const bool low = on_low_ && waiting_.size() == low_;
    const uint32_t number = free_numbers_.back();
    free_numbers_.pop_back();
    mutex_.Unlock();
    if (low) on_low_();
    task_(number, std::move(job));
    mutex_.Lock();
    free_numbers_.push_back(number);
    if (!waiting_.empty() && !Turns::OfThisProcess().empty()) {  // in turns with the other loaders
      pool_->Enqueue(*this);
      return mutex_.Unlock();
    }
  }
  --running_;
  // Under the lock: the destructor may free this object as soon as the lock is released.
  if (running_ == 0) idle_.NotifyAll();
  if (WaitDouble* const instead = WaitDouble::Installed()) instead->PoolThreads(-1);
  mutex_.Unlock();
}

void Workers::SetActive(uint32_t active) {
  assert(active >= 1 && active <= max_workers_);
  MutexLock lock(mutex_);
  active_ = active;
  for (size_t i = 0; i < waiting_.size(); ++i) StartOne();
}

void Workers::CheckThreads() const {
  const pid_t process = worked_in.load(std::memory_order_relaxed);
  if (max_workers_ == 0 || process == 0 || process == getpid()) return;
  throw Error(LoadError::kForked, "start", "", -1,
              "this process was forked from one whose decoding threads had started, and has none of them: start it by "
              "spawn, or take num_workers = 0");
}

size_t Workers::outstanding() const {
  MutexLock lock(mutex_);
  return waiting_.size() + (max_workers_ - free_numbers_.size());
}

void Workers::Drain() {
  MutexLock lock(mutex_);
  while (!waiting_.empty()) SampleJob dropped = waiting_.Pop();
  while (running_ > 0) idle_.Wait(mutex_);
}

}  // namespace stoker

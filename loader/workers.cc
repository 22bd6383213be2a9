#include "loader/workers.h"

#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/task_arena.h>

#include <algorithm>
#include <atomic>
#include <cassert>
#include <mutex>
#include <optional>

namespace stoker {

// One per process while any loader lives: oneTBB's threads, which the arenas of all loaders borrow. It alone sets the
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

 private:
  void GrowTo(uint32_t workers) {
    if (workers <= workers_) return;
    workers_ = workers;
    limit_.reset();
    // One more than the workers: the limit counts the thread that enqueues as well.
    limit_.emplace(tbb::global_control::max_allowed_parallelism, workers + 1);
  }

  uint32_t workers_ = 0;
  std::optional<tbb::global_control> limit_;
};

namespace {

// Counts hand-overs to oneTBB. Release before a task is enqueued, acquire when it begins: TBB orders the two already,
// but ThreadSanitizer cannot see into its library, and a suppression wide enough would hide our own races.
std::atomic<uint64_t> handed_over{0};

}  // namespace

// This loader's share of the threads; no slot is kept for the thread that enqueues.
struct Workers::Arena {
  explicit Arena(int workers) : arena(workers, 0) {}
  tbb::task_arena arena;
};

Workers::Workers(uint32_t max_workers, size_t queue, Task task, size_t low, std::function<void()> on_low)
    : max_workers_(max_workers),
      task_(std::move(task)),
      low_(low),
      on_low_(std::move(on_low)),
      pool_(max_workers > 0 ? WorkerPool::Shared(max_workers) : nullptr),
      arena_(max_workers > 0 ? std::make_unique<Arena>(static_cast<int>(max_workers)) : nullptr),
      waiting_(std::max<size_t>(queue, 1)),
      active_(max_workers) {
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
  handed_over.fetch_add(1, std::memory_order_release);
  arena_->arena.enqueue([this] {
    (void)handed_over.load(std::memory_order_acquire);
    RunOne();
  });
}

void Workers::RunOne() {
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
  }
  --running_;
  // Under the lock: the destructor may free this object as soon as the lock is released.
  if (running_ == 0) idle_.NotifyAll();
  mutex_.Unlock();
}

void Workers::SetActive(uint32_t active) {
  assert(active >= 1 && active <= max_workers_);
  MutexLock lock(mutex_);
  active_ = active;
  for (size_t i = 0; i < waiting_.size(); ++i) StartOne();
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

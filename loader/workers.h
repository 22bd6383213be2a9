// The process's decoding threads, and one loader's share of them.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "loader/sample_job.h"
#include "transfer/fixed_queue.h"
#include "transfer/mutex.h"

namespace stoker {

class WorkerPool;

// Runs jobs of one loader on the process-wide pool, at most `active` at a time, in turns with other loaders' jobs.
// The queue is ours, in front of oneTBB, which is only told "one more": handing it the work itself hides our races from
// ThreadSanitizer behind its own. With 0 workers Push runs the job on the calling thread.
// Threads: Push is the *feeder*'s; jobs run on the pool's *workers*; the rest may be called from any thread.
class Workers {
 public:
  // What runs a job. `worker` is below max_workers and no two calls with the same number overlap.
  using Task = std::function<void(uint32_t worker, SampleJob job)>;

  // `max_workers` is the largest number that SetActive may choose; `queue` the most jobs waiting at once. `on_low` is
  // called by a worker when the waiting jobs fall to `low`.
  // Jobs run on `cpus` alone; empty: on any.
  Workers(uint32_t max_workers, size_t queue, Task task, size_t low = 0, std::function<void()> on_low = {},
          std::vector<int> cpus = {});
  // Waits for the jobs that run; those that wait are dropped.
  ~Workers();
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  void Push(SampleJob job) EXCLUDES(mutex_);
  // Throws Error (kForked) in a child of fork() whose parent's workers had begun to work: it has none of their threads,
  // and oneTBB makes no new ones. So does the constructor.
  void CheckThreads() const;
  // Changes how many jobs run at once, while they run. Requires: 1 <= active <= max_workers.
  void SetActive(uint32_t active) EXCLUDES(mutex_);
  // Jobs waiting or running.
  size_t outstanding() const EXCLUDES(mutex_);
  // Drops what waits and blocks until nothing runs.
  void Drain() EXCLUDES(mutex_);

 private:
  friend class WorkerPool;
  // One thread's turn: jobs until none waits, too many run, or another loader waits for a thread.
  void Run() EXCLUDES(mutex_);
  void StartOne() REQUIRES(mutex_);

  const uint32_t max_workers_;
  const Task task_;
  const size_t low_;
  const std::function<void()> on_low_;
  const std::shared_ptr<WorkerPool> pool_;
  const std::vector<int> cpus_;

  mutable Mutex mutex_;
  CondVar idle_;
  FixedQueue<SampleJob> waiting_ GUARDED_BY(mutex_);
  std::vector<uint32_t> free_numbers_ GUARDED_BY(mutex_);  // worker numbers that nobody uses; the last one is next
  uint32_t active_ GUARDED_BY(mutex_);
  uint32_t running_ GUARDED_BY(mutex_) = 0;  // tasks that oneTBB was told of and that have not ended
};

}  // namespace stoker

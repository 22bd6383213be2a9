// The one loop that walks the order: position -> job -> reader -> workers.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "loader/reader.h"
#include "loader/sample_job.h"
#include "loader/sample_task.h"
#include "loader/sampler.h"
#include "loader/stall_log.h"
#include "loader/wake_up.h"
#include "loader/workers.h"
#include "transfer/fixed_queue.h"
#include "transfer/mutex.h"
#include "transfer/ring.h"

namespace stoker {

// What the feeder works with; all of it outlives the feeder.
struct FeederParts {
  const LoaderOptions& options;
  const Source& source;
  Ring& ring;
  ReadBuffers& buffers;
  SampleTask& task;
  Workers& workers;
  StallLog& log;
  WakeUp& wake_up;
  NowFn now;
  bool lock_buffers;    // for io_uring, where the memory limit lets it
  Cause slot_freed_by;  // kConsumer where the caller gets host slots, kCopy where a device does
  // Makes the reader, on the feeder thread; its name and why it was chosen go into `choice`.
  std::function<std::unique_ptr<Reader>(const Reader::Options&, std::string& choice)> make_reader;
};

// Walks an epoch's positions in order: leases a slot at each batch boundary and a buffer for each sample, starts the
// read (or leaves it to a worker where the page cache has the file), and hands what arrived to the workers. It never
// blocks on a buffer or a slot: its one place of waiting is the reader, out of which freed buffers and slots wake it.
// So finished reads are always collected. Jobs are issued in position order, so that an earlier batch holds its buffers
// before a later one. Threads: one *feeder* thread, made by the first Start, joined by the destructor. The public
// functions may be called from the caller's thread, Retry from any.
class Feeder {
 public:
  explicit Feeder(FeederParts parts);
  ~Feeder();
  Feeder(const Feeder&) = delete;
  Feeder& operator=(const Feeder&) = delete;

  // Begins issuing [position, end of the epoch) of `order`, which outlives the epoch. `cause` is what the first reads
  // waited for. Requires: paused or new.
  void Start(const Order& order, uint64_t epoch, uint64_t position, const Predecessor& cause) EXCLUDES(mutex_);
  // Stops issuing and blocks until no sample of the epoch is under way; every leased slot is then full. Meanwhile calls
  // `while_waiting` about ten times a second; what it throws ends the wait, and the next call goes on with it.
  void Pause(const std::function<void()>& while_waiting) EXCLUDES(mutex_);

  // A bad sample's job comes back to get the next sample in its place.
  void Retry(SampleJob job) EXCLUDES(mutex_);

  // Why the pipeline cannot go on; empty while it can.
  std::string fatal() const EXCLUDES(mutex_);
  // The reader's name and why it was chosen; empty before it was made.
  std::string reader_choice() const EXCLUDES(mutex_);
  // A read was stuck while shutting down; its buffer is still the kernel's. Final after the destructor of the reader.
  bool abandoned() const noexcept { return abandoned_; }
  // Ends the thread. No Start after it.
  void Stop() EXCLUDES(mutex_);

 private:
  enum class State : uint8_t { kIdle, kRunning, kPausing, kStopping };

  void Run();
  State state() const EXCLUDES(mutex_);
  bool PausedWithin(std::chrono::milliseconds timeout) EXCLUDES(mutex_);
  void Fatal(std::string reason) EXCLUDES(mutex_);
  // Starts reads until a buffer, a slot or room in the reader is missing.
  void IssueReads();
  std::optional<SampleJob> NextJob();
  std::optional<SampleJob> TakeRetry() EXCLUDES(mutex_);
  std::optional<SampleJob> JobAtNextPosition();
  // Fills in the sample that the job is to read, `attempt` places after its own.
  void Assign(SampleJob& job, uint64_t attempt);
  // False where no buffer is free: the job stays pending.
  bool StartRead(SampleJob& job);
  void StampRead(const SampleJob& job);
  void Arrived(SampleJob job);
  void HandToWorkers(SampleJob job);
  void DropUnissued();
  void CheckStuck();

  const FeederParts parts_;
  const bool read_cached_;
  bool abandoned_ = false;

  // Feeder thread only.
  std::unique_ptr<Reader> reader_;
  const Order* order_ = nullptr;
  uint64_t epoch_ = 0;
  uint64_t next_position_ = 0;
  uint64_t end_position_ = 0;
  BatchSlot* slot_ = nullptr;  // being handed out to jobs
  uint32_t next_index_ = 0;
  std::optional<SampleJob> pending_;  // has its place in a slot, waits for a buffer
  std::vector<SampleJob> arrived_;
  Predecessor epoch_start_;
  Predecessor feeder_busy_;  // what this thread did last
  Predecessor room_;         // the read whose end made room in a full reader
  bool reader_full_ = false;

  mutable Mutex mutex_;
  CondVar paused_;
  State state_ GUARDED_BY(mutex_) = State::kIdle;
  FixedQueue<SampleJob> retries_ GUARDED_BY(mutex_);
  std::string fatal_ GUARDED_BY(mutex_);
  std::string reader_choice_ GUARDED_BY(mutex_);

  std::thread thread_;
};

}  // namespace stoker

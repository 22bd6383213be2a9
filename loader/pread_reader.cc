#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "loader/reader.h"
#include "transfer/fixed_queue.h"
#include "transfer/mutex.h"

namespace stoker {
namespace {

// More threads than this read no faster from any storage measured, and each costs a stack.
constexpr uint32_t kMaxThreads = 16;
// How long the destructor waits for reads in flight before it leaves them to the kernel.
constexpr std::chrono::milliseconds kGrace{800};

std::error_code LastError() { return {errno, std::generic_category()}; }

// The memory that the threads share with the reader. It outlives the reader where a thread is stuck in a read.
struct Shared {
  // One read: the job is here while a thread works on it, so that a deadline can take the job and leave its buffer.
  struct Request {
    SampleJob job;
    std::span<uint8_t> memory;
    int64_t start_ns = 0;
    int64_t done_ns = 0;
    bool active = false;  // waiting for a thread or being read
    bool lost = false;    // the job left without its buffer
    bool done = false;
  };

  Shared(const Source& files, NowFn clock, uint32_t depth)
      : source(files), now(clock), requests(depth), waiting(depth) {}

  const Source& source;
  const NowFn now;
  Mutex mutex;
  CondVar work;
  CondVar finished;
  std::vector<Request> requests GUARDED_BY(mutex);
  FixedQueue<size_t> waiting GUARDED_BY(mutex);
  uint32_t running GUARDED_BY(mutex) = 0;
  bool woken GUARDED_BY(mutex) = false;
  bool stop GUARDED_BY(mutex) = false;
};

// Under the lock: once the reader has stopped, the source may be gone.
std::error_code FindPath(Shared& shared, uint32_t file, std::span<char> path) {
  MutexLock lock(shared.mutex);
  if (shared.stop) return std::make_error_code(std::errc::operation_canceled);
  const bool fits = shared.source.Path(file, path.data(), path.size());
  return fits ? std::error_code() : std::make_error_code(std::errc::filename_too_long);
}

// What became of a job, until it is the job's.
struct Outcome {
  int64_t waited_ns = 0;  // for a thread
  std::error_code error;
  Diagnosis diagnosis;
  uint64_t landed = 0;
  int64_t opened_ns = 0;
};

// Reads until the extent (and the byte that shows growth) is there or the file ends.
std::error_code ReadExtent(Shared& shared, const Extent& extent, std::span<uint8_t> to, Outcome& outcome) {
  std::array<char, PATH_MAX> path;
  std::error_code error = FindPath(shared, extent.file, path);
  if (error) return error;
  const int file = open(path.data(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return LastError();
  // As if the wait for a thread came behind it: that belongs to the storage, which all threads wait for.
  if (outcome.opened_ns == 0) outcome.opened_ns = shared.now() - outcome.waited_ns;
  uint64_t got = 0;
  while (got < BytesToAsk(extent)) {
    const ssize_t n =
        pread(file, to.data() + got, BytesToAsk(extent) - got, static_cast<off_t>(extent.offset_bytes + got));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) error = LastError();
    if (n <= 0) break;
    got += static_cast<uint64_t>(n);
  }
  close(file);
  return error ? error : CheckLength(extent, got, outcome.diagnosis);
}

// A pool thread: takes the oldest request, reads it, hands it back.
void ReadRequests(const std::shared_ptr<Shared>& shared) {
  shared->mutex.Lock();
  while (!shared->stop) {
    if (shared->waiting.empty()) {
      shared->work.Wait(shared->mutex);
      continue;
    }
    const size_t index = shared->waiting.Pop();
    Shared::Request& request = shared->requests[index];
    const Extents extents = request.job.extents;
    const std::span<uint8_t> memory = request.memory;
    const int64_t start_ns = request.start_ns;
    ++shared->running;
    shared->mutex.Unlock();

    Outcome outcome;
    outcome.waited_ns = shared->now() - start_ns;
    for (uint32_t i = 0; i < extents.size() && !outcome.error; ++i) {
      outcome.error = ReadExtent(*shared, extents[i], memory.subspan(outcome.landed), outcome);
      outcome.landed += extents[i].bytes;
    }

    shared->mutex.Lock();
    --shared->running;
    shared->finished.NotifyAll();
    if (shared->stop) break;  // nobody waits for it any more, and what the job refers to may be gone
    if (request.lost) {
      request.job.encoded.Release();
      request.active = request.lost = false;
    } else {
      request.job.error = outcome.error;
      request.job.diagnosis = outcome.diagnosis;
      request.job.encoded_bytes = outcome.landed;
      request.job.opened_ns = outcome.opened_ns;
      request.done_ns = shared->now();
      request.done = true;
    }
  }
  shared->mutex.Unlock();
}

// Threads: up to sixteen *reading* threads, made by the constructor, joined by the destructor unless one is stuck.
class PreadReader final : public Reader {
 public:
  PreadReader(const Source& source, const Options& options)
      : options_(options), shared_(std::make_shared<Shared>(source, options.now, options.queue_depth)) {
    const uint32_t threads = std::min(options.queue_depth, kMaxThreads);
    for (uint32_t i = 0; i < threads; ++i) threads_.emplace_back([shared = shared_] { ReadRequests(shared); });
  }

  ~PreadReader() override {
    const auto deadline = std::chrono::steady_clock::now() + kGrace;
    bool stuck = false;
    {
      MutexLock lock(shared_->mutex);
      shared_->stop = true;
      shared_->work.NotifyAll();
      while (shared_->running > 0 && std::chrono::steady_clock::now() < deadline) {
        shared_->finished.WaitFor(shared_->mutex, std::chrono::milliseconds(10));
      }
      stuck = shared_->running > 0;
    }
    for (std::thread& thread : threads_) stuck ? thread.detach() : thread.join();
    if (!stuck) return;
    if (options_.abandoned != nullptr) *options_.abandoned = true;
    // The requests hold buffers that may yet be written: they are kept for ever.
    static Mutex mutex;
    static std::vector<std::shared_ptr<Shared>>& abandoned = *new std::vector<std::shared_ptr<Shared>>();
    MutexLock lock(mutex);
    abandoned.push_back(shared_);
  }

  std::string_view name() const noexcept override { return "pread"; }
  bool has_room() const noexcept override { return in_flight_ + lost_ < options_.queue_depth; }
  uint32_t in_flight() const noexcept override { return in_flight_; }

  void Submit(SampleJob job) noexcept override {
    MutexLock lock(shared_->mutex);
    const auto place = std::find_if(shared_->requests.begin(), shared_->requests.end(),
                                    [](const Shared::Request& request) { return !request.active; });
    assert(place != shared_->requests.end());
    place->memory = job.encoded.memory();
    place->job = std::move(job);
    place->start_ns = options_.now();
    place->active = true;
    place->done = false;
    shared_->waiting.Push(static_cast<size_t>(place - shared_->requests.begin()));
    ++in_flight_;
    shared_->work.NotifyOne();
  }

  void Wait(std::vector<SampleJob>& done, std::chrono::nanoseconds timeout) noexcept override {
    const auto deadline = std::chrono::steady_clock::now() + timeout;
    MutexLock lock(shared_->mutex);
    while (!Collect(done) && !std::exchange(shared_->woken, false)) {
      const auto left = deadline - std::chrono::steady_clock::now();
      if (left <= left.zero()) return;
      shared_->finished.WaitFor(shared_->mutex, left);
    }
  }

  void Wake() noexcept override {
    MutexLock lock(shared_->mutex);
    shared_->woken = true;
    shared_->finished.NotifyAll();
  }

 private:
  bool Collect(std::vector<SampleJob>& done) noexcept REQUIRES(shared_->mutex) {
    const int64_t now = options_.now();
    const size_t before = done.size();
    lost_ = 0;
    for (Shared::Request& request : shared_->requests) {
      if (!request.active) continue;
      if (request.done) {
        request.job.late_ns = now - request.done_ns;
        done.push_back(std::move(request.job));
        request.active = false;
        --in_flight_;
      } else if (!request.lost && now - request.start_ns > options_.deadline_ns) {
        done.push_back(TakeLate(request.job));
        request.lost = true;
        --in_flight_;
      }
      lost_ += request.lost ? 1 : 0;
    }
    return done.size() > before;
  }

  const Options options_;
  const std::shared_ptr<Shared> shared_;
  std::vector<std::thread> threads_;
  uint32_t in_flight_ = 0;  // feeder thread only, as is the next
  uint32_t lost_ = 0;
};

}  // namespace

std::unique_ptr<Reader> MakePreadReader(const Source& source, const Reader::Options& options) {
  return std::make_unique<PreadReader>(source, options);
}

}  // namespace stoker

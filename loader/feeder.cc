#include "loader/feeder.h"

#include <algorithm>
#include <cassert>

#include "loader/error.h"

namespace stoker {
namespace {

// How long the feeder waits for a completion or a wake-up before it looks at deadlines again.
constexpr std::chrono::milliseconds kPatience{100};
// While pausing, workers end without a wake-up: looked at again this soon.
constexpr std::chrono::microseconds kPausePatience{200};

}  // namespace

Feeder::Feeder(FeederParts parts)
    : parts_(std::move(parts)),
      read_cached_(parts_.options.reader == ReaderKind::kAuto),
      retries_(size_t{parts_.ring.slots()} * parts_.ring.layout().batch_size()) {
  arrived_.reserve(static_cast<size_t>(parts_.options.queue_depth));
}

Feeder::~Feeder() { Stop(); }

void Feeder::Stop() {
  {
    MutexLock lock(mutex_);
    state_ = State::kStopping;
  }
  parts_.wake_up.Signal();
  if (thread_.joinable()) thread_.join();
}

void Feeder::Start(const Order& order, uint64_t epoch, uint64_t position, const Predecessor& cause) {
  {
    MutexLock lock(mutex_);
    assert(state_ == State::kIdle);
    // The feeder thread reads these only after it has seen kRunning under the lock.
    order_ = &order;
    epoch_ = epoch;
    next_position_ = position;
    end_position_ = order_->positions();
    if (parts_.options.drop_last) {
      const auto batch = static_cast<uint64_t>(parts_.options.batch_size);
      end_position_ = position + (end_position_ - std::min(position, end_position_)) / batch * batch;
    }
    epoch_start_ = cause;
    state_ = State::kRunning;
  }
  if (!thread_.joinable()) thread_ = std::thread([this] { Run(); });
  parts_.wake_up.Signal();
}

void Feeder::Pause(const std::function<void()>& while_waiting) {
  {
    MutexLock lock(mutex_);
    if (state_ == State::kRunning) state_ = State::kPausing;
  }
  parts_.wake_up.Signal();
  while (!PausedWithin(kPatience)) while_waiting();
}

bool Feeder::PausedWithin(std::chrono::milliseconds timeout) {
  MutexLock lock(mutex_);
  if (state_ == State::kPausing) paused_.WaitFor(mutex_, timeout);
  return state_ != State::kPausing;
}

Feeder::State Feeder::state() const {
  MutexLock lock(mutex_);
  return state_;
}

void Feeder::Retry(SampleJob job) {
  {
    MutexLock lock(mutex_);
    retries_.Push(std::move(job));
  }
  parts_.wake_up.Signal();
}

std::string Feeder::fatal() const {
  MutexLock lock(mutex_);
  return fatal_;
}

std::string Feeder::reader_choice() const {
  MutexLock lock(mutex_);
  return reader_choice_;
}

void Feeder::Fatal(std::string reason) {
  MutexLock lock(mutex_);
  if (fatal_.empty()) fatal_ = std::move(reason);
}

void Feeder::Run() {
  const Reader::Options options = {
      .queue_depth = static_cast<uint32_t>(parts_.options.queue_depth),
      .deadline_ns = static_cast<int64_t>(parts_.options.read_deadline_seconds * 1e9),
      .now = parts_.now,
      .abandoned = &abandoned_,
      .fixed = parts_.lock_buffers ? parts_.buffers.memory() : std::span<uint8_t>(),
  };
  try {
    std::string choice;
    reader_ = parts_.make_reader(options, choice);
    MutexLock lock(mutex_);
    reader_choice_ = choice;
  } catch (const std::exception& error) {
    Fatal(error.what());
  }
  parts_.wake_up.Attach(reader_.get());
  while (state() != State::kStopping) {
    if (reader_ == nullptr) {  // nothing can be read: only pausing and stopping are left
      std::this_thread::sleep_for(kPatience / 10);
    } else {
      const State now = state();
      if (now == State::kRunning) IssueReads();
      parts_.wake_up.WaitIn(*reader_, arrived_,
                            now == State::kPausing ? std::chrono::nanoseconds(kPausePatience) : kPatience);
      for (SampleJob& job : arrived_) Arrived(std::move(job));
      arrived_.clear();
      CheckStuck();
    }
    if (state() == State::kPausing) {
      DropUnissued();
      MutexLock lock(mutex_);
      if ((reader_ == nullptr || reader_->in_flight() == 0) && parts_.workers.outstanding() == 0 && retries_.empty()) {
        state_ = State::kIdle;
        paused_.NotifyAll();
      }
    }
  }
  parts_.wake_up.Attach(nullptr);
  reader_.reset();
  DropUnissued();
}

// Gives back what waits to be read: the places are released unwritten, which nobody will look at.
void Feeder::DropUnissued() {
  pending_.reset();
  while (TakeRetry()) {
  }
  for (; slot_ != nullptr && next_index_ < slot_->count; ++next_index_) SampleSlot(*slot_, next_index_).Release();
  slot_ = nullptr;
}

void Feeder::IssueReads() {
  while (reader_->has_room()) {
    if (parts_.workers.outstanding() >= parts_.buffers.count()) return;  // enough to do: they wake us when it runs low
    if (!pending_) pending_ = NextJob();
    if (!pending_ || !StartRead(*pending_)) return;
    pending_.reset();
  }
  reader_full_ = true;
}

std::optional<SampleJob> Feeder::NextJob() {
  std::optional<SampleJob> job = TakeRetry();
  if (!job) return JobAtNextPosition();
  if (job->evicted) return job;
  const uint64_t attempt = job->attempt + 1;
  if (attempt >= order_->positions()) {
    job->error = LoadError::kNoGoodSample;
    parts_.task.Fail(std::move(*job));
    return NextJob();
  }
  Assign(*job, attempt);
  return job;
}

std::optional<SampleJob> Feeder::TakeRetry() {
  MutexLock lock(mutex_);
  if (retries_.empty()) return std::nullopt;
  return retries_.Pop();
}

std::optional<SampleJob> Feeder::JobAtNextPosition() {
  if (next_position_ == end_position_) return std::nullopt;
  if (slot_ == nullptr) {
    const uint64_t left = end_position_ - next_position_;
    slot_ = parts_.ring.TryLease(
        static_cast<uint32_t>(std::min<uint64_t>(left, static_cast<uint64_t>(parts_.options.batch_size))));
    next_index_ = 0;
    if (slot_ == nullptr) return std::nullopt;
  }
  SampleJob job;
  job.epoch = epoch_;
  job.position = next_position_++;
  job.key = {parts_.options.seed, epoch_, order_->GlobalPosition(job.position)};
  job.sequence = parts_.log.Sequence(slot_->batch, next_index_);
  job.out = SampleSlot(*slot_, next_index_);
  if (kCountersOn) {
    SampleRecord& record = parts_.log.sample(job.sequence);
    record = {};
    record.sequence = job.sequence;
    record.before_read = epoch_start_;
    record.before_read.Consider(
        {slot_->freed_ns, slot_->freed_by_batch, slot_->freed_by_batch < 0 ? Cause::kNone : parts_.slot_freed_by});
  }
  if (++next_index_ == slot_->count) slot_ = nullptr;
  Assign(job, 0);
  return job;
}

void Feeder::Assign(SampleJob& job, uint64_t attempt) {
  job.attempt = attempt;
  job.id = order_->At(epoch_, (job.position + attempt) % order_->positions());
  job.error.clear();
  job.diagnosis = {};
  job.planned = false;
  job.evicted = false;
  job.encoded_bytes = 0;
  job.opened_ns = job.late_ns = 0;
  const std::optional<ImageSize> size = parts_.source.PictureSize(job.id);
  if (size) job.error = parts_.task.MakePlanFor(job, *size);
  if (job.planned) {
    const DecodeRequest request = parts_.task.RequestFor(job.plan);
    job.extents = parts_.source.ExtentsOf(job.id, &request);
  } else {
    job.extents = parts_.source.ExtentsOf(job.id, nullptr);
  }
}

bool Feeder::StartRead(SampleJob& job) {
  const uint64_t bytes = job.extents.bytes();
  if (!job.error && bytes > static_cast<uint64_t>(parts_.options.max_file_bytes)) job.error = LoadError::kFileTooLarge;
  job.from_cache = read_cached_ && !job.error && !job.evicted && IsCached(parts_.source, job.extents);
  if (job.from_cache) {
    StampRead(job);
    HandToWorkers(std::move(job));
    return true;
  }
  if (!job.error && !job.encoded) {
    switch (parts_.buffers.TryLease(bytes + 1, job.encoded)) {
      case ReadBuffers::Outcome::kLeased:
        break;
      case ReadBuffers::Outcome::kNoneFree:
        return false;
      case ReadBuffers::Outcome::kNoMemory:
        job.error = LoadError::kNoMemory;
    }
  }
  StampRead(job);
  if (job.error) {
    Arrived(std::move(job));
  } else {
    reader_->Submit(std::move(job));
  }
  return true;
}

void Feeder::StampRead(const SampleJob& job) {
  if constexpr (!kCountersOn) return;
  SampleRecord& record = parts_.log.sample(job.sequence);
  if (job.attempt > 0) return;  // a replacement's read belongs to the sample's first one
  record.submit_ns = parts_.now();
  if (job.encoded && job.encoded.freed_by() >= 0) {
    record.before_read.Consider({job.encoded.freed_ns(), job.encoded.freed_by(), Cause::kDecode});
  }
  record.before_read.Consider(feeder_busy_);
  record.before_read.Consider(room_);
}

void Feeder::Arrived(SampleJob job) {
  if (kCountersOn) {
    SampleRecord& record = parts_.log.sample(job.sequence);
    const int64_t now = parts_.now();
    if (job.attempt == 0) {
      record.arrive_ns = now;
      record.opened_ns = job.opened_ns;
      record.late_ns = job.late_ns;
    }
    record.bytes += job.encoded_bytes;
    if (reader_full_) room_ = {now, job.sequence, Cause::kRead};
    reader_full_ = false;
    if (job.error && job.attempt == 0) {  // never decoded: the decode takes no time
      record.start_ns = record.decoded_ns = record.end_ns = record.arrive_ns;
      record.before_decode = {record.arrive_ns, job.sequence, Cause::kRead};
    }
  }
  if (job.error) return parts_.task.Fail(std::move(job));
  HandToWorkers(std::move(job));
}

void Feeder::HandToWorkers(SampleJob job) {
  const int64_t sequence = job.sequence;
  parts_.workers.Push(std::move(job));
  // Without workers the job was decoded on this thread.
  if (kCountersOn && parts_.options.num_workers == 0) feeder_busy_ = {parts_.now(), sequence, Cause::kDecode};
}

// Reads that never come back keep their buffers; where they keep all of them, nothing can move any more.
void Feeder::CheckStuck() {
  const bool starved = pending_ && !pending_->encoded;
  if (!starved || reader_->in_flight() > 0 || parts_.workers.outstanding() > 0) return;
  if (parts_.buffers.leased() > 0) {
    Fatal("every read buffer belongs to a read that never came back: the storage hangs");
  }
}

}  // namespace stoker

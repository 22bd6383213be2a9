#include <fcntl.h>
#include <liburing.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstring>

#include "loader/error.h"
#include "loader/reader.h"

namespace stoker {
namespace {

constexpr std::chrono::milliseconds kGrace{800};
constexpr uint32_t kStepsPerChain = 3;
constexpr uint64_t kMaxReadBytes = uint64_t{1} << 30;  // the kernel's own limit for one read is a little higher
constexpr uint64_t kWakeTag = ~uint64_t{0};
constexpr uint64_t kCancelTag = ~uint64_t{1};

// Sets of ring flags from the best to the plainest, for kernels that do not know them all. Completions run only when
// this thread enters the kernel (DEFER_TASKRUN), which is where it waits for them anyway.
constexpr std::array<unsigned, 3> kFlagSets = {
    IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN | IORING_SETUP_SUBMIT_ALL,
    IORING_SETUP_COOP_TASKRUN | IORING_SETUP_SUBMIT_ALL,
    0,
};

// One job being read, extent by extent: open -> read -> close on a direct descriptor, whose slot is the entry's index.
struct Entry {
  SampleJob job;
  std::span<uint8_t> memory;
  uint32_t extent = 0;
  uint64_t extent_got = 0;  // bytes of the current extent that have landed
  uint64_t landed = 0;      // bytes of the extents before it
  int64_t start_ns = 0;
  uint32_t pending = 0;  // completions that will still come; 0: the entry is free
  int open_result = 0;
  int read_result = 0;
  bool lost = false;  // the job left without its buffer
  std::array<char, PATH_MAX> path;
};

// What the kernel may still write to: leaked as a whole where a read is stuck.
struct RingState {
  io_uring ring = {};
  std::vector<Entry> entries;
  int event = -1;
  uint64_t event_value = 0;
  std::array<uint8_t, 64> self_test = {};
};

class UringReader final : public Reader {
 public:
  UringReader(const Source& source, const Options& options)
      : source_(source), options_(options), state_(std::make_unique<RingState>()) {}
  ~UringReader() override;

  // Sets the ring up and proves it by a real chain of open, read and close. False with the reason where it fails.
  bool Start(std::string& reason);

  std::string_view name() const noexcept override { return "io_uring"; }
  bool has_room() const noexcept override { return in_flight_ + lost_ < options_.queue_depth; }
  uint32_t in_flight() const noexcept override { return in_flight_; }
  void Submit(SampleJob job) noexcept override;
  void Wait(std::vector<SampleJob>& done, std::chrono::nanoseconds timeout) noexcept override;
  void Wake() noexcept override;

 private:
  bool MakeRing(std::string& reason);
  bool SelfTest(std::string& reason);
  io_uring_sqe* NextSqe(uint64_t tag) noexcept;
  void ArmWake() noexcept;
  void QueueChain(Entry& entry) noexcept;
  // Handles the completions that are there; true when one of them was a wake-up.
  bool Reap(std::vector<SampleJob>& done) noexcept;
  void FinishChain(Entry& entry, std::vector<SampleJob>& done) noexcept;
  void Complete(Entry& entry, std::error_code error, std::vector<SampleJob>& done) noexcept;
  void ExpireLateReads(std::vector<SampleJob>& done) noexcept;
  void WaitForCompletion(std::chrono::nanoseconds timeout) noexcept;

  const Source& source_;
  const Options options_;
  std::unique_ptr<RingState> state_;
  bool ring_made_ = false;
  bool wake_armed_ = false;
  uint32_t in_flight_ = 0;
  uint32_t lost_ = 0;
};

std::string ReasonFor(int error) {
  switch (error) {
    case EPERM:
      return "EPERM: forbidden by sysctl kernel.io_uring_disabled or the container's seccomp profile";
    case ENOSYS:
      return "ENOSYS: this kernel has none";
    case ENOMEM:
      return "ENOMEM: the memlock limit is too low (ulimit -l)";
    default:
      return std::generic_category().message(error);
  }
}

bool UringReader::MakeRing(std::string& reason) {
  int result = 0;
  for (const unsigned flags : kFlagSets) {
    // The functions of liburing return the error; they do not set errno.
    result = io_uring_queue_init(options_.queue_depth * kStepsPerChain + 8, &state_->ring, flags);
    if (result == 0) break;
    if (result != -EINVAL) break;
  }
  if (result < 0) {
    reason = ReasonFor(-result);
    return false;
  }
  ring_made_ = true;
  const std::vector<int> empty(options_.queue_depth, -1);
  result = io_uring_register_files(&state_->ring, empty.data(), options_.queue_depth);
  if (result < 0) reason = "no table of direct descriptors: " + ReasonFor(-result);
  return result >= 0;
}

// A version number says little (distributions back-port, sandboxes cut): only a chain that worked is believed.
bool UringReader::SelfTest(std::string& reason) {
  constexpr const char* kFile = "/proc/self/exe";
  std::array<uint8_t, 64> expected = {};
  const size_t bytes = expected.size();
  const int file = open(kFile, O_RDONLY | O_CLOEXEC);
  const bool readable = file >= 0 && pread(file, expected.data(), bytes, 0) == static_cast<ssize_t>(bytes);
  if (file >= 0) close(file);
  if (!readable) {
    reason = "the self-test could not read its own program";
    return false;
  }
  Entry& entry = state_->entries[0];
  entry.memory = state_->self_test;
  entry.job.extents.Add({.file = 0, .offset_bytes = 0, .bytes = bytes});
  std::strcpy(entry.path.data(), kFile);
  QueueChain(entry);
  io_uring_submit(&state_->ring);
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(1);
  std::vector<SampleJob> done;
  in_flight_ = 1;
  while (done.empty() && std::chrono::steady_clock::now() < deadline) {
    WaitForCompletion(std::chrono::milliseconds(100));
    Reap(done);
  }
  if (done.empty()) {
    reason = "the self-test's read did not come back within a second";
    return false;
  }
  if (done[0].error || state_->self_test != expected) {
    reason = "the self-test's open, read and close chain failed: " + done[0].error.message();
    return false;
  }
  entry = Entry();
  return true;
}

bool UringReader::Start(std::string& reason) {
  state_->entries.resize(options_.queue_depth);
  if (!MakeRing(reason) || !SelfTest(reason)) return false;
  state_->event = eventfd(0, EFD_CLOEXEC);
  if (state_->event < 0) {
    reason = "no eventfd: " + std::generic_category().message(errno);
    return false;
  }
  ArmWake();
  return true;
}

UringReader::~UringReader() {
  const auto deadline = std::chrono::steady_clock::now() + kGrace;
  std::vector<SampleJob> dropped;
  if (ring_made_) {
    for (Entry& entry : state_->entries) {
      if (entry.pending == 0) continue;
      const uint64_t tag = static_cast<uint64_t>(&entry - state_->entries.data()) * kStepsPerChain;
      for (const uint64_t step : {tag, tag + 1}) {  // the open or the read, whichever it is at
        io_uring_sqe* sqe = NextSqe(kCancelTag);
        io_uring_prep_cancel64(sqe, step, 0);
        io_uring_sqe_set_data64(sqe, kCancelTag);
      }
    }
    io_uring_submit(&state_->ring);
    while (in_flight_ + lost_ > 0 && std::chrono::steady_clock::now() < deadline) {
      WaitForCompletion(std::chrono::milliseconds(10));
      Reap(dropped);
      dropped.clear();
    }
  }
  if (in_flight_ + lost_ > 0) {
    // Unmapping under a running read would be worse than the leak: ring, paths and buffers stay for ever.
    if (options_.abandoned != nullptr) *options_.abandoned = true;
    (void)state_.release();
    return;
  }
  // The armed read of the eventfd is cancelled by the ring's end; it owns nothing but event_value, freed after it.
  if (ring_made_) io_uring_queue_exit(&state_->ring);
  if (state_->event >= 0) close(state_->event);
}

io_uring_sqe* UringReader::NextSqe(uint64_t tag) noexcept {
  io_uring_sqe* sqe = io_uring_get_sqe(&state_->ring);
  if (sqe == nullptr) {  // full of unsubmitted entries: hand them over
    io_uring_submit(&state_->ring);
    sqe = io_uring_get_sqe(&state_->ring);
  }
  assert(sqe != nullptr);
  io_uring_sqe_set_data64(sqe, tag);
  return sqe;
}

void UringReader::ArmWake() noexcept {
  io_uring_sqe* sqe = NextSqe(kWakeTag);
  io_uring_prep_read(sqe, state_->event, &state_->event_value, sizeof state_->event_value, 0);
  io_uring_sqe_set_data64(sqe, kWakeTag);
  wake_armed_ = true;
}

void UringReader::QueueChain(Entry& entry) noexcept {
  const auto index = static_cast<uint32_t>(&entry - state_->entries.data());
  const Extent& extent = entry.job.extents[entry.extent];
  const uint64_t tag = uint64_t{index} * kStepsPerChain;
  const std::span<uint8_t> to = entry.memory.subspan(entry.landed + entry.extent_got);
  // A chain must not be cut by a submission in the middle.
  if (io_uring_sq_space_left(&state_->ring) < kStepsPerChain) io_uring_submit(&state_->ring);

  io_uring_sqe* open = NextSqe(tag);
  io_uring_prep_openat_direct(open, AT_FDCWD, entry.path.data(), O_RDONLY, 0, index);
  io_uring_sqe_set_flags(open, IOSQE_IO_LINK);  // no read without a file
  io_uring_sqe_set_data64(open, tag);

  io_uring_sqe* read = NextSqe(tag + 1);
  io_uring_prep_read(read, static_cast<int>(index), to.data(),
                     static_cast<unsigned>(std::min(BytesToAsk(extent) - entry.extent_got, kMaxReadBytes)),
                     extent.offset_bytes + entry.extent_got);
  // Hard: a short read (and every read that looks for growth is one) would break a soft link, and the close with it.
  io_uring_sqe_set_flags(read, IOSQE_FIXED_FILE | IOSQE_IO_HARDLINK);
  io_uring_sqe_set_data64(read, tag + 1);

  io_uring_sqe* close = NextSqe(tag + 2);
  io_uring_prep_close_direct(close, index);
  io_uring_sqe_set_data64(close, tag + 2);
  entry.pending = kStepsPerChain;
}

void UringReader::Submit(SampleJob job) noexcept {
  auto place = std::find_if(state_->entries.begin(), state_->entries.end(),
                            [](const Entry& entry) { return entry.pending == 0; });
  assert(place != state_->entries.end());
  place->memory = job.encoded.memory();
  place->job = std::move(job);
  place->extent = 0;
  place->extent_got = place->landed = 0;
  place->start_ns = options_.now();
  ++in_flight_;
  if (!source_.Path(place->job.extents[0].file, place->path.data(), place->path.size())) {
    // Comes back through the ring like every other result, so that Wait has one way to end.
    place->path[0] = '\0';
  }
  QueueChain(*place);
}

void UringReader::Complete(Entry& entry, std::error_code error, std::vector<SampleJob>& done) noexcept {
  if (entry.lost) {
    entry.job.encoded.Release();
    entry.lost = false;
    --lost_;
    return;
  }
  entry.job.error = error;
  entry.job.encoded_bytes = entry.landed;
  done.push_back(std::move(entry.job));
  --in_flight_;
}

void UringReader::FinishChain(Entry& entry, std::vector<SampleJob>& done) noexcept {
  if (entry.open_result < 0) {
    const int error = entry.path[0] == '\0' ? ENAMETOOLONG : -entry.open_result;
    return Complete(entry, {error, std::generic_category()}, done);
  }
  if (entry.lost) return Complete(entry, {}, done);
  if (entry.read_result == -EAGAIN || entry.read_result == -EINTR) return QueueChain(entry);
  if (entry.read_result < 0) return Complete(entry, {-entry.read_result, std::generic_category()}, done);
  const Extent& extent = entry.job.extents[entry.extent];
  entry.extent_got += static_cast<uint64_t>(entry.read_result);
  // Short and not at the end of the file: ask for the rest.
  if (entry.extent_got < extent.bytes && entry.read_result > 0) return QueueChain(entry);
  const std::error_code error = CheckLength(extent, entry.extent_got, entry.job.diagnosis);
  if (error) return Complete(entry, error, done);
  entry.landed += extent.bytes;
  entry.extent_got = 0;
  if (++entry.extent == entry.job.extents.size()) return Complete(entry, {}, done);
  if (!source_.Path(entry.job.extents[entry.extent].file, entry.path.data(), entry.path.size())) entry.path[0] = '\0';
  QueueChain(entry);
}

bool UringReader::Reap(std::vector<SampleJob>& done) noexcept {
  bool woken = false;
  io_uring_cqe* cqe = nullptr;
  while (io_uring_peek_cqe(&state_->ring, &cqe) == 0) {
    const uint64_t tag = io_uring_cqe_get_data64(cqe);
    const int result = cqe->res;
    io_uring_cqe_seen(&state_->ring, cqe);
    if (tag == kWakeTag) {
      woken = true;
      wake_armed_ = false;
      continue;
    }
    if (tag == kCancelTag) continue;
    Entry& entry = state_->entries[tag / kStepsPerChain];
    if (tag % kStepsPerChain == 0) entry.open_result = result;
    if (tag % kStepsPerChain == 1) entry.read_result = result;
    if (--entry.pending == 0) FinishChain(entry, done);
  }
  return woken;
}

void UringReader::ExpireLateReads(std::vector<SampleJob>& done) noexcept {
  const int64_t now = options_.now();
  for (Entry& entry : state_->entries) {
    if (entry.pending == 0 || entry.lost || now - entry.start_ns <= options_.deadline_ns) continue;
    SampleJob late = std::move(entry.job);
    entry.job = SampleJob();
    entry.job.encoded = std::move(late.encoded);
    entry.lost = true;
    late.error = LoadError::kReadTimedOut;
    done.push_back(std::move(late));
    ++lost_;
    --in_flight_;
  }
}

void UringReader::WaitForCompletion(std::chrono::nanoseconds timeout) noexcept {
  __kernel_timespec time = {.tv_sec = timeout.count() / 1'000'000'000, .tv_nsec = timeout.count() % 1'000'000'000};
  io_uring_cqe* cqe = nullptr;
  (void)io_uring_submit_and_wait_timeout(&state_->ring, &cqe, 1, &time, nullptr);
}

void UringReader::Wait(std::vector<SampleJob>& done, std::chrono::nanoseconds timeout) noexcept {
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  const size_t before = done.size();
  if (!wake_armed_) ArmWake();
  // Deferred completions run only where they are asked for, and a wait of no time asks for none.
  (void)io_uring_submit_and_get_events(&state_->ring);
  for (;;) {
    const bool woken = Reap(done);
    ExpireLateReads(done);
    if (woken || done.size() > before) break;
    const auto left = deadline - std::chrono::steady_clock::now();
    if (left <= left.zero()) break;
    WaitForCompletion(left);
  }
}

void UringReader::Wake() noexcept {
  const uint64_t one = 1;
  (void)!write(state_->event, &one, sizeof one);
}

}  // namespace

std::unique_ptr<Reader> MakeUringReader(const Source& source, const Reader::Options& options, std::string& reason) {
  auto reader = std::make_unique<UringReader>(source, options);
  if (!reader->Start(reason)) return nullptr;
  return reader;
}

}  // namespace stoker

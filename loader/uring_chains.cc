#include "loader/uring_chains.h"

#include <fcntl.h>
#include <liburing.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <cerrno>
#include <system_error>
#include <utility>
#include <vector>

namespace stoker {
namespace {

// Completions of one chain; a tag is its index times this, and the step.
constexpr uint32_t kSteps = 3;
constexpr uint64_t kWakeTag = ~uint64_t{0};
constexpr uint64_t kCancelTag = ~uint64_t{1};
constexpr uint32_t kSpareEntries = 8;  // for the event and cancellations

// Sets of ring flags from the best to the plainest, for kernels that do not know them all. Completions run only when
// this thread enters the kernel (DEFER_TASKRUN), which is where it waits for them anyway.
constexpr std::array<unsigned, 3> kFlagSets = {
    IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN | IORING_SETUP_SUBMIT_ALL,
    IORING_SETUP_COOP_TASKRUN | IORING_SETUP_SUBMIT_ALL,
    0,
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

}  // namespace

struct UringChains::State {
  struct Chain {
    uint32_t pending = 0;  // completions that will still come
    int open_result = 0;
    int read_result = 0;
    int64_t opened_ns = 0;
  };

  explicit State(uint32_t count) : chains(count) {}

  io_uring_sqe* NextSqe() noexcept {
    io_uring_sqe* sqe = io_uring_get_sqe(&ring);
    if (sqe == nullptr) {  // full of unsubmitted entries: hand them over
      io_uring_submit(&ring);
      sqe = io_uring_get_sqe(&ring);
    }
    assert(sqe != nullptr);
    return sqe;
  }

  void ArmEvent() noexcept {
    io_uring_sqe* sqe = NextSqe();
    io_uring_prep_read(sqe, event, &event_value, sizeof event_value, 0);
    io_uring_sqe_set_data64(sqe, kWakeTag);
    armed = true;
  }

  bool IsLocked(std::span<uint8_t> memory) const noexcept {
    return !locked.empty() && memory.data() >= locked.data() &&
           memory.data() + memory.size() <= locked.data() + locked.size();
  }

  io_uring ring = {};
  bool made = false;
  std::vector<Chain> chains;
  std::span<uint8_t> locked;
  int event = -1;
  uint64_t event_value = 0;
  bool armed = false;
  bool woken = false;
};

UringChains::UringChains(uint32_t chains) : state_(std::make_unique<State>(chains)) {}

UringChains::~UringChains() {
  if (state_ == nullptr) return;
  // The armed read of the event is cancelled by the ring's end; it owns nothing but event_value, freed after it.
  if (state_->made) io_uring_queue_exit(&state_->ring);
  if (state_->event >= 0) close(state_->event);
}

bool UringChains::Make(std::string& reason) {
  const auto chains = static_cast<uint32_t>(state_->chains.size());
  int result = -EINVAL;
  for (size_t i = 0; i < kFlagSets.size() && result == -EINVAL; ++i) {
    // The functions of liburing return the error; they do not set errno.
    result = io_uring_queue_init(chains * kSteps + kSpareEntries, &state_->ring, kFlagSets[i]);
  }
  if (result < 0) {
    reason = ReasonFor(-result);
    return false;
  }
  state_->made = true;
  const std::vector<int> empty(chains, -1);
  result = io_uring_register_files(&state_->ring, empty.data(), chains);
  if (result < 0) {
    reason = "no table of direct descriptors: " + ReasonFor(-result);
    return false;
  }
  state_->event = eventfd(0, EFD_CLOEXEC);
  if (state_->event < 0) {
    reason = "no eventfd: " + std::generic_category().message(errno);
    return false;
  }
  state_->ArmEvent();
  return true;
}

bool UringChains::LockMemory(std::span<uint8_t> memory, std::string& reason) {
  // The kernel takes no more than 1 GiB a buffer: of what is behind, reads look the pages up.
  const iovec buffer = {memory.data(), std::min(memory.size(), size_t{1} << 30)};
  if (const int result = io_uring_register_buffers(&state_->ring, &buffer, 1); result < 0) {
    reason = ReasonFor(-result);
    return false;
  }
  state_->locked = memory.first(buffer.iov_len);
  return true;
}

void UringChains::Queue(uint32_t index, const char* path, std::span<uint8_t> to, uint64_t offset) noexcept {
  assert(!under_way(index));
  const uint64_t tag = uint64_t{index} * kSteps;
  // A chain must not be cut by a submission in the middle.
  if (io_uring_sq_space_left(&state_->ring) < kSteps) io_uring_submit(&state_->ring);

  io_uring_sqe* open = state_->NextSqe();
  io_uring_prep_openat_direct(open, AT_FDCWD, path, O_RDONLY, 0, index);
  io_uring_sqe_set_flags(open, IOSQE_IO_LINK);  // no read without a file
  io_uring_sqe_set_data64(open, tag);

  io_uring_sqe* read = state_->NextSqe();
  const auto file = static_cast<int>(index);
  const auto bytes = static_cast<unsigned>(to.size());
  if (state_->IsLocked(to)) {
    io_uring_prep_read_fixed(read, file, to.data(), bytes, offset, 0);
  } else {
    io_uring_prep_read(read, file, to.data(), bytes, offset);
  }
  // Hard: a short read (and every read that looks for growth is one) would break a soft link, and the close with it.
  io_uring_sqe_set_flags(read, IOSQE_FIXED_FILE | IOSQE_IO_HARDLINK);
  io_uring_sqe_set_data64(read, tag + 1);

  io_uring_sqe* close = state_->NextSqe();
  io_uring_prep_close_direct(close, index);
  io_uring_sqe_set_data64(close, tag + 2);
  state_->chains[index].pending = kSteps;
}

void UringChains::Submit() noexcept {
  // Deferred completions run only where they are asked for, and a wait of no time asks for none.
  (void)io_uring_submit_and_get_events(&state_->ring);
}

void UringChains::Cancel(uint32_t index) noexcept {
  const uint64_t tag = uint64_t{index} * kSteps;
  for (const uint64_t step : {tag, tag + 1}) {  // the open or the read, whichever it is at
    io_uring_sqe* sqe = state_->NextSqe();
    io_uring_prep_cancel64(sqe, step, 0);
    io_uring_sqe_set_data64(sqe, kCancelTag);
  }
}

bool UringChains::TakeFinished(int64_t now_ns, Finished& finished) noexcept {
  io_uring_cqe* cqe = nullptr;
  while (io_uring_peek_cqe(&state_->ring, &cqe) == 0) {
    const uint64_t tag = io_uring_cqe_get_data64(cqe);
    const int result = cqe->res;
    io_uring_cqe_seen(&state_->ring, cqe);
    if (tag == kWakeTag) {
      state_->woken = true;
      state_->armed = false;
    }
    if (tag == kWakeTag || tag == kCancelTag) continue;
    State::Chain& chain = state_->chains[tag / kSteps];
    if (tag % kSteps == 0) {
      chain.open_result = result;
      chain.opened_ns = now_ns;
    }
    if (tag % kSteps == 1) {
      chain.read_result = result;
      if (chain.opened_ns == now_ns) chain.opened_ns = 0;
    }
    if (--chain.pending > 0) continue;
    finished = {static_cast<uint32_t>(tag / kSteps), chain.open_result, chain.read_result, chain.opened_ns};
    return true;
  }
  return false;
}

bool UringChains::under_way(uint32_t index) const noexcept { return state_->chains[index].pending > 0; }

void UringChains::Wait(std::chrono::nanoseconds timeout) noexcept {
  constexpr int64_t kNsPerSecond = 1'000'000'000;
  __kernel_timespec time = {.tv_sec = timeout.count() / kNsPerSecond, .tv_nsec = timeout.count() % kNsPerSecond};
  io_uring_cqe* cqe = nullptr;
  (void)io_uring_submit_and_wait_timeout(&state_->ring, &cqe, 1, &time, nullptr);
}

void UringChains::Wake() noexcept {
  const uint64_t one = 1;
  (void)!write(state_->event, &one, sizeof one);
}

bool UringChains::TakeWoken() noexcept {
  if (!state_->armed) state_->ArmEvent();
  return std::exchange(state_->woken, false);
}

void UringChains::Abandon() noexcept { (void)state_.release(); }

}  // namespace stoker

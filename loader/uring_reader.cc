#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <cerrno>
#include <climits>
#include <cstring>

#include "loader/read_cursor.h"
#include "loader/reader.h"
#include "loader/uring_chains.h"

namespace stoker {
namespace {

// How long the destructor waits for reads in flight before it leaves them to the kernel.
constexpr std::chrono::milliseconds kGrace{800};
constexpr std::chrono::seconds kSelfTestPatience{1};

// One job being read, extent by extent, on the chain of the same index. The kernel reads the path and writes the buffer
// that the job holds.
struct Entry {
  SampleJob job;
  ReadCursor cursor;
  int64_t start_ns = 0;
  bool lost = false;  // the job left without its buffer
  std::array<char, PATH_MAX> path = {};
};

// No threads of its own. Paths and self-test bytes live where they can be abandoned with the ring.
class UringReader final : public Reader {
 public:
  UringReader(const Source& source, const Options& options)
      : source_(source),
        options_(options),
        chains_(options.queue_depth),
        entries_(std::make_unique<std::vector<Entry>>(options.queue_depth)) {}
  ~UringReader() override;

  // Sets the ring up and proves it by a real chain of open, read and close. False with the reason where it fails.
  bool Start(std::string& reason) {
    if (!chains_.Make(reason) || !SelfTest(reason)) return false;
    if (options_.fixed.empty()) return true;
    std::string refusal;
    about_fixed_ = chains_.LockMemory(options_.fixed, refusal) ? "fixed buffers" : "no fixed buffers: " + refusal;
    return true;
  }

  std::string_view name() const noexcept override { return "io_uring"; }
  std::string_view about_fixed() const noexcept override { return about_fixed_; }
  bool has_room() const noexcept override { return in_flight_ + lost_ < options_.queue_depth; }
  uint32_t in_flight() const noexcept override { return in_flight_; }
  void Submit(SampleJob job) noexcept override;
  void Wait(std::vector<SampleJob>& done, std::chrono::nanoseconds timeout) noexcept override;
  void Wake() noexcept override { chains_.Wake(); }

 private:
  bool SelfTest(std::string& reason);
  void Queue(uint32_t index) noexcept;
  void FindPath(Entry& entry) noexcept;
  // `slept`: the caller has waited for what is there now.
  void Collect(std::vector<SampleJob>& done, bool slept) noexcept;
  void Finish(const UringChains::Finished& chain, std::vector<SampleJob>& done) noexcept;
  void Complete(Entry& entry, std::error_code error, std::vector<SampleJob>& done) noexcept;
  void ExpireLateReads(std::vector<SampleJob>& done) noexcept;

  const Source& source_;
  const Options options_;
  UringChains chains_;
  std::unique_ptr<std::vector<Entry>> entries_;
  std::string about_fixed_;
  int64_t looked_ns_ = 0;  // for completions, the last time
  int64_t late_ns_ = 0;    // of those found now that were under way then
  uint32_t in_flight_ = 0;
  uint32_t lost_ = 0;
};

// A version number says little (distributions back-port, sandboxes cut): only a chain that worked is believed.
bool UringReader::SelfTest(std::string& reason) {
  constexpr const char* kFile = "/proc/self/exe";
  std::array<uint8_t, 64> expected = {};
  const int file = open(kFile, O_RDONLY | O_CLOEXEC);
  const bool readable =
      file >= 0 && pread(file, expected.data(), expected.size(), 0) == static_cast<ssize_t>(expected.size());
  if (file >= 0) close(file);
  if (!readable) {
    reason = "the self-test could not read its own program";
    return false;
  }
  // The second half of the entry's own path holds the bytes: they are given up together with it.
  Entry& entry = (*entries_)[0];
  std::strcpy(entry.path.data(), kFile);
  const std::span<uint8_t> got(reinterpret_cast<uint8_t*>(entry.path.data()) + PATH_MAX / 2, expected.size());
  chains_.Queue(0, entry.path.data(), got, 0);
  const auto deadline = std::chrono::steady_clock::now() + kSelfTestPatience;
  UringChains::Finished chain;
  bool finished = false;
  while (!finished && std::chrono::steady_clock::now() < deadline) {
    chains_.Wait(kSelfTestPatience / 10);
    finished = chains_.TakeFinished(options_.now(), chain);
  }
  if (!finished) {
    entry.lost = true;  // left to the kernel if it does not come back by the end either
    lost_ = 1;
    reason = "the self-test's read did not come back within a second";
    return false;
  }
  if (chain.open_result < 0 || !std::equal(got.begin(), got.end(), expected.begin())) {
    const int error = std::min({chain.open_result, chain.read_result, 0});
    reason = "the self-test's open, read and close chain failed: " +
             (error < 0 ? std::generic_category().message(-error) : "other bytes");
    return false;
  }
  return true;
}

UringReader::~UringReader() {
  std::vector<SampleJob> dropped;
  const auto deadline = std::chrono::steady_clock::now() + kGrace;
  if (in_flight_ + lost_ > 0) {
    for (uint32_t i = 0; i < options_.queue_depth; ++i) {
      if (chains_.under_way(i)) chains_.Cancel(i);
    }
  }
  while (in_flight_ + lost_ > 0 && std::chrono::steady_clock::now() < deadline) {
    chains_.Wait(std::chrono::milliseconds(10));
    Collect(dropped, true);
    dropped.clear();
  }
  if (in_flight_ + lost_ == 0) return;
  // Unmapping under a running read would be worse than the leak: ring, paths and buffers stay for ever.
  if (options_.abandoned != nullptr) *options_.abandoned = true;
  chains_.Abandon();
  (void)entries_.release();
}

void UringReader::FindPath(Entry& entry) noexcept {
  // A path that does not fit fails to open, and so comes back through the ring like every other result.
  if (!source_.Path(entry.cursor.file(), entry.path.data(), entry.path.size())) entry.path[0] = '\0';
}

void UringReader::Queue(uint32_t index) noexcept {
  const Entry& entry = (*entries_)[index];
  chains_.Queue(index, entry.path.data(), entry.cursor.target(), entry.cursor.offset_bytes());
}

void UringReader::Submit(SampleJob job) noexcept {
  uint32_t index = 0;
  while (chains_.under_way(index)) ++index;
  Entry& entry = (*entries_)[index];
  entry.cursor = ReadCursor(job.extents, job.encoded.memory());
  entry.job = std::move(job);
  entry.start_ns = options_.now();
  ++in_flight_;
  FindPath(entry);
  Queue(index);
}

void UringReader::Complete(Entry& entry, std::error_code error, std::vector<SampleJob>& done) noexcept {
  if (entry.lost) {
    entry.job.encoded.Release();
    entry.lost = false;
    --lost_;
    return;
  }
  entry.job.error = error;
  entry.job.encoded_bytes = entry.cursor.landed_bytes();
  if (entry.start_ns < looked_ns_) entry.job.late_ns = late_ns_;
  done.push_back(std::move(entry.job));
  --in_flight_;
}

void UringReader::Finish(const UringChains::Finished& chain, std::vector<SampleJob>& done) noexcept {
  Entry& entry = (*entries_)[chain.index];
  if (chain.open_result < 0) {
    const int error = entry.path[0] == '\0' ? ENAMETOOLONG : -chain.open_result;
    return Complete(entry, {error, std::generic_category()}, done);
  }
  if (entry.job.opened_ns == 0) entry.job.opened_ns = chain.opened_ns;
  if (entry.lost) return Complete(entry, {}, done);
  if (chain.read_result == -EAGAIN || chain.read_result == -EINTR) return Queue(chain.index);
  if (chain.read_result < 0) return Complete(entry, {-chain.read_result, std::generic_category()}, done);
  std::error_code error;
  switch (entry.cursor.Advance(static_cast<uint64_t>(chain.read_result), entry.job.diagnosis, error)) {
    case ReadCursor::Step::kDone:
      return Complete(entry, error, done);
    case ReadCursor::Step::kNextExtent:
      FindPath(entry);
      break;
    case ReadCursor::Step::kSameFile:
      break;
  }
  Queue(chain.index);
}

void UringReader::Collect(std::vector<SampleJob>& done, bool slept) noexcept {
  const int64_t now = options_.now();
  // What is there without a wait came at some time since the last look: half of that ago, on the average.
  late_ns_ = slept ? 0 : (now - looked_ns_) / 2;
  UringChains::Finished chain;
  while (chains_.TakeFinished(now, chain)) Finish(chain, done);
  looked_ns_ = now;
}

void UringReader::ExpireLateReads(std::vector<SampleJob>& done) noexcept {
  const int64_t now = options_.now();
  for (uint32_t i = 0; i < options_.queue_depth; ++i) {
    Entry& entry = (*entries_)[i];
    if (!chains_.under_way(i) || entry.lost || now - entry.start_ns <= options_.deadline_ns) continue;
    done.push_back(TakeLate(entry.job));
    entry.lost = true;
    ++lost_;
    --in_flight_;
  }
}

void UringReader::Wait(std::vector<SampleJob>& done, std::chrono::nanoseconds timeout) noexcept {
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  const size_t before = done.size();
  chains_.Submit();
  for (bool slept = false;; slept = true) {
    Collect(done, slept);
    ExpireLateReads(done);
    if (chains_.TakeWoken() || done.size() > before) break;
    const auto left = deadline - std::chrono::steady_clock::now();
    if (left <= left.zero()) break;
    chains_.Wait(left);
  }
}

}  // namespace

std::unique_ptr<Reader> MakeUringReader(const Source& source, const Reader::Options& options, std::string& reason) {
  auto reader = std::make_unique<UringReader>(source, options);
  if (!reader->Start(reason)) return nullptr;
  return reader;
}

}  // namespace stoker

#include "loader/monitor/live_feed.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <exception>
#include <system_error>
#include <utility>

#include "loader/monitor/feed_reader.h"

namespace stoker {
namespace {

// Loaders of a process, or processes of one number in containers that share a folder.
constexpr int kMostFeeds = 256;

std::string Reason(int error) { return std::generic_category().message(error); }

// All of it, or the error.
int WriteAt(int file, std::string_view bytes, int64_t offset) noexcept {
  while (!bytes.empty()) {
    const ssize_t written = pwrite(file, bytes.data(), bytes.size(), offset);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return written < 0 ? errno : ENOSPC;
    bytes.remove_prefix(static_cast<size_t>(written));
    offset += written;
  }
  return 0;
}

// Beyond a limit on the size of files, writing would end the process by a signal.
bool FilesMayBeThatLarge() noexcept {
  struct rlimit limit = {};
  return getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur >= static_cast<rlim_t>(kFeedBytes);
}

std::string LineWithoutNames(const StepReport& report) {
  if (report.stalls.skipped.empty()) return ToJsonLine(report);
  StepReport shorter = report;
  shorter.stalls.skipped.clear();
  return ToJsonLine(shorter);
}

}  // namespace

uint64_t FeedChecksum(const FeedRecord& record, std::string_view text) noexcept {
  constexpr uint64_t kBasis = 0xcbf29ce484222325, kPrime = 0x100000001b3;
  uint64_t sum = kBasis;
  const auto add = [&sum](std::string_view bytes) {
    for (const char byte : bytes) sum = (sum ^ static_cast<uint8_t>(byte)) * kPrime;
  };
  std::array<char, sizeof(FeedRecord)> fields;
  std::memcpy(fields.data(), &record, sizeof(record));
  add(std::string_view(fields.data(), fields.size()).substr(sizeof(record.checksum)));
  add(text);
  return sum;
}

LiveFeed::LiveFeed(FeedPlace place, NowFn now) : place_(std::move(place)), now_(now), pid_(getpid()) {}

LiveFeed::~LiveFeed() { Close(); }

void LiveFeed::Publish(const StepReport& report) noexcept {
  try {
    if (Ready()) Write(LineWithoutNames(report));
  } catch (const std::exception&) {
    given_up_ = true;  // out of memory: the last thing to be written of
  }
}

void LiveFeed::SetWaiting(bool waits) noexcept {
  if (waits == waits_) return;
  waits_ = waits;
  try {
    const int64_t since_ns = waits ? now_() : 0;
    std::array<char, sizeof(since_ns)> bytes;
    std::memcpy(bytes.data(), &since_ns, sizeof(since_ns));
    if (Ready()) (void)WriteAt(file_, {bytes.data(), bytes.size()}, offsetof(FeedHeader, waits_since_ns));
  } catch (const std::exception&) {
    given_up_ = true;
  }
}

bool LiveFeed::Ready() {
  if (given_up_ || getpid() != pid_) return false;
  if (file_ >= 0 && RemovedByOthers()) Close();
  if (file_ < 0) Open();
  return file_ >= 0;
}

void LiveFeed::Open() {
  given_up_ = true;
  if (!FilesMayBeThatLarge()) {
    trouble_ = fmt::format("this process may not write files of {} bytes (RLIMIT_FSIZE)", kFeedBytes);
    return;
  }
  RemoveDeadFeeds(place_);
  FeedHeader header;
  header.owner = OwnFeedOwner(place_.root);
  if (!Create(header.owner)) return;
  std::array<char, sizeof(header)> bytes;
  std::memcpy(bytes.data(), &header, sizeof(header));
  // Room for all of it at once, so that a full file system shows here.
  int error = posix_fallocate(file_, 0, kFeedBytes);
  if (error == 0) error = WriteAt(file_, {bytes.data(), bytes.size()}, 0);
  if (error != 0) {
    trouble_ = fmt::format("{}: {}", path_, Reason(error));
    Close();
    return;
  }
  given_up_ = false;
}

bool LiveFeed::Create(const FeedOwner& owner) {
  for (int number = 0; number < kMostFeeds; ++number) {
    path_ = fmt::format("{}/{}", place_.folder, FeedName(geteuid(), owner.pid, number));
    file_ = open(path_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, S_IRUSR | S_IWUSR);
    if (file_ >= 0) return true;
    if (errno != EEXIST) break;
  }
  trouble_ = fmt::format("{}: {}", path_, Reason(errno));
  path_.clear();
  return false;
}

void LiveFeed::Write(std::string_view text) {
  if (text.size() > kMaxFeedText) {
    trouble_ = fmt::format("a report of {} bytes, {} are the most", text.size(), kMaxFeedText);
    return;
  }
  FeedRecord record;
  record.sequence = ++sequence_;
  record.published_ns = now_();
  record.text_bytes = text.size();
  record.checksum = FeedChecksum(record, text);
  std::memcpy(record_.data(), &record, sizeof(record));
  std::memcpy(record_.data() + sizeof(record), text.data(), text.size());
  const int64_t offset = kFeedRecordOffset + static_cast<int64_t>(sequence_ % 2 * kFeedRecordBytes);
  const int error = WriteAt(file_, {record_.data(), sizeof(record) + text.size()}, offset);
  trouble_ = error == 0 ? "" : fmt::format("{}: {}", path_, Reason(error));
}

bool LiveFeed::RemovedByOthers() const noexcept {
  struct stat status = {};
  return fstat(file_, &status) == 0 && status.st_nlink == 0;
}

void LiveFeed::Close() noexcept {
  if (file_ < 0) return;
  if (getpid() == pid_ && !RemovedByOthers()) unlink(path_.c_str());
  close(file_);
  file_ = -1;
  path_.clear();
}

}  // namespace stoker

#include "loader/monitor/feed_reader.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstring>
#include <memory>
#include <string_view>
#include <utility>

#include "loader/machine/kernel_text.h"

namespace stoker {
namespace {

constexpr std::string_view kPrefix = "stoker-";
// A record that is being written is whole a moment later, and the other one meanwhile.
constexpr int kTries = 3;

struct NameParts {
  uid_t user = 0;
  int32_t pid = 0;
  int32_t number = 0;
};

template <typename Number>
bool TakePart(std::string_view& text, char end, Number& number) {
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || rest == text.data()) return false;
  text.remove_prefix(static_cast<size_t>(rest - text.data()));
  if (end == '\0') return text.empty();
  if (!text.starts_with(end)) return false;
  text.remove_prefix(1);
  return true;
}

std::optional<NameParts> ParseName(std::string_view name) {
  if (!name.starts_with(kPrefix)) return std::nullopt;
  name.remove_prefix(kPrefix.size());
  NameParts parts;
  if (!TakePart(name, '-', parts.user) || !TakePart(name, '-', parts.pid) || !TakePart(name, '\0', parts.number)) {
    return std::nullopt;
  }
  return parts.pid > 0 && parts.number >= 0 ? std::optional(parts) : std::nullopt;
}

// As many bytes as there are, to the size of `bytes`.
size_t ReadAt(int file, int64_t offset, char* bytes, size_t size) {
  size_t got = 0;
  while (got < size) {
    const ssize_t read = pread(file, bytes + got, size - got, offset + static_cast<int64_t>(got));
    if (read < 0 && errno == EINTR) continue;
    if (read <= 0) break;
    got += static_cast<size_t>(read);
  }
  return got;
}

// The record, where it is whole and newer than the one that was found already.
void ReadRecord(int file, int64_t offset, uint64_t& newest, FeedReading& reading) {
  std::array<char, kFeedRecordBytes> bytes;
  const size_t got = ReadAt(file, offset, bytes.data(), bytes.size());
  FeedRecord record;
  if (got < sizeof(record)) return;
  std::memcpy(&record, bytes.data(), sizeof(record));
  if (record.sequence <= newest || record.text_bytes > got - sizeof(record)) return;
  const std::string_view text(bytes.data() + sizeof(record), record.text_bytes);
  if (record.checksum != FeedChecksum(record, text)) return;
  newest = record.sequence;
  reading.line = text;
  reading.published_ns = record.published_ns;
}

class File {
 public:
  explicit File(const std::string& path)
      : number_(open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)) {}
  ~File() {
    if (number_ >= 0) close(number_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  int number() const noexcept { return number_; }
  bool IsFileOf(uid_t user) const noexcept {
    struct stat status = {};
    return number_ >= 0 && fstat(number_, &status) == 0 && S_ISREG(status.st_mode) && status.st_uid == user;
  }

 private:
  const int number_;
};

std::optional<FeedReading> ReadFeed(const std::string& path, const NameParts& name, const FeedOwner& self,
                                    const std::string& root) {
  const File file(path);
  if (!file.IsFileOf(name.user)) return std::nullopt;
  std::array<char, sizeof(FeedHeader)> bytes;
  FeedHeader header;
  if (ReadAt(file.number(), 0, bytes.data(), bytes.size()) < bytes.size()) return std::nullopt;
  std::memcpy(&header, bytes.data(), sizeof(header));
  if (header.magic != kFeedMagic || header.owner.pid != name.pid) return std::nullopt;
  FeedReading reading;
  reading.owner = header.owner;
  reading.number = name.number;
  reading.waits_since_ns = header.waits_since_ns;
  reading.own_namespace = header.owner.pid_namespace == 0 || header.owner.pid_namespace == self.pid_namespace;
  reading.lives = !reading.own_namespace || Lives(header.owner, root);
  for (int i = 0; i < kTries && reading.line.empty(); ++i) {
    uint64_t newest = 0;
    for (const int64_t record : {0, 1}) {
      ReadRecord(file.number(), kFeedRecordOffset + record * static_cast<int64_t>(kFeedRecordBytes), newest, reading);
    }
  }
  return reading;
}

// State and start of a process, from /proc/PID/stat: the third field, and the 22nd.
struct ProcessStat {
  char state = 0;
  uint64_t start_ticks = 0;
};
std::optional<ProcessStat> ReadStat(const std::string& root, const std::string& pid) {
  constexpr int kFieldsBetween = 18;
  const std::string text = ReadKernelText(fmt::format("{}/proc/{}/stat", root, pid));
  const size_t name_end = text.rfind(") ");  // the name may hold anything
  if (name_end == std::string::npos || name_end + 3 >= text.size()) return std::nullopt;
  ProcessStat stat;
  stat.state = text[name_end + 2];
  std::string_view rest = std::string_view(text).substr(name_end + 3);
  for (int i = 0; i < kFieldsBetween; ++i) {
    rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
    rest.remove_prefix(std::min(rest.find(' '), rest.size()));
  }
  stat.start_ticks = static_cast<uint64_t>(TakeNumber(rest).value_or(0));
  return stat;
}

template <typename Take>
void ForEachName(const FeedPlace& place, const Take& take) {
  const auto close_folder = [](DIR* folder) { closedir(folder); };
  const std::unique_ptr<DIR, decltype(close_folder)> folder(opendir(place.folder.c_str()));
  if (folder == nullptr) return;
  while (const dirent* entry = readdir(folder.get())) {
    if (const std::optional<NameParts> parts = ParseName(entry->d_name)) {
      take(fmt::format("{}/{}", place.folder, entry->d_name), *parts);
    }
  }
}

}  // namespace

std::string FeedName(uid_t user, int32_t pid, int number) {
  return fmt::format("{}{}-{}-{}", kPrefix, user, pid, number);
}

FeedOwner OwnFeedOwner(const std::string& root) {
  FeedOwner owner;
  owner.pid = getpid();
  if (const auto stat = ReadStat(root, "self")) owner.start_ticks = stat->start_ticks;
  struct stat pid_namespace = {};
  if (stat((root + "/proc/self/ns/pid").c_str(), &pid_namespace) == 0) owner.pid_namespace = pid_namespace.st_ino;
  return owner;
}

bool Lives(const FeedOwner& owner, const std::string& root) {
  if (const auto stat = ReadStat(root, std::to_string(owner.pid))) {
    const bool ended = stat->state == 'Z' || stat->state == 'X' || stat->state == 'x';
    const bool another = owner.start_ticks != 0 && stat->start_ticks != 0 && owner.start_ticks != stat->start_ticks;
    return !ended && !another;
  }
  if (ReadStat(root, "self")) return false;  // /proc is there, the process is not
  return kill(owner.pid, 0) == 0 || errno != ESRCH;
}

std::vector<FeedReading> ReadFeeds(const FeedPlace& place, std::optional<int32_t> pid) {
  const FeedOwner self = OwnFeedOwner(place.root);
  const uid_t user = geteuid();
  std::vector<FeedReading> readings;
  ForEachName(place, [&](const std::string& path, const NameParts& name) {
    if ((user != 0 && name.user != user) || (pid && name.pid != *pid)) return;
    if (auto reading = ReadFeed(path, name, self, place.root)) readings.push_back(std::move(*reading));
  });
  std::ranges::sort(readings, {},
                    [](const FeedReading& reading) { return std::pair(reading.owner.pid, reading.number); });
  return readings;
}

void RemoveDeadFeeds(const FeedPlace& place) {
  const FeedOwner self = OwnFeedOwner(place.root);
  ForEachName(place, [&](const std::string& path, const NameParts& name) {
    if (name.user != geteuid()) return;
    const std::optional<FeedReading> reading = ReadFeed(path, name, self, place.root);
    if (reading && !reading->lives) unlink(path.c_str());
  });
}

}  // namespace stoker

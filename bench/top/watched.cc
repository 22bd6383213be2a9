#include "bench/top/watched.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "loader/machine/kernel_text.h"

namespace stoker {
namespace {

// Of a long file, only the end is read; a line that is longer is none of ours.
constexpr int64_t kMostBytes = int64_t{1} << 20;
constexpr double kNsPerSecond = 1e9;

constexpr const char* kNoFeed =
    "No loader of this process has given out a batch yet. Or it has none of ours, or its live_feed is off, or /dev/shm "
    "is "
    "full or not to be written to there, or it runs in a container that has a /dev/shm of its own.";

}  // namespace

std::string JobName(int32_t pid, const std::string& root) {
  std::string line = ReadKernelText(fmt::format("{}/proc/{}/cmdline", root, pid));
  while (line.ends_with('\0')) line.pop_back();
  if (line.empty()) return fmt::format("process {}", pid);
  const size_t end = std::min(line.find('\0'), line.size());
  const size_t slash = line.rfind('/', end);
  if (slash != std::string::npos && slash < end) line.erase(0, slash + 1);
  std::ranges::replace(line, '\0', ' ');
  return Printable(line);
}

WatchedProcess::WatchedProcess(int32_t pid, FeedPlace place, NowFn now)
    : place_(std::move(place)), now_(now), job_(JobName(pid, place_.root)) {
  owner_.pid = pid;
}

// Those of living processes, where there are some: a number is used again.
std::vector<FeedReading> WatchedProcess::Readings() const {
  std::vector<FeedReading> readings = ReadFeeds(place_, owner_.pid);
  if (std::ranges::any_of(readings, &FeedReading::lives)) {
    std::erase_if(readings, [](const FeedReading& reading) { return !reading.lives; });
  }
  return readings;
}

// The writer's clock is ours, unless it is made up.
double WatchedProcess::SecondsSince(int64_t ns) const {
  return std::max(static_cast<double>(now_()) - static_cast<double>(ns), 0.0) / kNsPerSecond;
}

bool WatchedProcess::Update(JobView& view) {
  view.job = job_;
  view.where = fmt::format("pid {}", owner_.pid);
  const std::vector<FeedReading> readings = Readings();
  std::vector<LoaderView> loaders;
  std::vector<std::string> lines;
  std::optional<double> waiting_seconds;
  for (const FeedReading& reading : readings) {
    waiting_seconds.reset();
    if (reading.waits_since_ns > 0) waiting_seconds = SecondsSince(reading.waits_since_ns);
    std::optional<ReportView> report = ReportView::Parse(reading.line);
    if (!report) continue;
    loaders.push_back({std::move(*report), SecondsSince(reading.published_ns), waiting_seconds});
    lines.push_back(reading.line);
  }
  if (!readings.empty()) {
    had_feed_ = true;
    owner_ = readings.front().owner;
    own_namespace_ = readings.front().own_namespace;
  }
  if (!own_namespace_) view.job = "(a process of another container)";
  if (!loaders.empty()) {
    view.loaders = std::move(loaders);
    lines_ = std::move(lines);
  }
  view.selected = std::min(view.selected, view.loaders.empty() ? 0 : view.loaders.size() - 1);
  const bool lives = !own_namespace_ || Lives(owner_, place_.root);
  view.explanation = !view.loaders.empty() ? ""
                     : waiting_seconds     ? fmt::format("Waiting for the first batch for {:.0f} s.", *waiting_seconds)
                                           : kNoFeed;
  view.notice = !lives                          ? fmt::format("process {} has ended", owner_.pid)
                : had_feed_ && readings.empty() ? "its loaders are closed"
                                                : "";
  return lives;
}

WatchedFile::WatchedFile(std::string path, double (*unix_now)()) : path_(std::move(path)), unix_now_(unix_now) {
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(path_, error);
  if (!std::filesystem::exists(status)) {
    throw std::invalid_argument(fmt::format("{}: there is no such file", path_));
  }
  if (!std::filesystem::is_regular_file(status)) throw std::invalid_argument(fmt::format("{} is no file", path_));
  if (access(path_.c_str(), R_OK) != 0) {
    throw std::invalid_argument(fmt::format("{}: {}", path_, std::generic_category().message(errno)));
  }
}

bool WatchedFile::Update(JobView& view) {
  view.job = Printable(path_);
  view.live = false;
  const int file = open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  view.notice = file < 0 ? "the file is gone or cannot be read" : "";
  if (file >= 0) {
    ReadOn(file);
    close(file);
  }
  view.damaged = damaged_;
  view.explanation = newest_ ? "" : "No report in this file yet; report_file= or --report-file write one.";
  if (newest_) {
    const double written = newest_->NumberOr("/unix_seconds", unix_now_());
    view.loaders = {{*newest_, std::max(unix_now_() - written, 0.0), std::nullopt}};
  }
  return true;
}

void WatchedFile::ReadOn(int file) {
  struct stat status = {};
  if (fstat(file, &status) != 0 || !S_ISREG(status.st_mode)) return;
  if (inode_ != status.st_ino || status.st_size < offset_) {
    inode_ = status.st_ino;
    offset_ = std::max<int64_t>(status.st_size - kMostBytes, 0);
    in_middle_ = offset_ > 0;
    unfinished_.clear();
  }
  std::array<char, 65536> bytes;
  for (;;) {
    const ssize_t got = pread(file, bytes.data(), bytes.size(), offset_);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return;
    offset_ += got;
    Take({bytes.data(), static_cast<size_t>(got)});
  }
}

void WatchedFile::Take(std::string_view bytes) {
  while (!bytes.empty()) {
    const size_t end = bytes.find('\n');
    unfinished_ += bytes.substr(0, end);
    if (end == std::string_view::npos) break;
    bytes.remove_prefix(end + 1);
    if (!in_middle_) TakeLine(unfinished_);
    in_middle_ = false;
    unfinished_.clear();
  }
  if (unfinished_.size() <= static_cast<size_t>(kMostBytes)) return;
  unfinished_.clear();
  if (!in_middle_) ++damaged_;
  in_middle_ = true;
}

void WatchedFile::TakeLine(std::string_view line) {
  if (line.empty()) return;
  if (std::optional<ReportView> report = ReportView::Parse(line)) {
    newest_ = std::move(report);
    lines_ = {std::string(line)};
  } else {
    ++damaged_;
  }
}

}  // namespace stoker

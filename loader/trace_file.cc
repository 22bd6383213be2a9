#include "loader/trace_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <system_error>

#include "loader/file_source.h"

namespace stoker {
namespace {

constexpr size_t kBufferBytes = size_t{1} << 18;
constexpr int kTries = 100;

// Another file, or the one that a link leads to: renaming would replace the link.
std::string Target(const std::string& path) {
  std::error_code error;
  const std::filesystem::path target = std::filesystem::weakly_canonical(path, error);
  return error || target.empty() ? path : target.string();
}

// Viewers want microseconds, and cut what they make of the number down to whole nanoseconds: the hundredth of one makes
// up for what a binary fraction lacks.
std::string Microseconds(int64_t ns) { return fmt::format("{}.{:03}01", ns / 1000, ns % 1000); }

}  // namespace

std::string JsonString(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : ValidUtf8(text)) {
    if (c == '"' || c == '\\') quoted += '\\';
    if (static_cast<unsigned char>(c) < 0x20) {
      quoted += fmt::format("\\u{:04x}", static_cast<int>(c));
    } else {
      quoted += c;
    }
  }
  return quoted += '"';
}

TraceFile::TraceFile(const std::string& path, int64_t begin_ns) : path_(Target(path)), begin_ns_(begin_ns) {
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(path_, error);
  // A device or a pipe would be replaced by a file.
  if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status)) {
    Fail(std::filesystem::is_directory(status) ? EISDIR : EINVAL);
  }
  // A name that nobody else has: several processes of a job may write the same path, or have died doing so.
  for (int i = 0; i < kTries && file_ < 0; ++i) {
    temporary_ = fmt::format("{}.{}-{}.tmp", path_, getpid(),
                             std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1));
    file_ = open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (file_ < 0 && errno != EEXIST) break;
  }
  if (file_ < 0) {
    temporary_.clear();
    Fail(errno);
  }
  buffer_.reserve(kBufferBytes + 4096);
  buffer_ += fmt::format(
      "{{\"displayTimeUnit\":\"ms\",\"otherData\":{{\"clock\":\"steady\",\"begin_ns\":{}}},\"traceEvents\":[\n"
      "{{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":{},\"args\":{{\"name\":\"stoker\"}}}}",
      begin_ns_, getpid());
}

TraceFile::~TraceFile() {
  if (file_ >= 0) close(file_);
  if (!temporary_.empty()) unlink(temporary_.c_str());
}

void TraceFile::Fail(int error) const {
  throw std::system_error(
      error, std::generic_category(),
      "cannot write the trace to " + path_ + ": name a file in a folder that can be written to and has room");
}

void TraceFile::Row(int64_t row, std::string_view name) {
  Event(fmt::format("\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":{},\"tid\":{},\"args\":{{\"name\":{}}}", getpid(),
                    row, JsonString(name)));
  Event(fmt::format("\"ph\":\"M\",\"name\":\"thread_sort_index\",\"pid\":{},\"tid\":{},\"args\":{{\"sort_index\":{}}}",
                    getpid(), row, row));
}

void TraceFile::Slice(int64_t row, std::string_view name, std::string_view category, int64_t from_ns, int64_t to_ns,
                      std::string_view arguments) {
  Event(fmt::format("\"ph\":\"X\",\"name\":{},\"cat\":{},\"pid\":{},\"tid\":{},\"ts\":{},\"dur\":{},\"args\":{{{}}}",
                    JsonString(name), JsonString(category), getpid(), row, Microseconds(from_ns - begin_ns_),
                    Microseconds(to_ns - from_ns), arguments));
}

void TraceFile::Arrow(int64_t from_row, int64_t from_ns, int64_t to_row, int64_t to_ns) {
  ++arrows_;
  const auto end = [&](std::string_view kind, int64_t row, int64_t ns) {
    Event(fmt::format("{},\"name\":\"critical path\",\"cat\":\"path\",\"id\":{},\"pid\":{},\"tid\":{},\"ts\":{}", kind,
                      arrows_, getpid(), row, Microseconds(ns - begin_ns_)));
  };
  end("\"ph\":\"s\"", from_row, from_ns);
  // "e": to the slice around that moment, not to the next one.
  end("\"ph\":\"f\",\"bp\":\"e\"", to_row, to_ns);
}

void TraceFile::Event(std::string_view text) {
  buffer_ += ",\n{";
  buffer_ += text;
  buffer_ += '}';
  if (buffer_.size() >= kBufferBytes) Flush();
}

void TraceFile::Flush() {
  for (size_t done = 0; done < buffer_.size();) {
    const ssize_t written = write(file_, buffer_.data() + done, buffer_.size() - done);
    if (written < 0 && errno != EINTR) Fail(errno);
    if (written > 0) done += static_cast<size_t>(written);
  }
  buffer_.clear();
}

void TraceFile::Finish() {
  buffer_ += "\n]}\n";
  Flush();
  const int file = file_;
  file_ = -1;
  // Some file systems tell only now that they had no room.
  if (close(file) != 0) Fail(errno);
  if (std::rename(temporary_.c_str(), path_.c_str()) != 0) Fail(errno);
  temporary_.clear();
}

}  // namespace stoker

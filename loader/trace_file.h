// A file of trace events as Chrome's and Perfetto's viewers read them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace stoker {

// Text in quotes, as JSON has it. What is not UTF-8 is spelled out as ValidUtf8 does.
std::string JsonString(std::string_view text);

// Writes events one after the other into a temporary file beside `path`, which takes its place with Finish: who reads
// `path` finds a whole trace or what was there before.
// Threads: one at a time.
class TraceFile {
 public:
  // `begin_ns`: the moment, on the pipeline's clock, that the file counts from; nothing is before it. Every function
  // throws std::system_error naming the path and the remedy.
  TraceFile(const std::string& path, int64_t begin_ns);
  // Leaves nothing behind of a file that was not finished.
  ~TraceFile();
  TraceFile(const TraceFile&) = delete;
  TraceFile& operator=(const TraceFile&) = delete;

  // Rows stand in the order of their numbers, which are at least 1.
  void Row(int64_t row, std::string_view name);
  // `arguments`: members of a JSON object, may be empty. Slices of a row do not overlap. Requires: from_ns < to_ns.
  void Slice(int64_t row, std::string_view name, std::string_view category, int64_t from_ns, int64_t to_ns,
             std::string_view arguments);
  // From the slice that has `from_ns` in its row to the one that has `to_ns`. Requires: from_ns <= to_ns; both slices
  // were written.
  void Arrow(int64_t from_row, int64_t from_ns, int64_t to_row, int64_t to_ns);
  void Finish();

 private:
  void Event(std::string_view text);
  void Flush();
  [[noreturn]] void Fail(int error) const;

  const std::string path_;  // links followed
  const int64_t begin_ns_;
  std::string temporary_;  // empty: there is none
  int file_ = -1;
  std::string buffer_;
  int64_t arrows_ = 0;
};

}  // namespace stoker

// What `stoker top` looks at: a process with its loaders, or a file of reports that grows.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bench/top/screen.h"
#include "loader/monitor/feed_reader.h"

namespace stoker {

class Watched {
 public:
  virtual ~Watched() = default;

  // Brings the view up to date, but for which loader is selected. False: what is watched has ended, and the view
  // is its last. What cannot be read is said in the view.
  virtual bool Update(JobView& view) = 0;
  // The reports in the view, as they were written.
  const std::vector<std::string>& lines() const noexcept { return lines_; }

 protected:
  std::vector<std::string> lines_;
};

class WatchedProcess : public Watched {
 public:
  WatchedProcess(int32_t pid, FeedPlace place, NowFn now);
  bool Update(JobView& view) override;

 private:
  std::vector<FeedReading> Readings() const;
  double SecondsSince(int64_t ns) const;

  const FeedPlace place_;
  const NowFn now_;
  FeedOwner owner_;  // its start is known from its first feed on
  bool had_feed_ = false;
  bool own_namespace_ = true;
  std::string job_;
};

// A line that has no end yet is waited for. A file that became shorter, or another one, is read from its beginning.
class WatchedFile : public Watched {
 public:
  // Throws std::invalid_argument where it is no file that can be read. `unix_now`: seconds, on the system's clock.
  WatchedFile(std::string path, double (*unix_now)());
  bool Update(JobView& view) override;

 private:
  void ReadOn(int file);
  void Take(std::string_view bytes);
  void TakeLine(std::string_view line);

  const std::string path_;
  double (*const unix_now_)();
  std::optional<ino_t> inode_;
  int64_t offset_ = 0;      // of what is read next
  bool in_middle_ = false;  // of a line whose beginning was left out
  std::string unfinished_;
  std::optional<ReportView> newest_;
  int64_t damaged_ = 0;
};

// The command line of a process; its number where it cannot be read.
std::string JobName(int32_t pid, const std::string& root);

}  // namespace stoker

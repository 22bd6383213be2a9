// What epochs differ by: memory that grows from one to the next, and the epoch from which steps take longer.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace stoker {

// One epoch, when it has ended.
struct EpochFigures {
  uint64_t epoch = 0;
  std::optional<int64_t> anonymous_bytes;  // of the process: its heap and what else is no file's
  std::optional<int64_t> rss_bytes;
  int64_t loader_bytes = 0;  // of them, what the loader holds
  double step_ms = 0;        // mean
  double seconds = 0;        // all of it
};

// The epochs so far, in bounded memory: after kMost of them, every second one is kept.
class EpochTrend {
 public:
  static constexpr size_t kMost = 64;

  // Where steps have become slower for good, with the epoch that it began in; said once for each change.
  struct Findings {
    std::string memory;
    std::string slowdown;
  };
  // Adds an epoch and says what has to be said, in words; empty where nothing has.
  Findings Add(const EpochFigures& epoch);

  // Anonymous memory gained an epoch: the median of the slopes between all pairs of epochs (Theil and Sen), which a few
  // odd epochs do not move. The first epoch is left out: caches fill in it. Nothing before the fourth.
  std::optional<double> growth_bytes() const;

 private:
  std::string MemoryWords();
  std::string SlowdownWords();

  std::vector<EpochFigures> epochs_;
  uint64_t added_ = 0;
  uint64_t every_ = 1;                        // epochs between two that are kept
  std::optional<uint64_t> slower_from_said_;  // the epoch that was named last
  double growth_said_ = 0;                    // said again where it has doubled
};

}  // namespace stoker

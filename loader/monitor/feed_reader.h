// Feeds of running loaders, as others read them: whatever is in the files.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "loader/monitor/live_feed.h"

namespace stoker {

// One loader's feed.
struct FeedReading {
  FeedOwner owner;
  int32_t number = 0;  // tells the loaders of a process apart
  bool lives = true;   // false: its process has ended, for sure
  // False: of another container, or of one whose processes cannot be seen.
  bool own_namespace = true;
  std::string line;            // the newest report, of JSON; empty: none is whole
  int64_t published_ns = 0;    // when, on the machine's steady clock
  int64_t waits_since_ns = 0;  // as in the header
};

// "stoker-1000-4711-0".
std::string FeedName(uid_t user, int32_t pid, int number);

// Those of `pid`, or of all processes, by PID and number; of the calling user, or of everybody for root. A file that
// is no feed is left out, and so is one whose owner is not whom its name says. Never throws but for memory; files are
// never mapped, so that one which shrinks harms nobody.
std::vector<FeedReading> ReadFeeds(const FeedPlace& place, std::optional<int32_t> pid = std::nullopt);

// Whether the process still runs; true where it cannot be told. One that waits to be buried has ended.
bool Lives(const FeedOwner& owner, const std::string& root);

// Removes the calling user's feeds whose processes have ended without doing so.
void RemoveDeadFeeds(const FeedPlace& place);

}  // namespace stoker

// What a running loader shows to who looks on (`stoker top`): its newest report, in a small file in shared memory.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "loader/step_report.h"
#include "transfer/clock.h"

namespace stoker {

// Where feeds lie, and where the kernel tells of processes.
struct FeedPlace {
  std::string folder = "/dev/shm";
  std::string root = "/";  // of /proc
};

// Which process a feed is of. The start tells it from a later one of the same number, and the namespace one from
// another container's, where both use one /dev/shm; 0: not known.
struct FeedOwner {
  int32_t pid = 0;
  uint64_t start_ticks = 0;
  uint64_t pid_namespace = 0;
};

// The calling process.
FeedOwner OwnFeedOwner(const std::string& root);

// The file: a header, and two records that are written in turn. Each is written by one call and has a checksum, so that
// one of the two is whole whatever the writer is doing, or died of.
inline constexpr std::array<char, 8> kFeedMagic = {'s', 't', 'o', 'k', 'e', 'r', 'f', '1'};
struct FeedHeader {
  std::array<char, 8> magic = kFeedMagic;
  FeedOwner owner;
  int64_t waits_since_ns = 0;  // that the caller is in Next(), on the machine's steady clock; 0: it is not
};
struct FeedRecord {
  uint64_t checksum = 0;     // of the other fields and the text
  uint64_t sequence = 0;     // the newer record has the higher one; from 1
  int64_t published_ns = 0;  // on the machine's steady clock
  uint64_t text_bytes = 0;   // of JSON, behind it
};
inline constexpr int64_t kFeedRecordOffset = 4096;
inline constexpr size_t kFeedRecordBytes = 16384;
inline constexpr size_t kMaxFeedText = kFeedRecordBytes - sizeof(FeedRecord);
inline constexpr int64_t kFeedBytes = kFeedRecordOffset + 2 * static_cast<int64_t>(kFeedRecordBytes);

// FNV-1a, of a record without its first field and of its text.
uint64_t FeedChecksum(const FeedRecord& record, std::string_view text) noexcept;

// The file FOLDER/stoker-UID-PID-N, for N the lowest number that is free, readable by the user alone.
// Threads: one at a time. Made with the first report, or the first long wait, and removed by the destructor; what
// processes left behind that were killed is removed then, too. A child of fork() neither writes nor removes its
// parent's. Nothing here throws or ends the process, and the file is written, never mapped, so that no hand on it can:
// what goes wrong is trouble(), and the training goes on unseen.
class LiveFeed {
 public:
  explicit LiveFeed(FeedPlace place = {}, NowFn now = SteadyNow);
  ~LiveFeed();
  LiveFeed(const LiveFeed&) = delete;
  LiveFeed& operator=(const LiveFeed&) = delete;

  // Some 50 us and the allocations of a JSON text, the names of bad samples left out. Begins a new file where somebody
  // has removed it. After a file could not be made, none is tried again.
  void Publish(const StepReport& report) noexcept;

  // For a caller that has been waiting for a batch for a while, and one that got it. Cheap where nothing changes.
  void SetWaiting(bool waits) noexcept;

  // The file; empty before the first report and where there is none.
  const std::string& path() const noexcept { return path_; }
  // Why the last report is not there to see; empty where it is.
  const std::string& trouble() const noexcept { return trouble_; }

 private:
  // Makes the file where there is none; false where there cannot be one.
  bool Ready();
  void Open();
  bool Create(const FeedOwner& owner);
  void Write(std::string_view text);
  void Close() noexcept;
  bool RemovedByOthers() const noexcept;

  const FeedPlace place_;
  const NowFn now_;
  const int32_t pid_;  // that it was made in
  int file_ = -1;
  bool given_up_ = false;
  bool waits_ = false;
  uint64_t sequence_ = 0;
  std::string path_;
  std::string trouble_;
  std::array<char, kFeedRecordBytes> record_ = {};  // what is written next
};

}  // namespace stoker

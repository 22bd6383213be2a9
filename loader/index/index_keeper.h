// The row index of a loader, and the side file that it is kept in where a folder was asked for.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>

#include "loader/index/index_file.h"
#include "loader/index/row_index.h"
#include "loader/source.h"
#include "transfer/mutex.h"

namespace stoker {

// LoaderOptions::index that is no folder.
inline constexpr const char* kNoIndex = "off";
inline constexpr const char* kIndexInMemory = "memory";

// What a loader tells of its index.
struct IndexReport {
  RowIndexUsage learned;      // in memory, and not in the file
  uint64_t file_entries = 0;  // that the file has
  uint64_t file_bytes = 0;
};

// Reads the side file of a source when it is made, adds to it what was learned at the ends of epochs that learned much
// and at its own end, and then goes on with what other processes have added to it. What goes wrong with the file is
// said once on stderr, and ends the writing of it alone: what is learned stays in memory. A lock that another process
// keeps is said, too, and waited for anew the next time.
// Threads: its functions are for one thread, but for those of rows(), which are for any. A *keeper* thread of its own
// lives while an epoch's end is looked after, and is joined by the next one and by the destructor.
class IndexKeeper {
 public:
  // How long a lock is waited for: other ranks write some hundred megabytes each meanwhile.
  static constexpr double kPatienceSeconds = 60;

  // `place`: kIndexInMemory or a folder, which is made when there is something to be written. `budget_bytes`: of the
  // memory. Blocks while the source's names are hashed, where a folder is given. Throws std::bad_alloc.
  IndexKeeper(const Source& source, const std::string& place, size_t budget_bytes,
              double patience_seconds = kPatienceSeconds);
  // Writes what is worth it, which may take some seconds.
  ~IndexKeeper();
  IndexKeeper(const IndexKeeper&) = delete;
  IndexKeeper& operator=(const IndexKeeper&) = delete;

  RowIndex& rows() noexcept { return rows_; }
  // An epoch is over: begins to write what was learned where that is much, and to take over what others have written.
  void EpochEnded();
  // Writes what was learned, together with what others have written, and stays with the file that it had (Reopen).
  // False where that is not possible; where another process kept the lock, a later call may find it free.
  bool Save() noexcept;
  // Goes on with the file that is there now, and forgets what that has as well. Throws std::bad_alloc.
  void Reopen() EXCLUDES(mutex_);

  IndexReport report() const EXCLUDES(mutex_);
  // The side file's path; empty where there is none.
  const std::string& path() const noexcept { return path_; }

 private:
  void LookAfterFile() noexcept;
  // Whether so many times what was learned is as much as the file has.
  bool WorthWriting(uint64_t times) const;
  void GoOnWith(std::shared_ptr<const IndexFile> file) EXCLUDES(mutex_);
  void Join();

  const IndexedSet set_;
  const std::string path_;
  const double patience_seconds_;
  RowIndex rows_;
  mutable Mutex mutex_;
  std::shared_ptr<const IndexFile> file_ GUARDED_BY(mutex_);
  bool refused_ = false;            // it cannot be written; of whichever thread saves
  std::atomic<bool> busy_ = false;  // the keeper thread works: cleared as its last act, the join orders the rest
  std::thread thread_;
};

}  // namespace stoker

// What is known of all samples of a source, shared by all workers: where the rows of its JPEGs begin.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "decode/jpeg/marks.h"
#include "loader/index/index_file.h"
#include "transfer/arena.h"
#include "transfer/mutex.h"

namespace stoker {

// What a row index holds in memory.
struct RowIndexUsage {
  uint64_t entries = 0;
  size_t bytes = 0;   // of its memory: a head for each sample, and the entries with their headers
  bool full = false;  // an entry found no room, and was not learned; what is there stays in use
};

// One entry a sample, which grows while later crops see more of its rows. What was learned lies in memory; below it may
// lie a file of earlier runs, which is read entry by entry and copied nowhere.
//
// Memory: one block of a fixed size, taken as it is needed: four bytes a sample, and the entries one behind the other,
// each with eight bytes of header. An entry that grows is appended anew and leaves a hole; where the block is at its
// end, the entries slide down over the holes. So nothing is lost to fragments, and nothing else is allocated.
// Threads: any. Samples are spread over up to kShards parts with a lock each, which is held for a copy of some hundred
// bytes, or while one part's entries slide (a millisecond or two, once in as many bytes learned as a sixteenth of it).
class RowIndex {
 public:
  static constexpr size_t kShards = 64;

  // `budget_bytes`: of the block. Throws std::bad_alloc where the system has no memory for it.
  RowIndex(uint64_t samples, size_t budget_bytes);

  // Assigns what is known of the sample, which may be nothing. Reads the file where memory has nothing. Requires: id is
  // below the number of samples; as below.
  void Find(uint64_t id, JpegMarks& marks) const;
  // Keeps what a decode has learned, where it covers more rows than what was learned before and there is room.
  void Learn(uint64_t id, const JpegMarks& marks);

  // Assigns what was learned in this process and is not in the file below; clears `marks` where that is nothing.
  void FindLearned(uint64_t id, JpegMarks& marks) const;
  // Puts `file` below, in place of what was there, and forgets what it has as well, or more of. Of as many rows with
  // other marks, one or the other is of a file that has changed since: what was learned then stays. May be null.
  void PutBelow(const std::shared_ptr<const IndexFile>& file);

  RowIndexUsage usage() const;

 private:
  // The samples whose number leaves the same remainder, in one lock's care. All sizes are in words of four bytes.
  struct alignas(64) Shard {
    mutable Mutex mutex;
    std::span<uint32_t> heads GUARDED_BY(mutex);  // of each sample: 1 + where its entry begins, 0: it has none
    std::span<uint32_t> words GUARDED_BY(mutex);  // of the entries: the sample's head, its bytes, the packed marks
    size_t end GUARDED_BY(mutex) = 0;             // the first word that was never used, or is free again
    size_t holes GUARDED_BY(mutex) = 0;           // words before it that no head leads to
    uint64_t entries GUARDED_BY(mutex) = 0;
    bool full GUARDED_BY(mutex) = false;
    std::shared_ptr<const IndexFile> below GUARDED_BY(mutex);

    std::span<const uint8_t> Packed(size_t head) const REQUIRES(mutex);
    // Makes room for so many words; false where there is none.
    bool MakeRoom(size_t wanted) REQUIRES(mutex);
    void Forget(size_t head) REQUIRES(mutex);
    void CloseHoles() REQUIRES(mutex);
  };

  Shard& ShardOf(uint64_t id) const noexcept { return shards_[id % shards_.size()]; }
  size_t HeadOf(uint64_t id) const noexcept { return id / shards_.size(); }
  size_t HeadsOf(size_t shard) const noexcept {
    return (head_bytes_ / sizeof(uint32_t) + shards_.size() - 1 - shard) / shards_.size();
  }

  const Arena memory_;
  const size_t head_bytes_;
  mutable std::vector<Shard> shards_;
};

}  // namespace stoker

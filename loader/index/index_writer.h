// Puts a new side file in an old one's place.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "loader/index/index_file.h"

namespace stoker {

// Gives the packed marks of a sample, or none; asked once for each, in order. Valid until the next call.
using PackedMarksOf = std::function<std::span<const uint8_t>(uint64_t id)>;

// Writes an index to `path` so that who opens it finds the old one or the new one, complete, whatever happens
// meanwhile: beside it, to the disk, then in its place. One writer at a time (LockedIndex). Memory: a run's entries,
// mostly some 300 kB. Throws std::system_error naming what could not be done; then the old one stays.
void WriteIndexFile(const std::string& path, const IndexedSet& set, const PackedMarksOf& marks_of);

// The right to write an index, which one process has at a time: a lock on the file `path` + ".lock", which is made
// where need be, and stays. A process that ends lets go of it.
class LockedIndex {
 public:
  // Waits for it, for up to `patience_seconds`. Throws std::system_error naming the file that cannot be locked.
  LockedIndex(const std::string& path, double patience_seconds);
  ~LockedIndex();
  LockedIndex(const LockedIndex&) = delete;
  LockedIndex& operator=(const LockedIndex&) = delete;

  // False where another process kept it all that time.
  bool held() const noexcept { return descriptor_ >= 0; }

 private:
  int descriptor_ = -1;
};

}  // namespace stoker

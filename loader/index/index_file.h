// The side file of a data set's row index: what earlier runs have learned of its JPEGs.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "decode/jpeg/marks.h"
#include "loader/index/fingerprint.h"
#include "loader/index/index_format.h"

namespace stoker {

// The data set that an index is of.
struct IndexedSet {
  uint64_t samples = 0;
  Fingerprint fingerprint = {};
};

// A file that was opened, which nobody changes any more: a newer one is put in its place as a whole. Damaged and stale
// entries cost time, never a pixel, whatever becomes of the file while it is open. Entries that were made to deceive
// are not found out, since anybody can compute their checksums: only those who are trusted are to write to its folder.
// Entries are read as they are asked for, two calls of the kernel each, mostly out of the page cache, which the
// processes of a machine share. It is not mapped: a mapping kills the process that looks at it once somebody has cut
// the file short (`cp` onto it), and on network file systems once another machine has put a newer one in its place.
// Memory: 24 bytes for 1024 samples. Threads: any.
class IndexFile {
 public:
  // Null where there is no such file, and, with `trouble` set to why, where it cannot be used.
  static std::shared_ptr<const IndexFile> Open(const std::string& path, const IndexedSet& set, std::string& trouble);
  ~IndexFile();
  IndexFile(const IndexFile&) = delete;
  IndexFile& operator=(const IndexFile&) = delete;

  // Assigns what it knows of the sample; clears `marks` where that is nothing, or cannot be read. Requires: id is below
  // the number of samples.
  void Find(uint64_t id, JpegMarks& marks) const;
  // Of a whole run: where its samples' packed marks lie in `bytes`, which is grown where need be. Nothing where there
  // are none, or the bytes are not those that were written.
  std::span<const uint32_t> ReadRun(uint64_t run, std::vector<uint8_t>& bytes) const;

  uint64_t entries() const noexcept { return header_.entries; }
  uint64_t file_bytes() const noexcept { return header_.file_bytes; }
  // Whether `path` leads to this very file still.
  bool IsAt(const std::string& path) const noexcept;

 private:
  explicit IndexFile(int descriptor) : descriptor_(descriptor) {}
  // Why the file cannot be used; empty where it can.
  std::string Load(const IndexedSet& set);
  bool Read(uint64_t offset, std::span<uint8_t> into) const noexcept;

  const int descriptor_;
  IndexHeader header_;
  std::vector<IndexRun> directory_;
};

}  // namespace stoker

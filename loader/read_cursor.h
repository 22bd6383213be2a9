// How far the reading of a job's extents has got: what to ask for next, and what an answer means.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <system_error>

#include "decode/decode_error.h"
#include "loader/reader.h"
#include "loader/source.h"

namespace stoker {

// Walks the extents one after the other, landing them side by side in one buffer. Threads: none of its own.
class ReadCursor {
 public:
  ReadCursor() = default;
  // Requires: at least one extent; `memory` holds all of them and one byte.
  ReadCursor(const Extents& extents, std::span<uint8_t> memory) noexcept : extents_(extents), memory_(memory) {}

  // The read to do next. One byte more than a whole file is asked for, so that growth is seen.
  uint32_t file() const noexcept { return extents_[index_].file; }
  uint64_t offset_bytes() const noexcept { return extents_[index_].offset_bytes + got_; }
  std::span<uint8_t> target() const noexcept {
    return memory_.subspan(landed_ + got_, std::min(BytesToAsk(extents_[index_]) - got_, kMaxReadBytes));
  }

  enum class Step : uint8_t { kSameFile, kNextExtent, kDone };
  // Takes a read's answer of `bytes` (0: the end of the file). A short answer means asking for the rest.
  // Where the file is not as long as it should be, `error` is set and the step is kDone.
  Step Advance(uint64_t bytes, Diagnosis& diagnosis, std::error_code& error) noexcept {
    const Extent& extent = extents_[index_];
    got_ += bytes;
    if (got_ < extent.bytes && bytes > 0) return Step::kSameFile;
    error = CheckLength(extent, got_, diagnosis);
    if (error) return Step::kDone;
    landed_ += extent.bytes;
    got_ = 0;
    return ++index_ < extents_.size() ? Step::kNextExtent : Step::kDone;
  }
  // Bytes of complete extents.
  uint64_t landed_bytes() const noexcept { return landed_; }

 private:
  static constexpr uint64_t kMaxReadBytes = uint64_t{1}
                                            << 30;  // the kernel's own limit for one read is a little higher

  Extents extents_;
  std::span<uint8_t> memory_;
  uint32_t index_ = 0;
  uint64_t got_ = 0;     // of the current extent
  uint64_t landed_ = 0;  // of those before it
};

}  // namespace stoker

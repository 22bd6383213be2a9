// The buffers that encoded bytes are read into: back-pressure between the disk and the CPU.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "transfer/arena.h"
#include "transfer/clock.h"
#include "transfer/mutex.h"

namespace stoker {

// A fixed number of page-aligned buffers. The one freed last is leased first: its lines are still in the cache.
// A sample that is larger than a buffer gets memory of its own for as long as it holds the lease.
// Threads: thread-safe; leases may be dropped on any thread.
class ReadBuffers {
 public:
  // Move-only; the destructor gives the buffer back.
  class Lease {
   public:
    Lease() = default;
    Lease(Lease&& other) noexcept
        : owner_(std::exchange(other.owner_, nullptr)),
          buffer_(other.buffer_),
          memory_(std::exchange(other.memory_, {})) {}
    Lease& operator=(Lease&& other) noexcept {
      Release();
      owner_ = std::exchange(other.owner_, nullptr);
      buffer_ = other.buffer_;
      memory_ = std::exchange(other.memory_, {});
      return *this;
    }
    ~Lease() { Release(); }

    explicit operator bool() const noexcept { return owner_ != nullptr; }
    std::span<uint8_t> memory() const noexcept { return memory_; }
    // When the buffer became free for this lease, and which sample's decode freed it (-1: nobody had it before).
    int64_t freed_ns() const noexcept;
    int64_t freed_by() const noexcept;
    // Gives the buffer back, in the name of sample number `sample`.
    void ReleaseBy(int64_t sample) noexcept;
    void Release() noexcept { ReleaseBy(-1); }

   private:
    friend class ReadBuffers;
    ReadBuffers* owner_ = nullptr;
    uint32_t buffer_ = 0;
    std::span<uint8_t> memory_;
  };

  // `spare_bytes`: what all oversized leases together may take beyond the buffers; one is always let through.
  // `on_free` is called from the releasing thread when enough buffers are free that the feeder should look again.
  ReadBuffers(uint32_t buffers, size_t buffer_bytes, size_t spare_bytes, NowFn now, std::function<void()> on_free);
  ~ReadBuffers();

  // See Arena: for when reads begin.
  void KeepFromChildren() noexcept { arena_.KeepFromChildren(); }

  enum class Outcome : uint8_t { kLeased, kNoneFree, kNoMemory };
  // A buffer of at least `bytes` in place of what the lease held. Does not block.
  Outcome TryLease(size_t bytes, Lease& lease) EXCLUDES(mutex_);

  // Bytes of oversized leases now, and the most there ever were.
  size_t oversized_bytes_peak() const EXCLUDES(mutex_);
  uint32_t leased() const EXCLUDES(mutex_);
  // All of them, side by side.
  std::span<uint8_t> memory() const noexcept { return {reinterpret_cast<uint8_t*>(arena_.data()), arena_.size()}; }
  size_t buffer_bytes() const noexcept { return buffer_bytes_; }
  size_t count() const noexcept { return buffers_.size(); }

  // Gives up the memory that is still leased to reads which never came back: the kernel may yet write it.
  void Abandon() noexcept;

 private:
  struct Buffer {
    Arena oversized;  // mapped for one lease: given back to the system at once, whatever malloc would keep
    int64_t freed_ns = 0;
    int64_t freed_by = -1;
  };

  void Return(uint32_t buffer, int64_t sample) EXCLUDES(mutex_);

  const size_t buffer_bytes_;
  const size_t spare_bytes_;
  const NowFn now_;
  const std::function<void()> on_free_;
  Arena arena_;

  mutable Mutex mutex_;
  std::vector<Buffer> buffers_;  // an entry belongs to whoever holds its lease
  std::vector<uint32_t> free_ GUARDED_BY(mutex_);
  size_t oversized_bytes_ GUARDED_BY(mutex_) = 0;
  size_t oversized_bytes_peak_ GUARDED_BY(mutex_) = 0;
};

}  // namespace stoker

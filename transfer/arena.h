// Anonymous memory for slots and read buffers, page-aligned.
#pragma once

#include <cstddef>
#include <cstdint>

namespace stoker {

// Owns one mapping; the destructor unmaps it. Move-only.
// Anonymous pages, not a driver's allocation: they can be registered with a device and with an io_uring alike.
class Arena {
 public:
  // Huge ones are cheaper to fault in, copy and register; small ones are for memory that is filled here and there.
  enum class Pages : uint8_t { kHuge, kSmall };

  Arena() = default;
  static constexpr size_t kHugePageBytes = size_t{2} << 20;

  // Maps `bytes`, from a huge page's boundary where they are at least one; whoever writes to a page first faults it in,
  // so what is never needed is never taken. Throws std::bad_alloc where the system has no memory for them.
  explicit Arena(size_t bytes, Pages pages = Pages::kHuge);
  ~Arena();
  Arena(Arena&& other) noexcept;
  Arena& operator=(Arena&& other) noexcept;

  std::byte* data() const noexcept { return data_; }
  size_t size() const noexcept { return size_; }

  // Faults every page in, on NUMA node `node` (-1: where it comes) as long as that has room, by several threads: what a
  // device is to page-lock, which takes many times as long where it must fault pages in by itself. Blocks.
  void FaultIn(int node) noexcept;

  // Children of fork() do not get the pages: their copy-on-write would move them from under a kernel or device that
  // writes or reads them. A child that touches them all the same is killed.
  void KeepFromChildren() noexcept;

  // Gives the mapping up without unmapping it: for memory that a stuck read or copy may still write.
  void Abandon() noexcept;

 private:
  std::byte* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace stoker

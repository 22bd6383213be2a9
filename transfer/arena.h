// Anonymous memory for slots and read buffers: page-aligned, faulted in once, not inherited by forked children.
#pragma once

#include <cstddef>

namespace stoker {

// Owns one mapping; the destructor unmaps it. Move-only.
// Anonymous pages, not a driver's allocation: they can be registered with a device and with an io_uring alike.
class Arena {
 public:
  Arena() = default;
  // Maps and touches `bytes`. Throws std::bad_alloc where the system has no memory for them.
  explicit Arena(size_t bytes);
  ~Arena();
  Arena(Arena&& other) noexcept;
  Arena& operator=(Arena&& other) noexcept;

  std::byte* data() const noexcept { return data_; }
  size_t size() const noexcept { return size_; }

  // Gives the mapping up without unmapping it: for memory that a stuck read or copy may still write.
  void Abandon() noexcept;

 private:
  std::byte* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace stoker

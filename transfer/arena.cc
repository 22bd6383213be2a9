#include "transfer/arena.h"

#include <sys/mman.h>

#include <new>
#include <utility>

namespace stoker {

Arena::Arena(size_t bytes) : size_(bytes) {
  if (bytes == 0) return;
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  data_ = static_cast<std::byte*>(memory);
  // Huge pages make faulting in, copying and registering cheaper. Advice: a kernel that refuses costs speed alone.
  madvise(memory, bytes, MADV_HUGEPAGE);
}

Arena::~Arena() {
  if (data_ != nullptr) munmap(data_, size_);
}

Arena::Arena(Arena&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

Arena& Arena::operator=(Arena&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

void Arena::KeepFromChildren() noexcept {
  if (data_ != nullptr) madvise(data_, size_, MADV_DONTFORK);
}

void Arena::Abandon() noexcept {
  data_ = nullptr;
  size_ = 0;
}

}  // namespace stoker

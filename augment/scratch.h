// Working memory that is used again and again.
#pragma once

#include <cstddef>
#include <new>
#include <type_traits>

namespace stoker {

// An array without initial values that grows to the largest size asked for and never shrinks, aligned for any vector.
// Threads: none of its own; one thread at a time.
template <class T>
class Scratch {
  static_assert(std::is_trivially_destructible_v<T> && std::is_trivially_copyable_v<T>);
  static constexpr std::align_val_t kAlignment{64};

 public:
  Scratch() = default;
  ~Scratch() { ::operator delete(data_, kAlignment); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  // Room for `size` elements; the old ones are lost where it had to grow. Throws std::bad_alloc, keeping what it has.
  T* Reserve(size_t size) {
    if (size > size_) {
      if (size > static_cast<size_t>(-1) / 2 / sizeof(T)) throw std::bad_alloc();
      auto* grown = static_cast<T*>(::operator new(size * sizeof(T), kAlignment));
      ::operator delete(data_, kAlignment);
      data_ = grown;
      size_ = size;
    }
    return data_;
  }

  T* data() { return data_; }
  const T* data() const { return data_; }
  T& operator[](size_t index) { return data_[index]; }
  const T& operator[](size_t index) const { return data_[index]; }
  size_t bytes() const { return size_ * sizeof(T); }

 private:
  T* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace stoker

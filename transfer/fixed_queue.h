// A first-in first-out queue of a capacity chosen once: never allocates after construction.
#pragma once

#include <cassert>
#include <cstddef>
#include <utility>
#include <vector>

namespace stoker {

// Threads: none of its own; the owner guards it. T is default-constructible and movable.
template <typename T>
class FixedQueue {
 public:
  explicit FixedQueue(size_t capacity) : items_(capacity) {}

  bool empty() const noexcept { return size_ == 0; }
  size_t size() const noexcept { return size_; }
  size_t capacity() const noexcept { return items_.size(); }

  // Requires: size() < capacity().
  void Push(T item) noexcept {
    assert(size_ < items_.size());
    items_[(head_ + size_) % items_.size()] = std::move(item);
    ++size_;
  }
  // Requires: !empty().
  T Pop() noexcept {
    assert(size_ > 0);
    T item = std::exchange(items_[head_], T{});
    head_ = (head_ + 1) % items_.size();
    --size_;
    return item;
  }
  // Requires: !empty().
  T& front() noexcept {
    assert(size_ > 0);
    return items_[head_];
  }

 private:
  std::vector<T> items_;
  size_t head_ = 0;
  size_t size_ = 0;
};

}  // namespace stoker

// One field of a batch as other libraries take it: DLPack and the buffer protocol, without a copy.
#pragma once

#include <dlpack/dlpack.h>
#include <pybind11/pybind11.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "augment/spec.h"

namespace stoker {

DLDataType DtypeOf(ElementType element) noexcept;
inline constexpr DLDataType kInt64 = {kDLInt, 64, 1};
inline constexpr DLDataType kBool8 = {kDLUInt, 8, 1};

// Contiguous host memory that somebody owns. Whoever takes it, by whichever protocol, becomes an owner as well; the
// last one to go gives the memory back, on whatever thread, without the GIL.
class Array {
 public:
  Array(std::shared_ptr<const void> owner, const void* data, std::vector<int64_t> shape, DLDataType dtype)
      : owner_(std::move(owner)), data_(data), shape_(std::move(shape)), dtype_(dtype) {}
  // One that owns a copy of `numbers`.
  template <typename T>
  static Array CopyOf(std::span<const T> numbers, DLDataType dtype) {
    auto copy = std::make_shared<std::vector<T>>(numbers.begin(), numbers.end());
    const void* data = copy->data();
    const auto size = static_cast<int64_t>(copy->size());
    return {std::move(copy), data, {size}, dtype};
  }

  // A "dltensor" capsule.
  pybind11::capsule ToDlpack() const;
  pybind11::buffer_info ToBuffer() const;
  const std::vector<int64_t>& shape() const noexcept { return shape_; }
  const char* dtype_name() const noexcept;
  size_t bytes() const noexcept;

 private:
  std::shared_ptr<const void> owner_;
  const void* data_;
  std::vector<int64_t> shape_;
  DLDataType dtype_;
};

}  // namespace stoker

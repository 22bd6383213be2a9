// One field of a batch as other libraries take it: DLPack and the buffer protocol, without a copy.
#pragma once

#include <dlpack/dlpack.h>
#include <pybind11/pybind11.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "augment/spec.h"
#include "transfer/device.h"

namespace stoker {

DLDataType DtypeOf(ElementType element) noexcept;
inline constexpr DLDataType kInt64 = {kDLInt, 64, 1};
inline constexpr DLDataType kBool8 = {kDLUInt, 8, 1};

// Contiguous memory that somebody owns. Whoever takes it, by whichever protocol, becomes an owner as well; the last one
// to go gives the memory back, on whatever thread, without the GIL.
class Array {
 public:
  // Makes work on a stream wait until the data are there.
  using WaitOn = std::function<void(StreamHandle)>;

  Array(std::shared_ptr<const void> owner, const void* data, std::vector<int64_t> shape, DLDataType dtype)
      : owner_(std::move(owner)), data_(data), shape_(std::move(shape)), dtype_(dtype) {}
  // One in the memory of CUDA device `index`.
  Array(std::shared_ptr<const void> owner, const void* data, std::vector<int64_t> shape, DLDataType dtype,
        int32_t index, WaitOn wait_on)
      : owner_(std::move(owner)),
        data_(data),
        shape_(std::move(shape)),
        dtype_(dtype),
        device_{kDLCUDA, index},
        wait_on_(std::move(wait_on)) {}
  // One that owns a copy of `numbers`.
  template <typename T>
  static Array CopyOf(std::span<const T> numbers, DLDataType dtype) {
    auto copy = std::make_shared<std::vector<T>>(numbers.begin(), numbers.end());
    const void* data = copy->data();
    const auto size = static_cast<int64_t>(copy->size());
    return {std::move(copy), data, {size}, dtype};
  }

  // A "dltensor" capsule. `stream`: the consumer's, as DLPack's Python specification numbers them for CUDA (1 the
  // legacy default, also for None; 2 the calling thread's; -1: the consumer sees to it); nothing for host memory.
  pybind11::capsule ToDlpack(std::optional<int64_t> stream) const;
  pybind11::buffer_info ToBuffer() const;
  const std::vector<int64_t>& shape() const noexcept { return shape_; }
  DLDevice device() const noexcept { return device_; }
  const char* dtype_name() const noexcept;
  size_t bytes() const noexcept;

 private:
  std::shared_ptr<const void> owner_;
  const void* data_;
  std::vector<int64_t> shape_;
  DLDataType dtype_;
  DLDevice device_ = {kDLCPU, 0};
  WaitOn wait_on_;
};

}  // namespace stoker

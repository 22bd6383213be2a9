// What Next() gives: the caller's lease on one batch.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "augment/spec.h"
#include "loader/source.h"
#include "transfer/device.h"

namespace stoker {

struct BatchSlot;
struct DeviceSlot;
class Delivery;

// A batch on its way to the caller, in host memory or on a device: exactly one of the two is set.
struct Delivered {
  BatchSlot* host = nullptr;
  DeviceSlot* device = nullptr;
  int64_t batch = -1;  // sequence number over the loader's life
  uint32_t count = 0;

  explicit operator bool() const noexcept { return count > 0; }
};

// Pixels, labels, ids and validity of up to batch_size samples. Move-only; the destructor gives the slot back, so a
// batch should not be kept longer than its step: while the caller holds all of them nothing can be loaded.
// Nothing is copied: the pointers are into the slot and valid as long as the batch is. A batch may outlive its loader.
// Threads: one at a time; may be destroyed on another thread than the one that got it.
class Batch {
 public:
  Batch(std::shared_ptr<Delivery> delivery, std::shared_ptr<const Source> source, const Delivered& slot,
        const SampleSpec& spec, uint64_t epoch, uint64_t position, StreamHandle stream) noexcept;
  ~Batch() { Release(); }
  Batch(Batch&& other) noexcept { *this = std::move(other); }
  Batch& operator=(Batch&& other) noexcept;

  int64_t size() const noexcept { return slot_.count; }
  // Where the batch stands: its first sample's position in this rank's epoch.
  uint64_t epoch() const noexcept { return epoch_; }
  uint64_t position() const noexcept { return position_; }

  // N x C x H x W or N x H x W x C elements of `spec().element`, contiguous; in device memory where there is a device.
  const std::byte* pixels() const noexcept;
  std::array<int64_t, 4> shape() const noexcept;
  size_t pixel_bytes() const noexcept { return static_cast<size_t>(size()) * spec_.bytes(); }
  const SampleSpec& spec() const noexcept { return spec_; }
  // Copies the pixels to host memory; waits for the device. Requires: to.size() == pixel_bytes(). Throws Error.
  void CopyPixelsTo(std::span<std::byte> to) const;

  // Makes work submitted to `stream` from now on wait until the batch is there, and what comes into its memory next
  // wait for that work: for another stream than the one given to Next(), alive until the batch is released. Throws
  // Error.
  void WaitOn(StreamHandle stream) const;

  // In host memory, one per sample. Labels are class indices, -1 where there is none; valid is 0 for a masked sample.
  std::span<const int64_t> labels() const noexcept { return Numbers<int64_t>(1); }
  std::span<const int64_t> ids() const noexcept { return Numbers<int64_t>(2); }
  std::span<const uint8_t> valid() const noexcept { return Numbers<uint8_t>(3); }
  // The same in device memory, where the pixels are; null where there is no device.
  const void* device_labels() const noexcept { return DeviceField(1); }
  const void* device_ids() const noexcept { return DeviceField(2); }
  const void* device_valid() const noexcept { return DeviceField(3); }
  // Of the device whose memory the batch is in or page-locked for; null where there is none.
  const DeviceInfo* device() const noexcept;
  // The name of sample `index`; allocates.
  std::string Name(int64_t index) const {
    return source_->Name(static_cast<uint64_t>(ids()[static_cast<size_t>(index)]));
  }

  // Gives the slot back early; the batch is then empty. Work submitted to the stream given to Next may still read it.
  void Release() noexcept;

 private:
  const std::byte* HostField(size_t field) const noexcept;
  const void* DeviceField(size_t field) const noexcept;
  template <typename T>
  std::span<const T> Numbers(size_t field) const noexcept {
    return {reinterpret_cast<const T*>(HostField(field)), slot_.count};
  }

  std::shared_ptr<Delivery> delivery_;
  std::shared_ptr<const Source> source_;
  Delivered slot_;
  SampleSpec spec_;
  uint64_t epoch_ = 0;
  uint64_t position_ = 0;
  StreamHandle stream_ = kHostStream;
};

}  // namespace stoker

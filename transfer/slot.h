// One batch in host memory: a block of fields [pixels | label | id | valid], filled sample by sample.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "transfer/arena.h"

namespace stoker {

// One field of a batch: `batch_size` samples of `sample_bytes` each, side by side from `offset` of the slot.
struct SlotField {
  std::string name;
  size_t sample_bytes = 0;
  size_t offset = 0;
};

// The table of fields of every slot of a ring: first what the model sees, then targets and book-keeping.
class SlotLayout {
 public:
  // Places the fields one after the other, each on a cache line of its own.
  SlotLayout(uint32_t batch_size, std::vector<SlotField> fields);

  uint32_t batch_size() const noexcept { return batch_size_; }
  const std::vector<SlotField>& fields() const noexcept { return fields_; }
  size_t bytes() const noexcept { return bytes_; }

 private:
  uint32_t batch_size_;
  std::vector<SlotField> fields_;
  size_t bytes_ = 0;
};

// When things happened to a batch, in nanoseconds of the pipeline's clock; 0 = has not happened. The transfer stage
// writes these, the stall report reads them.
struct BatchStamps {
  int64_t full_ns = 0;        // its last sample was written
  uint32_t last_sample = 0;   // which one that was (index in the batch)
  int64_t copy_start_ns = 0;  // the copy engine began; 0 where nothing is copied
  int64_t copy_end_ns = 0;
  int64_t device_slot_ns = 0;      // the device slot that it went to became free, for the device
  int64_t device_slot_batch = -1;  // the batch that had held it, -1: none
  // The host could issue the copy into it: the batch that had held it had come back and its own copy was seen to be
  // complete. Which of the two was later.
  int64_t slot_seen_ns = 0;
  bool slot_seen_by_copy = false;
};

class Ring;

// A slot of the ring. Written by workers through SampleSlot leases, then read by the prefetcher or the caller.
struct BatchSlot {
  std::byte* data = nullptr;
  Ring* ring = nullptr;
  int64_t batch = -1;  // sequence number over the ring's life
  uint32_t count = 0;  // samples of this batch, at most the layout's batch_size
  // Samples not yet written. The decrement is acq_rel: release publishes this sample's bytes, the acquire of the last
  // one sees everybody's.
  std::atomic<uint32_t> missing{0};
  BatchStamps stamps;
  // When a slot came free for this batch, and with which: the stamps that the first read of the batch waited for.
  int64_t freed_ns = 0;
  int64_t freed_by_batch = -1;
  bool held_by_caller = false;  // guarded by the ring's mutex
  Arena own_memory;             // of a slot that came later than the ring; otherwise the ring's arena holds it
};

// One sample's place in a slot. Move-only; the destructor gives the place back, and the last one out marks the slot
// ready. Bytes that were not written stay as they were in the slot's previous batch, so every holder writes or zeroes.
class SampleSlot {
 public:
  SampleSlot() = default;
  SampleSlot(BatchSlot& slot, uint32_t index) noexcept : slot_(&slot), index_(index) {}
  SampleSlot(SampleSlot&& other) noexcept : slot_(std::exchange(other.slot_, nullptr)), index_(other.index_) {}
  SampleSlot& operator=(SampleSlot&& other) noexcept {
    if (this != &other) {
      Release();
      slot_ = std::exchange(other.slot_, nullptr);
      index_ = other.index_;
    }
    return *this;
  }
  ~SampleSlot() { Release(); }

  explicit operator bool() const noexcept { return slot_ != nullptr; }
  int64_t batch() const noexcept { return slot_->batch; }
  uint32_t index() const noexcept { return index_; }
  // This sample's bytes of field number `field` of the layout.
  std::span<std::byte> bytes(size_t field) const noexcept;
  // Writes one number into a field of exactly its size.
  void Set(size_t field, int64_t value) const noexcept;
  void Set(size_t field, uint8_t value) const noexcept;

  void Release() noexcept;

 private:
  BatchSlot* slot_ = nullptr;
  uint32_t index_ = 0;
};

}  // namespace stoker

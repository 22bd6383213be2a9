// What is reserved at the start: every number is a sum whose terms name the holders.
#pragma once

#include <cstddef>
#include <cstdint>

namespace stoker {

struct LoaderOptions;
class Source;
struct TransferPlan;

struct BufferPlan {
  uint32_t slots = 0;  // host slots
  size_t slot_bytes = 0;
  uint32_t device_slots = 0;  // 0 where batches are lent in host memory
  size_t device_slot_bytes = 0;
  bool device_is_host = false;  // the simulated device's slots are host memory too
  uint32_t read_buffers = 0;
  size_t read_buffer_bytes = 0;  // a larger file gets a one-off buffer, counted in the report
  uint32_t batches_ahead = 0;    // that the stall log has room for, beyond the one handed over
  size_t stall_log_bytes = 0;
  size_t source_bytes = 0;  // names, sizes, labels
  size_t index_bytes = 0;   // where the rows of JPEGs begin; 0: none

  size_t host_bytes() const noexcept {
    return slots * slot_bytes + (device_is_host ? device_slots * device_slot_bytes : 0) +
           read_buffers * read_buffer_bytes + stall_log_bytes + source_bytes + index_bytes;
  }
};

// The buffers that `options` ask for; takes none of them. Requires: num_workers resolved (not -1).
BufferPlan PlanBuffers(const LoaderOptions& options, const Source& source, const TransferPlan& transfer);

// Throws Error with the numbers and the remedy where the plan exceeds options.memory_limit_bytes.
void CheckMemory(const BufferPlan& plan, const LoaderOptions& options);

}  // namespace stoker

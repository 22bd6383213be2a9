// The one object that travels: whoever holds the job owns the sample.
#pragma once

#include <cstdint>
#include <system_error>

#include "augment/plan.h"
#include "decode/decode_error.h"
#include "loader/read_buffers.h"
#include "loader/source.h"
#include "transfer/slot.h"

namespace stoker {

// Move-only and forward only: feeder -> reader -> feeder -> worker -> slot. Its two leases go back by their
// destructors. Two things travel backwards: a job that failed under OnError::kSkip returns to the feeder with its place
// in the slot and gets another sample; one whose file left the page cache returns to be read from the disk.
struct SampleJob {
  uint64_t id = 0;
  uint64_t epoch = 0;
  uint64_t position = 0;  // of this rank, the place in the epoch that the sample fills
  uint64_t attempt = 0;   // 0: the sample that belongs there; n: the n-th replacement
  SampleKey key;          // what its random draws depend on
  int64_t sequence = 0;   // in the stall log: batch x batch_size + index

  Extents extents;
  bool planned = false;
  Plan plan;

  // What the page cache holds is read by the worker itself, so that the bytes are still in its own cache when it
  // decodes them, and all workers share the copying.
  bool from_cache = false;
  bool evicted = false;  // it was not all there after all: back to the feeder, for the reader

  ReadBuffers::Lease encoded;
  uint64_t encoded_bytes = 0;  // read so far; all of them once the reader is done
  int64_t opened_ns = 0;       // when its (first) file was open; 0: whoever reads it cannot tell
  int64_t late_ns = 0;         // how long the bytes were there before the reader's Wait gave the job back
  SampleSlot out;

  std::error_code error;
  Diagnosis diagnosis;
};

}  // namespace stoker

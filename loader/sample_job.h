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
// destructors. The one thing that travels backwards is a job that failed under OnError::kSkip: it returns to the feeder
// with its place in the slot and gets another sample.
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

  ReadBuffers::Lease encoded;
  uint64_t encoded_bytes = 0;  // read so far; all of them once the reader is done
  SampleSlot out;

  std::error_code error;
  Diagnosis diagnosis;
};

}  // namespace stoker

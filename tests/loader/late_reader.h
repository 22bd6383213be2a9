// Reader doubles: the real bytes, at the wrong time or not at all.
#pragma once

#include <cstdint>
#include <functional>
#include <system_error>

#include "loader/seams.h"

namespace stoker {

// What a double does with one job that its real reader has just finished.
struct Fault {
  int delay_rounds = 0;   // times that Wait returns before the job does
  std::error_code error;  // instead of the bytes
  bool never = false;     // the job is never given back while the loader lives
};

// Seams with a reader whose jobs meet the fault that `choose` names for the n-th read.
LoaderSeams FaultyReads(std::function<Fault(uint64_t read, const SampleJob& job)> choose);

// Seams with a reader that gives every job back late and out of order, by a seed.
LoaderSeams LateReads(uint64_t seed);

}  // namespace stoker

// A batch as Python holds it.
#pragma once

#include <cstdint>

#include "loader/batch.h"
#include "python/array.h"

namespace stoker {

// The images lie in the slot, which comes back when the last tensor over them is gone. In host memory the numbers are
// copies, so that a list of labels keeps no pictures alive; on a GPU they lie in the slot too.
struct BatchArrays {
  Array images;
  Array labels;
  Array ids;
  Array valid;
  uint64_t position = 0;
};

// Where the batch is in the memory of a device that no other library knows, as the simulated one is, all are copies in
// host memory. Throws std::system_error where such a copy fails.
BatchArrays ArraysOf(Batch batch);

}  // namespace stoker

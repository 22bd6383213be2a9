// The kernel of FinishLaunch: its grid, and the same code run by the calling thread.
#pragma once

#include <cstdint>

#include "transfer/finish_launch.h"

namespace stoker {

// Blocks of threads, both in one dimension.
struct FinishGrid {
  uint32_t blocks = 0;  // 0: there is nothing to launch
  uint32_t threads = 0;
};

// How many threads `launch` takes: one for as many neighbouring pixels as fill 16 bytes a channel, where rows and
// memory line up with that; one a pixel where they do not, or where it divides.
// Requires: channels 1 or 3, sides of 1 to 65535, fewer than 2^31 blocks; `out` aligned for its elements.
FinishGrid GridOf(const FinishLaunch& launch) noexcept;

// What the kernel does, thread after thread, in memory of the host; blocks until all of it is written.
// Requires: what GridOf does; `pixels`, `flips` and `out` are host memory.
void FinishOnHost(const FinishLaunch& launch) noexcept;

}  // namespace stoker

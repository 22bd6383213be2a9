// The pipeline's one clock: a function, so that tests can run it in virtual time.
#pragma once

#include <cstdint>

namespace stoker {

// Nanoseconds on a clock that never goes back. Safe from any thread.
using NowFn = int64_t (*)() noexcept;

int64_t SteadyNow() noexcept;

// What the calling thread has spent on a CPU. A system call: some 2 us.
int64_t ThreadCpuNow() noexcept;

}  // namespace stoker

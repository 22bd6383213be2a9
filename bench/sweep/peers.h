// The comparison with other loaders, which is a Python program (bench/peers).
#pragma once

#include "bench/sweep/sweep_options.h"

namespace stoker {

// Becomes that program. Returns an exit code, or throws std::system_error, where that cannot be.
int RunPeers(const SweepOptions& options);

}  // namespace stoker

// `stoker run`: the main job, end to end.
#pragma once

#include "bench/run_options.h"

namespace stoker {

// Exit codes of the command.
inline constexpr int kExitOk = 0;
inline constexpr int kExitFailed = 1;         // a bad sample under raise, too many of them, a device, a full disk
inline constexpr int kExitUsage = 2;          // an option, a path or a list is wrong
inline constexpr int kExitInterrupted = 130;  // Ctrl-C; the report so far was printed

// Runs the loader over the data and prints the report to stdout. Installs a handler for SIGINT and SIGTERM while it
// runs. `start_seconds`: when the process began, on the steady clock.
int RunCommand(const RunOptions& options, double start_seconds);

}  // namespace stoker

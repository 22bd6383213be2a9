// `stoker top`: a running job, live in the terminal.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "loader/monitor/live_feed.h"

namespace stoker {

struct TopOptions {
  std::string target;  // a PID or a file; empty: whatever runs
  bool once = false;
  bool json = false;
};

inline constexpr const char* kTopHelp =
    "Shows what holds a running job back, twice a second: step time, stall, where the time goes by stage, what each\n"
    "stage could do, memory, CPU, GPU. The job needs nothing for it; it may run for days already.\n"
    "\n"
    "Examples:\n"
    "  stoker top                 your running jobs; where there is one, that one\n"
    "  stoker top 4711            the job with this PID: any process with a loader, Python or not\n"
    "  stoker top report.jsonl    the file that --report-file or report_file= adds to, as it grows; also from "
    "elsewhere\n"
    "  stoker top 4711 --once     as plain text, once; so it is, too, where the output is no terminal\n"
    "  stoker top 4711 --json | jq .stalls.verdict\n"
    "\n"
    "Keys: q leaves, h explains the words, tab and the arrows go from loader to loader of a job with several.\n"
    "\n"
    "A job is seen through /dev/shm, by its own user and root, once it has taken a batch. In a container that has a\n"
    "/dev/shm of its own, run this inside of it: docker exec -it NAME stoker top.\n"
    "\n"
    "Exit codes: 0 left, or shown once; 1 the job has ended (its last figures are printed), or there is nothing to "
    "show;\n"
    "2 a wrong option, PID or file; 130 interrupted.";

// Adds the options to `command`; both must outlive its use.
void AddTopOptions(CLI::App& command, TopOptions& options);

// Returns the exit code. Throws std::invalid_argument for a target that is neither process nor file.
int TopCommand(const TopOptions& options, const FeedPlace& place = {});

}  // namespace stoker

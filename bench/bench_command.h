// `stoker bench`: the smallest setting that is as good as the best, for a folder, a machine and a training step.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "bench/sweep/sweep_options.h"

namespace stoker {

inline constexpr const char* kBenchHelp =
    "Tries settings of num_workers, prefetch, queue depth and reader on your pictures and says which is the smallest\n"
    "that is as good as the best (within 2 %), what it costs, and what the usual rules would give instead.\n"
    "\n"
    "Examples:\n"
    "  stoker bench photos/train                          warm and cold page cache, some minutes\n"
    "  stoker bench photos/train --step-ms 40             for a training step of 40 ms; or --step-from report.jsonl\n"
    "  stoker bench photos/train --dtype float32 --batch-size 256 --cache warm\n"
    "  stoker bench photos/train --try-step-ms 0,20,40    one answer for each\n"
    "  stoker bench photos/train --resume                 goes on where Ctrl-C stopped it\n"
    "  stoker bench photos/train --peers                  other loaders on the same pictures and CPUs;\n"
    "                                                     what follows -- is for them: --peers -- --help\n"
    "\n"
    "Each run is a process of its own. Runs are interleaved and repeated until their intervals part; a model chooses\n"
    "which are worth making. Cold: the kernel is asked to forget the files, which needs no rights; what the storage\n"
    "itself caches stays. Bad samples are skipped. Everything lies in the folder of --out: report.html, sweep.json "
    "and\n"
    "runs.jsonl, which --resume reads.\n"
    "\n"
    "Exit codes: 0 done, 1 no run succeeded or a result could not be written, 2 a wrong option or path, 130\n"
    "interrupted (what was measured is kept and printed).";

// Throws std::invalid_argument naming an option, std::system_error naming a file. `command_line`: what was typed.
int BenchCommand(const SweepOptions& options, const std::string& command_line);

}  // namespace stoker

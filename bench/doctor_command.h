// `stoker doctor`: what the machine gives a loader, what does not fit, and what to do about it.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include "loader/machine/overview.h"

namespace stoker {

struct DoctorOptions {
  std::string path = {};     // of the data set; empty: it is not looked at
  int32_t num_workers = -1;  // as LoaderOptions has it
  std::string device = "auto";
  std::string json = {};  // a file, or "-"
};

inline constexpr const char* kDoctorHelp =
    "Looks at the machine as a training job would find it: CPUs and their quota, memory, GPUs and their link, "
    "io_uring,\n"
    "the disk below the data set, thread pools. Prints all of it, then each check, with a remedy for what does not "
    "fit.\n"
    "\n"
    "Examples:\n"
    "  stoker doctor photos/train                    with the file system and disk of the data set\n"
    "  stoker doctor photos/train --device cuda:1 --num-workers 16\n"
    "  stoker doctor --json - | jq '.checks[] | select(.outcome == \"warning\")'\n"
    "\n"
    "Run it in the container, with the user and the environment (LOCAL_WORLD_SIZE, OMP_NUM_THREADS) of the job.\n"
    "\n"
    "Exit codes: 0 nothing to mend, 1 there are warnings (or the JSON cannot be written), 2 a wrong option or path.\n"
    "What cannot be found out is \"unknown\", and no warning.";

// Adds the options to `command`; both must outlive its use.
void AddDoctorOptions(CLI::App& command, DoctorOptions& options);

// Prints the overview to stdout, or the JSON where `json` is "-". Returns the exit code. Throws std::invalid_argument
// for a wrong option and std::system_error where the JSON cannot be written. `root`: see ReadOverview.
int DoctorCommand(const DoctorOptions& options, const std::string& root = "/");

// Null is what is not known. `schema_version` changes when a key does.
nlohmann::json ToJson(const Overview& overview);

}  // namespace stoker

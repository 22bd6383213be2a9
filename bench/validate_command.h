// `stoker validate`: bottlenecks of every kind injected into a real loader, and whether it names them.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>

namespace stoker {

struct ValidateOptions {
  int runs = 3;        // of each experiment
  double seconds = 1;  // of each run, about
  uint64_t seed = 1;
  std::string only = {};    // experiments whose name contains it
  std::string folder = {};  // where files for the page cache go; empty: the system's for temporary ones
  std::string json = {};    // a file, or "-"
};

inline constexpr const char* kValidateHelp =
    "Slows each stage of a real loader in turn - storage, decoding, the copy, the training step - and prints what the\n"
    "report then named: a confusion matrix for each kind of slowness, and whether the bars were passed. Needs no data\n"
    "and no GPU: a simulated device stands in for it.\n"
    "\n"
    "Examples:\n"
    "  stoker validate                               all of it, some ten minutes\n"
    "  stoker validate --only copy --runs 10         the experiments with copy in their name, ten times each\n"
    "  stoker validate --json matrix.json\n"
    "\n"
    "Runs in which the machine was busy with something else are repeated, and told apart where that does not help.\n"
    "\n"
    "Exit codes: 0 every bar was passed, 1 one was missed, 2 a wrong option, 130 interrupted (what was run is "
    "printed).";

// Adds the options to `command`; both must outlive its use.
void AddValidateOptions(CLI::App& command, ValidateOptions& options);

// Returns the exit code. Throws std::invalid_argument where `only` names no experiment, std::system_error where files
// cannot be written.
int ValidateCommand(const ValidateOptions& options);

}  // namespace stoker

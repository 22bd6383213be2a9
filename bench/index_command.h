// `stoker index`: where the rows of a data set's JPEGs begin, found out before the first epoch.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>

namespace stoker {

struct IndexOptions {
  std::string path = {};  // a folder; empty with `list`
  std::string list = {};
  bool allow_empty = false;
  std::string index = {};  // the folder for the index; empty: in the user's folder for caches
  int32_t workers = 0;     // 0: as many as there are CPUs to use
};

inline constexpr const char* kIndexHelp =
    "Finds out where the rows of each JPEG begin, which a first epoch would learn by and by, and writes it to a file\n"
    "for stoker run --index and index= in Python. Pictures that it knows already cost little more than reading them;\n"
    "those of which nothing can be learned are decoded every time.\n"
    "\n"
    "Examples:\n"
    "  stoker index photos/train                     into ~/.cache/stoker\n"
    "  stoker index photos/train --index indexes     then: stoker run photos/train --index indexes\n"
    "\n"
    "Exit codes: 0 done, 1 the index could not be written, 2 a wrong option, path or list, 130 interrupted (what was\n"
    "found out so far is written).";

// Adds the options to `command`; both must outlive its use.
void AddIndexOptions(CLI::App& command, IndexOptions& options);

// Returns the exit code. Throws std::invalid_argument, Error where the pictures cannot be found, and std::system_error
// or std::bad_alloc where threads or memory are missing. Installs a handler for SIGINT and SIGTERM while it runs.
// Threads: as many as there are workers, joined before it returns or throws.
int IndexCommand(const IndexOptions& options);

}  // namespace stoker

// Whether io_uring can be used here, and what forbids it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace stoker {

struct UringState {
  bool works = false;
  std::string reason = {};                   // where it does not: what failed
  std::optional<int64_t> sysctl = {};        // kernel.io_uring_disabled: 0 allowed, 1 for a group only, 2 for nobody
  std::optional<int64_t> seccomp_mode = {};  // of this process: 2: its system calls are filtered
};

// Tries a real chain of open, read and close, for a second at most; `root` ("/") is where the settings are read.
UringState ReadUringState(const std::string& root);

// What to do where it does not work; empty where it does.
std::string UringRemedy(const UringState& state);

}  // namespace stoker

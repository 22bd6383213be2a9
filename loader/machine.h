// What this process may use of the machine: CPUs and memory, as affinity and container limits leave them.
#pragma once

#include <cstdint>
#include <string>

namespace stoker {

// The container's limits, read from a cgroup v2 (or v1) tree. The root is a parameter so that tests can make one.
struct CgroupLimits {
  double cpus = 0;           // quota over period; 0: no limit
  int64_t memory_bytes = 0;  // headroom: limit less what is used; 0: no limit
};
CgroupLimits ReadCgroupLimits(const std::string& root, const std::string& own_path);

}  // namespace stoker

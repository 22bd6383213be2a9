// What this process may use of the machine: CPUs and memory, as affinity and container limits leave them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace stoker {

// The container's limits, read from a cgroup v2 (or v1) tree. The root is a parameter so that tests can make one.
struct CgroupLimits {
  double cpus = 0;           // quota over period; 0: no limit
  int64_t memory_bytes = 0;  // headroom: limit less what is used; 0: no limit
};
CgroupLimits ReadCgroupLimits(const std::string& root, const std::string& own_path);

// The CPUs of NUMA node `node` that the calling thread may use, ascending; empty where that is no choice: the node is
// not known, or it has none or all of them. `root` is /sys, or a tree that a test made.
std::vector<int> CpusOfNode(const std::string& root, int node);

// Keeps the calling thread on `cpus`; empty: on those of the process.
void StayOn(const std::vector<int>& cpus);

}  // namespace stoker

// What this process may use of the machine: CPUs and memory, as affinity and container limits leave them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace stoker {

// The container's limits, read from a cgroup v2 (or v1) tree. The root is a parameter so that tests can make one.
struct CgroupLimits {
  double cpus = 0;           // quota over period; 0: no limit
  int64_t memory_bytes = 0;  // headroom: limit less what is used, pages of files left out; 0: no limit
};
CgroupLimits ReadCgroupLimits(const std::string& root, const std::string& own_path);

// The limits of this process. `root` is "/", or a folder with a tree like it.
CgroupLimits OwnCgroupLimits(const std::string& root);

// The folder of this process's own group: of version 2 where `controller` is empty, else of that controller of version
// 1
// ("cpu", "memory"). In a container that sees no more than its own group, that is the tree's root. Empty where there is
// no such tree.
std::string OwnCgroupFolder(const std::string& root, std::string_view controller);

// Processes of one job on this machine (LOCAL_WORLD_SIZE, torchrun's variable); at least 1.
int32_t LocalRanks();

// The CPUs of NUMA node `node` that the calling thread may use, ascending; empty where that is no choice: the node is
// not known, or it has none or all of them. `root` is /sys, or a tree that a test made.
std::vector<int> CpusOfNode(const std::string& root, int node);

// Keeps the calling thread on `cpus`; empty: on those of the process.
void StayOn(const std::vector<int>& cpus);

}  // namespace stoker

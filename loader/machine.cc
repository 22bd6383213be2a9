#include "loader/machine.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <sstream>

#include "loader/options.h"

namespace stoker {
namespace {

constexpr int64_t kBytesPerKb = 1024;
// cgroup v1 has no word for "no limit": it shows the largest number of whole pages.
constexpr int64_t kNoLimitV1 = int64_t{1} << 62;

// The first line of a small file of the kernel's; empty where there is none.
std::string FirstLine(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

int64_t ReadNumber(const std::string& path) {
  const std::string line = FirstLine(path);
  return line.empty() || line == "max" ? 0 : std::strtoll(line.c_str(), nullptr, 10);
}

// The line "0::/path" of /proc/self/cgroup (v2).
std::string OwnCgroup() {
  std::ifstream file("/proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("0::")) return line.substr(3);
  }
  return "/";
}

void Tighten(CgroupLimits& limits, double cpus, int64_t memory_bytes) {
  if (cpus > 0) limits.cpus = limits.cpus > 0 ? std::min(limits.cpus, cpus) : cpus;
  if (memory_bytes > 0) {
    limits.memory_bytes = limits.memory_bytes > 0 ? std::min(limits.memory_bytes, memory_bytes) : memory_bytes;
  }
}

double QuotaOf(const std::string& cpu_max) {
  std::istringstream words(cpu_max);
  std::string quota;
  double period = 0;
  if (!(words >> quota >> period) || quota == "max" || period <= 0) return 0;
  return std::strtod(quota.c_str(), nullptr) / period;
}

int64_t MemAvailableBytes() {
  std::ifstream file("/proc/meminfo");
  for (std::string key; file >> key;) {
    int64_t kb = 0;
    if (key == "MemAvailable:" && file >> kb) return kb * kBytesPerKb;
    file.ignore(std::numeric_limits<std::streamsize>::max(), '\n');
  }
  return int64_t{1} << 30;
}

}  // namespace

CgroupLimits ReadCgroupLimits(const std::string& root, const std::string& own_path) {
  CgroupLimits limits;
  // Every ancestor limits too: walk up from our own group to the root.
  for (std::string path = own_path;; path = path.substr(0, path.rfind('/'))) {
    const std::string folder = root + (path == "/" ? "" : path);
    const int64_t limit = ReadNumber(folder + "/memory.max");
    const int64_t used = ReadNumber(folder + "/memory.current");
    Tighten(limits, QuotaOf(FirstLine(folder + "/cpu.max")), limit > 0 ? std::max<int64_t>(limit - used, 1) : 0);
    if (path.empty() || path == "/" || path.rfind('/') == std::string::npos) break;
  }
  // cgroup v1 keeps one tree a controller; inside a container its own limits lie at the root.
  const auto quota = static_cast<double>(ReadNumber(root + "/cpu/cpu.cfs_quota_us"));
  const auto period = static_cast<double>(ReadNumber(root + "/cpu/cpu.cfs_period_us"));
  const int64_t limit = ReadNumber(root + "/memory/memory.limit_in_bytes");
  const int64_t used = ReadNumber(root + "/memory/memory.usage_in_bytes");
  Tighten(limits, quota > 0 && period > 0 ? quota / period : 0,
          limit > 0 && limit < kNoLimitV1 ? std::max<int64_t>(limit - used, 1) : 0);
  return limits;
}

std::vector<int> CpusOfNode(const std::string& root, int node) {
  if (node < 0) return {};
  cpu_set_t usable;
  CPU_ZERO(&usable);
  if (sched_getaffinity(0, sizeof usable, &usable) != 0) return {};
  std::vector<int> cpus;
  // "0-3,8,10-11"
  std::istringstream list(FirstLine(root + "/devices/system/node/node" + std::to_string(node) + "/cpulist"));
  for (std::string range; std::getline(list, range, ',');) {
    int first = 0, last = 0;
    const int numbers = std::sscanf(range.c_str(), "%d-%d", &first, &last);
    if (numbers < 1 || first < 0) return {};
    if (numbers == 1) last = first;
    for (int cpu = first; cpu <= last && cpu < CPU_SETSIZE; ++cpu) {
      if (CPU_ISSET(cpu, &usable)) cpus.push_back(cpu);
    }
  }
  return static_cast<int>(cpus.size()) < CPU_COUNT(&usable) ? cpus : std::vector<int>();
}

void StayOn(const std::vector<int>& cpus) {
  thread_local std::vector<int> kept_on;
  thread_local cpu_set_t before;
  if (kept_on == cpus) return;
  // The process's own: a thread inherits where the one that made it happened to be kept.
  if (kept_on.empty()) sched_getaffinity(getpid(), sizeof before, &before);
  cpu_set_t set = before;
  if (!cpus.empty()) CPU_ZERO(&set);
  for (const int cpu : cpus) CPU_SET(cpu, &set);
  // Where the kernel refuses, the thread goes on where it was: slower, not wrong.
  sched_setaffinity(0, sizeof set, &set);
  kept_on = cpus;
}

int32_t UsableCpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  int32_t cpus = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
  const double quota = ReadCgroupLimits("/sys/fs/cgroup", OwnCgroup()).cpus;
  if (quota > 0) cpus = std::min(cpus, static_cast<int32_t>(std::ceil(quota)));
  return std::max(cpus, 1);
}

int32_t DefaultWorkers() {
  const char* local = std::getenv("LOCAL_WORLD_SIZE");
  const int32_t processes = local == nullptr ? 1 : std::max(std::atoi(local), 1);
  return std::max(UsableCpus() / processes, 1);
}

int64_t AvailableMemoryBytes() {
  const int64_t free_bytes = MemAvailableBytes();
  const int64_t headroom = ReadCgroupLimits("/sys/fs/cgroup", OwnCgroup()).memory_bytes;
  return headroom > 0 ? std::min(free_bytes, headroom) : free_bytes;
}

}  // namespace stoker

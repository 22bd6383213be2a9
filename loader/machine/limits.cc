#include "loader/machine/limits.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <sstream>
#include <system_error>

#include "loader/machine/kernel_text.h"
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

// The number behind `key` in a file of "key number" lines; 0 where it is missing.
int64_t NumberOf(const std::string& path, const std::string& key) {
  std::ifstream file(path);
  for (std::string word; file >> word;) {
    int64_t number = 0;
    if (word == key && file >> number) return number;
    file.clear();
    file.ignore(std::numeric_limits<std::streamsize>::max(), '\n');
  }
  return 0;
}

// What a group may still take, for 0 "no limit". Pages of files count as used, but the kernel gives them back first.
int64_t Headroom(int64_t limit, int64_t used, int64_t file_bytes) {
  return limit > 0 ? std::max<int64_t>(limit - std::max<int64_t>(used - file_bytes, 0), 1) : 0;
}

// The path in a line "4:cpu,cpuacct:/path" of /proc/self/cgroup; version 2 is the line "0::/path". "/" where there is
// none.
std::string OwnCgroupPath(const std::string& root, std::string_view controller) {
  std::ifstream file(root + "/proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {
    const size_t first = line.find(':');
    const size_t second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    // A comma more, so that "0::" has one name, the empty one.
    std::istringstream names(line.substr(first + 1, second - first - 1) + ",");
    for (std::string name; std::getline(names, name, ',');) {
      if (name == controller) return line.substr(second + 1);
    }
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

// The limits of a group of version 1; the folders may be empty or missing.
void TightenByV1(CgroupLimits& limits, const std::string& cpu, const std::string& memory) {
  const auto quota = static_cast<double>(ReadNumber(cpu + "/cpu.cfs_quota_us"));
  const auto period = static_cast<double>(ReadNumber(cpu + "/cpu.cfs_period_us"));
  const int64_t limit = ReadNumber(memory + "/memory.limit_in_bytes");
  const std::string stat = memory + "/memory.stat";
  Tighten(limits, quota > 0 && period > 0 ? quota / period : 0,
          Headroom(limit < kNoLimitV1 ? limit : 0, ReadNumber(memory + "/memory.usage_in_bytes"),
                   NumberOf(stat, "total_active_file") + NumberOf(stat, "total_inactive_file")));
}

int64_t MemAvailableBytes() {
  const int64_t kb = NumberOf("/proc/meminfo", "MemAvailable:");
  return kb > 0 ? kb * kBytesPerKb : int64_t{1} << 30;
}

}  // namespace

CgroupLimits ReadCgroupLimits(const std::string& root, const std::string& own_path) {
  CgroupLimits limits;
  // Every ancestor limits too: walk up from our own group to the root.
  for (std::string path = own_path;; path = path.substr(0, path.rfind('/'))) {
    const std::string folder = root + (path == "/" ? "" : path);
    const std::string stat = folder + "/memory.stat";
    Tighten(limits, QuotaOf(FirstLine(folder + "/cpu.max")),
            Headroom(ReadNumber(folder + "/memory.max"), ReadNumber(folder + "/memory.current"),
                     NumberOf(stat, "active_file") + NumberOf(stat, "inactive_file")));
    if (path.empty() || path == "/" || path.rfind('/') == std::string::npos) break;
  }
  // cgroup v1 keeps one tree a controller; inside a container its own limits lie at the root.
  TightenByV1(limits, root + "/cpu", root + "/memory");
  return limits;
}

CgroupLimits OwnCgroupLimits(const std::string& root) {
  CgroupLimits limits = ReadCgroupLimits(root + "/sys/fs/cgroup", OwnCgroupPath(root, ""));
  TightenByV1(limits, OwnCgroupFolder(root, "cpu"), OwnCgroupFolder(root, "memory"));
  return limits;
}

std::string OwnCgroupFolder(const std::string& root, std::string_view controller) {
  const std::string trees = root + "/sys/fs/cgroup";
  std::error_code error;
  std::string tree = trees;
  if (!controller.empty()) {
    tree += "/" + std::string(controller);
  } else if (std::filesystem::is_directory(trees + "/unified", error)) {  // beside trees of version 1
    tree += "/unified";
  } else if (!std::filesystem::exists(trees + "/cgroup.controllers", error)) {
    return "";
  }
  std::string own = tree + OwnCgroupPath(root, controller);
  if (std::filesystem::is_directory(own, error)) return own;
  return std::filesystem::is_directory(tree, error) ? tree : "";
}

int32_t LocalRanks() {
  const char* local = std::getenv("LOCAL_WORLD_SIZE");
  std::string_view digits = local == nullptr ? "" : local;
  return static_cast<int32_t>(std::clamp<int64_t>(TakeNumber(digits).value_or(1), 1, INT32_MAX));
}

std::vector<int> CpusOfNode(const std::string& root, int node) {
  if (node < 0) return {};
  cpu_set_t usable;
  CPU_ZERO(&usable);
  if (sched_getaffinity(0, sizeof usable, &usable) != 0) return {};
  std::vector<int> cpus;
  for (const int cpu :
       NumbersOfList(FirstLine(root + "/devices/system/node/node" + std::to_string(node) + "/cpulist"))) {
    if (cpu < CPU_SETSIZE && CPU_ISSET(cpu, &usable)) cpus.push_back(cpu);
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
  const double quota = OwnCgroupLimits("/").cpus;
  if (quota > 0) cpus = std::min(cpus, static_cast<int32_t>(std::ceil(quota)));
  return std::max(cpus, 1);
}

int32_t DefaultWorkers() { return std::max(UsableCpus() / LocalRanks(), 1); }

int64_t AvailableMemoryBytes() {
  const int64_t free_bytes = MemAvailableBytes();
  const int64_t headroom = OwnCgroupLimits("/").memory_bytes;
  return headroom > 0 ? std::min(free_bytes, headroom) : free_bytes;
}

}  // namespace stoker

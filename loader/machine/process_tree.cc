#include "loader/machine/process_tree.h"

#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <vector>

#include "loader/machine/kernel_text.h"

namespace stoker {
namespace {

// A tree larger than this is counted in part; it also ends a walk through made-up children that go round.
constexpr size_t kMaxProcesses = 2048;
constexpr size_t kStatBytes = 1024;
constexpr size_t kChildrenBytes = 16384;

// What /proc/PID/stat says, in clock ticks.
struct Stat {
  int64_t pid = 0;
  int64_t parent = 0;
  int64_t own_ticks = 0;
  int64_t waited_ticks = 0;  // of children that were waited for
};

// "PID (name) S PPID ..." with utime, stime, cutime and cstime as fields 14 to 17 (proc(5)). The name may hold
// anything, brackets and blanks too, so fields are counted from the last bracket.
std::optional<Stat> ParseStat(std::string_view text) {
  Stat stat;
  const auto pid = TakeNumber(text);
  const size_t bracket = text.rfind(')');
  if (!pid || bracket == std::string_view::npos || text.size() < bracket + 4) return std::nullopt;
  stat.pid = *pid;
  text.remove_prefix(bracket + 4);  // ") S "
  for (int field = 4; field <= 17; ++field) {
    std::string_view number = text;
    if (!number.empty() && number.front() == '-') number.remove_prefix(1);  // a terminal that is none
    const auto value = TakeNumber(number);
    if (!value) return std::nullopt;
    if (field == 4) stat.parent = *value;
    if (field == 14 || field == 15) stat.own_ticks += *value;
    if (field == 16 || field == 17) stat.waited_ticks += *value;
    text = number.substr(std::min<size_t>(number.size(), 1));
  }
  return stat;
}

struct Process {
  int64_t pid = 0;
  int64_t parent = 0;
};

// Appends the children of the process in `folder`, each thread's. False where the kernel names none.
bool AddChildren(const std::string& folder, int64_t pid, std::vector<Process>& processes) {
  KernelFolder threads(folder + "/task");
  std::array<char, kChildrenBytes> buffer;
  bool told = false;
  while (const int32_t thread = threads.NextNumber()) {
    char name[32];
    (void)std::snprintf(name, sizeof name, "%d/children", thread);
    std::string_view children = threads.Read(name, buffer);
    // An empty list is a list; a missing file is not.
    told = told || !children.empty() || access((folder + "/task/" + name).c_str(), R_OK) == 0;
    while (const auto child = TakeNumber(children)) {
      if (children.empty()) break;  // each number ends in a blank: one without was cut
      if (processes.size() < kMaxProcesses) processes.push_back({*child, pid});
    }
  }
  return told;
}

}  // namespace

ProcessCpu ReadProcessCpu(const std::string& root, bool childless) {
  ProcessCpu cpu;
  const std::string proc = root + "/proc/";
  const auto self = ParseStat(ReadKernelText(proc + "self/stat"));
  if (!self) return cpu;
  const auto seconds_per_tick = 1.0 / static_cast<double>(sysconf(_SC_CLK_TCK));
  cpu.own_seconds = static_cast<double>(self->own_ticks) * seconds_per_tick;
  int64_t ticks = self->own_ticks + self->waited_ticks;
  std::vector<Process> processes;
  if (!childless && !AddChildren(proc + "self", self->pid, processes)) return cpu;
  const KernelFolder folder(proc);
  std::array<char, kStatBytes> buffer;
  for (size_t i = 0; i < processes.size(); ++i) {
    const Process process = processes[i];
    const std::string name = std::to_string(process.pid);
    const auto stat = ParseStat(folder.Read((name + "/stat").c_str(), buffer));
    // It may have ended since it was named, and another have its number.
    if (!stat || stat->parent != process.parent) continue;
    ticks += stat->own_ticks + stat->waited_ticks;
    AddChildren(proc + name, process.pid, processes);
  }
  cpu.tree_seconds = static_cast<double>(ticks) * seconds_per_tick;
  return cpu;
}

bool HasChildren() noexcept {
  siginfo_t info = {};
  // Looks without taking: whoever waits for the child still finds it.
  return waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT | __WALL) == 0 || errno != ECHILD;
}

}  // namespace stoker

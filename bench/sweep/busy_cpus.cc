#include "bench/sweep/busy_cpus.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "bench/steady_seconds.h"

namespace stoker {

BusyCpus ReadBusyCpus(const std::string& stat) {
  BusyCpus reading;
  reading.at_seconds = SteadySeconds();
  cpu_set_t usable;
  if (sched_getaffinity(0, sizeof(usable), &usable) != 0) return reading;
  std::ifstream file(stat);
  int64_t ticks = 0;
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string name;
    // man 5 proc: user nice system idle iowait irq softirq steal; the others are in user already.
    int64_t user = 0, nice = 0, system = 0, idle = 0, waiting = 0, irq = 0, softirq = 0;
    words >> name >> user >> nice >> system >> idle >> waiting >> irq >> softirq;
    if (!words || name.size() < 4 || name.compare(0, 3, "cpu") != 0) continue;
    const int cpu = std::stoi(name.substr(3));
    if (cpu < 0 || cpu >= CPU_SETSIZE || !CPU_ISSET(cpu, &usable)) continue;
    ticks += user + nice + system + irq + softirq;
  }
  reading.busy_seconds = static_cast<double>(ticks) / static_cast<double>(sysconf(_SC_CLK_TCK));
  return reading;
}

double ForeignCpus(const BusyCpus& before, const BusyCpus& after, const rusage& used) {
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
  };
  const double passed = after.at_seconds - before.at_seconds;
  if (passed <= 0 || before.busy_seconds <= 0 || after.busy_seconds <= 0) return 0;
  const double own = seconds(used.ru_utime) + seconds(used.ru_stime);
  return std::max(0.0, (after.busy_seconds - before.busy_seconds - own) / passed);
}

}  // namespace stoker

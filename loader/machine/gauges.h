// What the kernel counts of this process and its machine, read once a report; and two such readings as rates.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace stoker {

// Time lost since boot (of a group: since it was made) because tasks waited (PSI, Documentation/accounting/psi.rst):
// some of them, or all that could have run. Not told for the whole machine's cpu.
struct Pressure {
  std::optional<int64_t> some_us;
  std::optional<int64_t> full_us;
};
struct Pressures {
  Pressure cpu, io, memory;
};

// One thread since it began.
struct ThreadTimes {
  int32_t id = 0;
  int64_t ran_ns = 0;
  int64_t waited_ns = 0;  // could have run and had no core: run-queue delay
};

// A reading. What cannot be read (an old kernel, a sandbox, another system) is not there.
struct MachineGauges {
  int64_t at_ns = 0;  // on the caller's clock

  // Memory of this process. Anonymous is its heap; shared is what it shares with other processes (shmem); the rest of
  // RSS is pages of files, which the kernel may take back.
  std::optional<int64_t> rss_bytes, anonymous_bytes, shared_bytes;

  std::optional<double> cpu_seconds;       // of this process, all threads
  std::optional<double> tree_cpu_seconds;  // with all that it started; see ProcessCpu
  std::optional<int32_t> thread_count;
  std::vector<ThreadTimes> threads;  // all of them, by no order; empty where it is not known

  // Of this process: what came from storage, read-ahead included, and what it asked for by read calls. io_uring's reads
  // are not in the second.
  std::optional<int64_t> storage_read_bytes, read_call_bytes;

  Pressures machine;                    // /proc/pressure
  Pressures group;                      // of the own cgroup of version 2
  std::optional<int64_t> throttled_us;  // that the own cgroup was held back by its CPU quota
};

// Reads all of it; `root` is "/", or a folder with a tree like it. Allocates a little. Costs some 40 us and 2 us a
// thread, of which there are more where there are child processes.
MachineGauges ReadGauges(const std::string& root, int64_t at_ns);

// What happened between two readings of one process. What either lacks is not there, nor what a counter that went
// backwards or a clock that stood still or went backwards would give.
struct GaugeRates {
  std::optional<double> seconds;          // between them; above 0
  std::optional<double> cpu_cores;        // busy on average, for this process
  std::optional<double> tree_cpu_cores;   // and for all that it started
  std::optional<double> run_queue_share;  // of the time that its threads could run, what they waited for a core; 0 to 1
  std::optional<double> cache_hit_share;  // of the bytes read, those that storage had no part in; 0 to 1
  // Of the time between, 0 to 1.
  std::optional<double> throttled_share;
  std::optional<double> cpu_pressure, io_pressure, memory_pressure;  // some tasks waited, of the group or the machine
};

// `read_bytes`: what the loader read between the two, which the cache's share is of; without it read calls count, which
// is wrong where io_uring reads. Pure.
GaugeRates RatesBetween(const MachineGauges& before, const MachineGauges& after,
                        std::optional<int64_t> read_bytes = std::nullopt);

}  // namespace stoker

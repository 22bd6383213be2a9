#include "loader/machine/checks.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include "loader/machine/words.h"

namespace stoker {
namespace {

// Below this a decoding thread, the training loop and the driver's threads take turns on one core.
constexpr int32_t kFewCpusARank = 2;
// Threads of pools and workers that the usable CPUs bear: PyTorch's pool mostly sleeps beside a GPU, so one of each a
// CPU is the usual case and does no harm.
constexpr int64_t kThreadsPerCpu = 2;
constexpr double kLittleMemory = 0.1;  // of the machine's

// Read without entering the kernel (vDSO); a time stamp costs tens of nanoseconds. With any other it costs a system
// call or worse, and stamps are taken for every sample.
constexpr std::array<std::string_view, 6> kFastClocks = {
    "tsc", "kvm-clock", "hyperv_clocksource_tsc_page", "arch_sys_counter", "timebase", "riscv_clocksource"};

Check CheckWorkers(const Overview& overview) {
  const CpuOverview& cpu = overview.cpu;
  const int32_t workers = overview.request.num_workers;
  const std::string found = fmt::format(
      "{} for {} of this process{}", CountWords(workers, "worker"), CountWords(cpu.usable_by_rank(), "usable CPU"),
      cpu.local_ranks > 1 ? fmt::format(", one of {} ranks here", cpu.local_ranks) : "");
  if (workers <= cpu.usable_by_rank()) return Ok("workers", found);
  return Warning("workers", found,
                 fmt::format("num_workers={}: more wait for each other; or give the process more CPUs (affinity, "
                             "container quota)",
                             cpu.usable_by_rank()));
}

Check CheckQuota(const CpuOverview& cpu) {
  if (!cpu.quota) return Ok("cpu quota", "none");
  const std::string found = fmt::format("{:.4g} CPUs, of {} that the affinity mask leaves", *cpu.quota,
                                        static_cast<int64_t>(cpu.allowed.size()));
  if (*cpu.quota >= static_cast<double>(cpu.allowed.size()) || std::floor(*cpu.quota) == *cpu.quota) {
    return Ok("cpu quota", found);
  }
  const double whole = std::max(std::floor(*cpu.quota), 1.0);
  return Warning("cpu quota", found + ": not a whole number, so all threads are held up together for parts of a period",
                 fmt::format("a quota of {:.0f} or {:.0f} whole CPUs; until then num_workers={:.0f}", whole,
                             std::ceil(*cpu.quota), whole));
}

Check CheckRanks(const CpuOverview& cpu) {
  if (cpu.local_ranks < 2) return Ok("ranks", "one, with all of the CPUs");
  const std::string found =
      fmt::format("{} of this job share {}", CountWords(cpu.local_ranks, "rank"), CountWords(cpu.usable(), "CPU"));
  if (cpu.usable() >= kFewCpusARank * cpu.local_ranks) return Ok("ranks", found);
  return Warning(
      "ranks", found,
      fmt::format("{} CPUs a rank or more: a larger affinity mask or container quota, or fewer ranks on this "
                  "machine",
                  kFewCpusARank));
}

Check CheckClock(const std::string& source) {
  if (source.empty()) return Unknown("clock", "its source is not known");
  if (std::ranges::find(kFastClocks, source) != kFastClocks.end()) return Ok("clock", source);
  return Warning(
      "clock", source + ": each time stamp enters the kernel",
      "tsc where the hardware allows it (/sys/devices/system/clocksource/clocksource0, boot option tsc=reliable)");
}

// Threads of the largest pool that another library is likely to start.
int64_t PoolThreads(const Overview& overview) {
  const ThreadPools& pools = overview.pools;
  if (overview.request.torch_threads) return *overview.request.torch_threads;
  if (const auto threads = pools.openmp_threads()) return *threads;
  // Without the variable a pool takes all that the affinity mask leaves: it does not know of quotas or other ranks.
  return pools.openmp_copies > 0 ? static_cast<int64_t>(overview.cpu.allowed.size()) : 0;
}

}  // namespace

void CheckCpus(const Overview& overview, std::vector<Check>& checks) {
  if (overview.cpu.allowed.empty()) {
    checks.push_back(Unknown("cpus", "the affinity mask cannot be read"));
  } else {
    if (overview.request.num_workers > 0) checks.push_back(CheckWorkers(overview));
    checks.push_back(CheckQuota(overview.cpu));
    checks.push_back(CheckRanks(overview.cpu));
  }
  checks.push_back(CheckClock(overview.cpu.clock_source));
}

void CheckThreadPools(const Overview& overview, std::vector<Check>& checks) {
  const int64_t pool = PoolThreads(overview);
  if (overview.cpu.allowed.empty()) return;
  const int64_t ranks = std::max(overview.cpu.local_ranks, 1);
  const int64_t workers = overview.request.num_workers;
  const int64_t all = (pool + workers) * ranks;
  const std::string found = pool == 0 ? std::string("no OpenMP or PyTorch pool in this process")
                                      : fmt::format("OpenMP or PyTorch may run {} beside {}{}: {} in all for {}",
                                                    CountWords(pool, "thread"), CountWords(workers, "worker"),
                                                    ranks > 1 ? fmt::format(" in each of {} ranks", ranks) : "", all,
                                                    CountWords(overview.cpu.usable(), "usable CPU"));
  if (pool == 0 || all <= kThreadsPerCpu * overview.cpu.usable()) {
    checks.push_back(Ok("thread pools", found));
  } else {
    checks.push_back(Warning("thread pools", found,
                             fmt::format("OMP_NUM_THREADS={0} before the start, or torch.set_num_threads({0}), unless "
                                         "the model itself runs on the CPU",
                                         std::max<int64_t>(overview.cpu.usable_by_rank() / 4, 1))));
  }
}

void CheckMemory(const Overview& overview, std::vector<Check>& checks) {
  const MemoryOverview& memory = overview.memory;
  if (memory.total_bytes && memory.available_bytes) {
    const std::string found =
        fmt::format("{} of {} available", BytesWords(*memory.available_bytes), BytesWords(*memory.total_bytes));
    const bool little =
        static_cast<double>(*memory.available_bytes) < kLittleMemory * static_cast<double>(*memory.total_bytes);
    checks.push_back(little ? Warning("memory", found,
                                      "see who has it (ps aux --sort -rss | head) before the job swaps or is killed")
                            : Ok("memory", found));
  } else {
    checks.push_back(Unknown("memory", "/proc/meminfo cannot be read"));
  }
  int64_t room = memory.available_bytes.value_or(0);
  if (memory.headroom_bytes) room = room > 0 ? std::min(room, *memory.headroom_bytes) : *memory.headroom_bytes;
  const int64_t planned = overview.request.planned_bytes;
  const int64_t ranks = std::max(overview.cpu.local_ranks, 1);
  if (planned > 0 && room > 0) {
    const std::string found = fmt::format("{} planned{}, {} left{}", BytesWords(planned),
                                          ranks > 1 ? fmt::format(" by each of {} ranks", ranks) : "", BytesWords(room),
                                          memory.headroom_bytes ? " by the container's limit" : "");
    checks.push_back(
        planned <= room / ranks
            ? Ok("buffers", found)
            : Warning("buffers", found,
                      fmt::format("memory_limit_bytes={}, smaller batches or a lower prefetch_factor; or a "
                                  "higher container limit",
                                  room / ranks / 2)));
  }
  const int64_t locked = overview.request.locked_bytes;
  if (!memory.memlock_bytes) {
    checks.push_back(Ok("memlock", "no limit"));
  } else if (locked > *memory.memlock_bytes) {
    checks.push_back(Warning(
        "memlock",
        fmt::format("{} may be locked, {} of read buffers are to be", BytesWords(*memory.memlock_bytes),
                    BytesWords(locked)),
        fmt::format("ulimit -l {} or more (docker run --ulimit memlock=-1): until then each read pins its own pages",
                    locked / 1024 + 1)));
  } else {
    checks.push_back(Ok("memlock", fmt::format("{} may be locked", BytesWords(*memory.memlock_bytes))));
  }
}

void CheckStorage(const Overview& overview, std::vector<Check>& checks) {
  checks.push_back(overview.uring.works
                       ? Ok("io_uring", "works")
                       : Warning("io_uring", "cannot be used: " + overview.uring.reason, UringRemedy(overview.uring)));
  if (!overview.storage) return;
  const Storage& storage = *overview.storage;
  if (storage.file_system.empty()) {
    checks.push_back(Unknown("data set", storage.path + ": its file system is not known"));
    return;
  }
  const std::string found = fmt::format("{}{}, {}", storage.file_system,
                                        storage.disk.empty() ? "" : " on " + storage.disk, StorageWords(storage.kind));
  switch (storage.kind) {
    case StorageKind::kRotational:
      checks.push_back(Warning("data set", found + ": some hundred files a second in random order",
                               "copy it to a solid state disk or to memory, or pack it into large files"));
      break;
    case StorageKind::kNetwork:
    case StorageKind::kUserSpace:
    case StorageKind::kShared:
      checks.push_back(Warning("data set", found + ": each small file costs round trips",
                               "copy it to a local disk before training, or raise queue_depth to hide the latency"));
      break;
    default:
      checks.push_back(Ok("data set", found));
  }
}

std::vector<Check> CheckOverview(const Overview& overview) {
  std::vector<Check> checks;
  CheckCpus(overview, checks);
  CheckThreadPools(overview, checks);
  CheckMemory(overview, checks);
  CheckStorage(overview, checks);
  CheckGpus(overview, checks);
  return checks;
}

std::vector<Check> Warnings(const Overview& overview) {
  std::vector<Check> checks = CheckOverview(overview);
  std::erase_if(checks, [](const Check& check) { return check.outcome != Outcome::kWarning; });
  return checks;
}

}  // namespace stoker

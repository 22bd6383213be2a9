#include <fmt/format.h>

#include <algorithm>

#include "loader/machine/overview.h"
#include "loader/machine/words.h"

namespace stoker {
namespace {

std::string Known(const std::optional<int64_t>& bytes) { return bytes ? BytesWords(*bytes) : "unknown"; }

std::string CpuWords(const CpuOverview& cpu, bool whole) {
  if (cpu.allowed.empty()) return "CPUs unknown";
  std::string words = fmt::format("{} usable", CountWords(cpu.usable(), "CPU"));
  const auto allowed = static_cast<int64_t>(cpu.allowed.size());
  if (whole || static_cast<size_t>(allowed) != cpu.online.size()) {
    words += fmt::format(", affinity {} ({})", allowed, ListWords(cpu.allowed));
    if (!cpu.online.empty()) words += fmt::format(" of {}", cpu.online.size());
  }
  if (cpu.quota) words += fmt::format(", quota {:.4g}", *cpu.quota);
  if (whole && !cpu.quota) words += ", no quota";
  if (cpu.local_ranks > 1) words += fmt::format(", for {} ranks", cpu.local_ranks);
  return words;
}

std::string MemoryWords(const MemoryOverview& memory) {
  if (!memory.total_bytes && !memory.available_bytes && !memory.headroom_bytes) return "memory unknown";
  std::string words = fmt::format("{} of {} memory free", Known(memory.available_bytes), Known(memory.total_bytes));
  if (memory.headroom_bytes)
    words += fmt::format(", {} below the container's limit", BytesWords(*memory.headroom_bytes));
  return words;
}

std::string NodeWords(const Overview& overview) {
  if (overview.nodes.empty()) return "unknown";
  std::string words;
  for (const NumaNode& node : overview.nodes) {
    words += fmt::format("{}node {}: CPUs {}, {}", words.empty() ? "" : "; ", node.id, ListWords(node.cpus),
                         Known(node.memory_bytes));
  }
  return words;
}

std::string LinkWords(const GpuState& state, bool whole) {
  if (!state.pcie_width) return "";
  std::string words = ", PCIe";
  if (state.pcie_generation) words += fmt::format(" {}.0", *state.pcie_generation);
  if (whole && state.pcie_generation_max) words += fmt::format(" (max {}.0)", *state.pcie_generation_max);
  words += fmt::format(" x{}", *state.pcie_width);
  if (whole && state.pcie_width_max) words += fmt::format(" (max x{})", *state.pcie_width_max);
  return words;
}

std::string GpuWords(const GpuOverview& gpu, size_t index, bool whole) {
  const GpuState& state = gpu.state;
  const auto bytes = [](const std::optional<uint64_t>& value) {
    return value ? BytesWords(static_cast<int64_t>(*value)) : "unknown";
  };
  std::string words = fmt::format("{}: {}, {} of {} free{}", index, state.name, bytes(state.load.memory_free_bytes),
                                  bytes(state.load.memory_total_bytes), LinkWords(state, whole));
  if (gpu.numa_node >= 0) words += fmt::format(", node {}", gpu.numa_node);
  if (!gpu.others.empty()) words += ", used by " + CountWords(static_cast<int64_t>(gpu.others.size()), "other");
  if (!whole) return words;
  words += fmt::format(", {}, {}", state.uuid, state.pci_address);
  if (state.load.busy_percent) words += fmt::format(", busy {} %", *state.load.busy_percent);
  if (state.load.temperature_celsius) words += fmt::format(", {} C", *state.load.temperature_celsius);
  if (state.load.power_watts) words += fmt::format(", {:.0f} W", *state.load.power_watts);
  for (const GpuUser& user : gpu.others) {
    words +=
        fmt::format("\n                 pid {} {}", user.pid, user.name.empty() ? "(as the host counts)" : user.name);
    if (user.memory_bytes) words += " " + BytesWords(static_cast<int64_t>(*user.memory_bytes));
  }
  return words;
}

// One line a GPU; in short only those that are meant, and how many there are besides.
std::string Gpus(const Overview& overview, bool whole) {
  std::string lines;
  size_t left_out = 0;
  const bool chosen = std::ranges::any_of(overview.gpus, &GpuOverview::chosen);
  for (size_t i = 0; i < overview.gpus.size(); ++i) {
    const GpuOverview& gpu = overview.gpus[i];
    if (!whole && (chosen ? !gpu.chosen : i > 0)) {
      ++left_out;
      continue;
    }
    lines +=
        fmt::format("  gpu          {}{}\n", GpuWords(gpu, i, whole), whole && gpu.chosen ? "  <- this job's" : "");
  }
  if (left_out > 0) lines.insert(lines.size() - 1, fmt::format(", and {} more here", left_out));
  if (overview.gpus.empty()) {
    const std::string& reason = overview.cuda_refusal.empty() ? overview.nvml_refusal : overview.cuda_refusal;
    lines = fmt::format("  gpu          none: {}\n", reason.empty() ? "NVML shows none" : reason);
  }
  return lines;
}

std::string DriverWords(const Overview& overview) {
  const auto& visible = overview.cuda_visible_devices;
  const std::string driver = overview.driver_version.empty()
                                 ? overview.nvml_refusal.empty() ? "version unknown" : "none"
                                 : overview.driver_version;
  return fmt::format("{}, CUDA_VISIBLE_DEVICES {}", driver, visible ? "\"" + *visible + "\"" : "not set");
}

std::string UringWords(const UringState& uring) {
  std::string words = uring.works ? "works (open, read and close were tried)" : "cannot be used: " + uring.reason;
  if (uring.sysctl) words += fmt::format(", kernel.io_uring_disabled={}", *uring.sysctl);
  if (uring.seccomp_mode) words += *uring.seccomp_mode == 2 ? ", seccomp filters" : ", no seccomp filter";
  return words;
}

std::string StorageLine(const Storage& storage, bool whole) {
  std::string words = storage.file_system.empty() ? "unknown file system" : storage.file_system;
  if (!storage.disk.empty()) words += " on " + storage.disk;
  words += fmt::format(", {}", StorageWords(storage.kind));
  if (whole) words = fmt::format("{}: {}, {} mounted at {}", storage.path, words, storage.source, storage.mount_point);
  if (whole && storage.free_bytes) words += fmt::format(", {} free", BytesWords(*storage.free_bytes));
  return words;
}

std::string PoolWords(const Overview& overview) {
  const ThreadPools& pools = overview.pools;
  std::string words = pools.threads ? CountWords(*pools.threads, "thread") + " now" : "number unknown";
  const auto add = [&words](const char* name, const std::optional<int32_t>& threads) {
    if (threads) words += fmt::format(", {} {}", name, *threads);
  };
  add("torch", overview.request.torch_threads);
  add("torch interop", overview.request.torch_interop_threads);
  add("OpenCV", overview.request.opencv_threads);
  std::string loaded;
  for (const std::string& library : pools.libraries) loaded += (loaded.empty() ? "" : ", ") + library;
  words += fmt::format("; loaded: {}", loaded.empty() ? "no library with a pool" : loaded);
  if (pools.openmp_copies > 1) words += fmt::format(" ({} OpenMP libraries)", pools.openmp_copies);
  std::string set;
  for (const auto& [name, value] : pools.variables) set += fmt::format("{}{}={}", set.empty() ? "" : " ", name, value);
  return words + "; " + (set.empty() ? "OMP_NUM_THREADS not set" : set);
}

std::string CheckLines(const std::vector<Check>& checks) {
  std::string lines;
  for (const Check& check : checks) {
    const char* const outcome = check.outcome == Outcome::kOk        ? "ok"
                                : check.outcome == Outcome::kWarning ? "warning"
                                                                     : "unknown";
    lines += fmt::format("  {:<8} {:<13}{}\n", outcome, check.name, check.found);
    if (!check.remedy.empty()) lines += fmt::format("           remedy: {}\n", check.remedy);
  }
  return lines;
}

std::string Whole(const Overview& overview) {
  const CpuOverview& cpu = overview.cpu;
  std::string text = "machine\n";
  text += fmt::format("  system       {}, clock source {}\n", overview.kernel.empty() ? "unknown" : overview.kernel,
                      cpu.clock_source.empty() ? "unknown" : cpu.clock_source);
  text += fmt::format("  cpu          {}: {}\n", cpu.model.empty() ? "unknown" : cpu.model, CpuWords(cpu, true));
  text += fmt::format("  memory       {}\n", MemoryWords(overview.memory));
  text += fmt::format("  memlock      {}\n",
                      overview.memory.memlock_bytes ? BytesWords(*overview.memory.memlock_bytes) : "no limit");
  text += fmt::format("  numa         {}\n", NodeWords(overview));
  text += Gpus(overview, true);
  text += fmt::format("  gpu driver   {}\n", DriverWords(overview));
  text += fmt::format("  io_uring     {}\n", UringWords(overview.uring));
  if (overview.storage) text += fmt::format("  data set     {}\n", StorageLine(*overview.storage, true));
  text += fmt::format("  threads      {}\n", PoolWords(overview));
  return text + "checks\n" + CheckLines(CheckOverview(overview));
}

}  // namespace

std::string FormatOverview(const Overview& overview, bool whole) {
  if (whole) return Whole(overview);
  std::string text =
      fmt::format("machine\n  cpu          {}, {}\n", CpuWords(overview.cpu, false), MemoryWords(overview.memory));
  text += Gpus(overview, false);
  text += fmt::format("  reads        io_uring {}", overview.uring.works ? "works" : "cannot be used");
  if (overview.storage) text += fmt::format("; data set: {}", StorageLine(*overview.storage, false));
  text += '\n';
  for (const Check& check : Warnings(overview)) {
    text += fmt::format("  warning      {}: {}; {}\n", check.name, check.found, check.remedy);
  }
  return text;
}

}  // namespace stoker

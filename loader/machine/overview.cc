#include "loader/machine/overview.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <system_error>

#include "loader/machine/kernel_text.h"
#include "loader/machine/limits.h"
#include "transfer/cuda_choice.h"
#include "transfer/cuda_driver.h"

namespace stoker {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kBytesPerKb = 1024;
constexpr int64_t kMaxKb = int64_t{1} << 50;
constexpr int kCapIpcLock = 14;  // linux/capability.h: who has it may lock without limit
constexpr const char* kNvidia = "0x10de";

std::optional<int64_t> BytesBehind(std::string_view text, std::string_view key) {
  const auto kb = NumberBehind(text, key);
  return kb && *kb <= kMaxKb ? std::optional(*kb * kBytesPerKb) : std::nullopt;
}

CpuOverview ReadCpu(const std::string& root, const std::string& status) {
  CpuOverview cpu;
  std::array<char, 4096> buffer;  // the first CPU says it
  cpu.model = TextBehind(KernelFolder(root + "/proc").Read("cpuinfo", buffer), "model name");
  cpu.online = NumbersOfList(ReadKernelLine(root + "/sys/devices/system/cpu/online").value_or(""));
  cpu.allowed = NumbersOfList(TextBehind(status, "Cpus_allowed_list"));
  cpu_set_t set;
  CPU_ZERO(&set);
  // A sandbox's /proc may leave it out.
  if (cpu.allowed.empty() && root == "/" && sched_getaffinity(0, sizeof set, &set) == 0) {
    for (int i = 0; i < CPU_SETSIZE; ++i) {
      if (CPU_ISSET(i, &set)) cpu.allowed.push_back(i);
    }
  }
  if (const double quota = OwnCgroupLimits(root).cpus; quota > 0) cpu.quota = quota;
  cpu.local_ranks = LocalRanks();
  cpu.clock_source =
      ReadKernelLine(root + "/sys/devices/system/clocksource/clocksource0/current_clocksource").value_or("");
  return cpu;
}

// "Max locked memory         8388608              8388608              bytes"
std::optional<int64_t> MemlockLimit(const std::string& root, const std::string& status) {
  const std::string capabilities(TextBehind(status, "CapEff"));
  const auto bits = std::strtoull(capabilities.c_str(), nullptr, 16);
  if ((bits >> kCapIpcLock & 1) != 0) return std::nullopt;
  return NumberBehind(ReadKernelText(root + "/proc/self/limits"), "Max locked memory");
}

MemoryOverview ReadMemory(const std::string& root, const std::string& status) {
  MemoryOverview memory;
  const std::string text = ReadKernelText(root + "/proc/meminfo");
  memory.total_bytes = BytesBehind(text, "MemTotal:");
  memory.available_bytes = BytesBehind(text, "MemAvailable:");
  if (const int64_t headroom = OwnCgroupLimits(root).memory_bytes; headroom > 0) memory.headroom_bytes = headroom;
  memory.memlock_bytes = MemlockLimit(root, status);
  return memory;
}

std::vector<NumaNode> ReadNodes(const std::string& root) {
  std::vector<NumaNode> nodes;
  const std::string folder = root + "/sys/devices/system/node/";
  for (const int32_t id : NumbersOfList(ReadKernelLine(folder + "online").value_or(""))) {
    const std::string name = "node" + std::to_string(id);
    NumaNode node;
    node.id = id;
    node.cpus = NumbersOfList(ReadKernelLine(folder + name + "/cpulist").value_or(""));
    node.memory_bytes =
        BytesBehind(ReadKernelText(folder + name + "/meminfo"), "Node " + std::to_string(id) + " MemTotal:");
    nodes.push_back(std::move(node));
  }
  return nodes;
}

// Display and compute cards of NVIDIA's on the bus.
int32_t CountNvidiaCards(const std::string& root) {
  int32_t cards = 0;
  std::error_code error;
  for (fs::directory_iterator device(root + "/sys/bus/pci/devices", error), end; !error && device != end;
       device.increment(error)) {
    const std::string folder = device->path().string();
    const std::string kind = ReadKernelLine(folder + "/class").value_or("");
    if (ReadKernelLine(folder + "/vendor") == kNvidia && kind.starts_with("0x03")) ++cards;
  }
  return cards;
}

GpuOverview MakeGpu(const std::string& root, GpuState state) {
  GpuOverview gpu;
  const auto node = ReadKernelLine(root + "/sys/bus/pci/devices/" + state.pci_address + "/numa_node");
  std::string_view text = node ? std::string_view(*node) : std::string_view();
  if (const auto number = TakeNumber(text); number && *number < 65536) gpu.numa_node = static_cast<int32_t>(*number);
  for (const GpuProcess& process : state.processes) {
    if (process.pid == getpid()) continue;
    const auto name = ReadKernelLine(root + "/proc/" + std::to_string(process.pid) + "/comm");
    gpu.others.push_back({process.pid, name.value_or(""), process.memory_bytes});
  }
  gpu.state = std::move(state);
  return gpu;
}

// Asks the CUDA driver which device is meant, and whether it can be had.
void ChooseDevice(Overview& overview) {
  const std::string& device = overview.request.device;
  if (device == "cpu" || device == "sim" || device.empty()) return;
  overview.cuda_tried = true;
  try {
    const CudaDriver& driver = CudaDriver::Get();
    overview.cuda_refusal = driver.refusal();
    if (!overview.cuda_refusal.empty()) return;
    const DeviceInfo chosen = ChooseCudaDevice(driver, device == "auto" ? "cuda" : device);
    for (GpuOverview& gpu : overview.gpus) {
      gpu.chosen = (!chosen.uuid.empty() && chosen.uuid == gpu.state.uuid) ||
                   (!chosen.pci_address.empty() && chosen.pci_address == gpu.state.pci_address);
    }
  } catch (const std::exception& error) {
    overview.cuda_refusal = error.what();
  }
}

}  // namespace

int32_t CpuOverview::usable() const {
  const auto cpus = std::max<double>(static_cast<double>(allowed.size()), 1);
  return static_cast<int32_t>(quota ? std::clamp(std::ceil(*quota), 1.0, cpus) : cpus);
}

int32_t CpuOverview::usable_by_rank() const { return std::max(usable() / std::max(local_ranks, 1), 1); }

Overview ReadOverview(const OverviewRequest& request, const std::string& root, const Nvml& nvml) {
  Overview overview;
  overview.request = request;
  const std::string status = ReadKernelText(root + "/proc/self/status");
  const auto type = ReadKernelLine(root + "/proc/sys/kernel/ostype");
  const auto release = ReadKernelLine(root + "/proc/sys/kernel/osrelease");
  if (type && release) overview.kernel = *type + " " + *release;
  overview.cpu = ReadCpu(root, status);
  overview.memory = ReadMemory(root, status);
  overview.nodes = ReadNodes(root);

  overview.nvidia_cards = CountNvidiaCards(root);
  overview.nvml_refusal = nvml.refusal();
  overview.driver_version = nvml.driver_version();
  if (const char* visible = std::getenv("CUDA_VISIBLE_DEVICES")) overview.cuda_visible_devices = visible;
  for (GpuState& state : nvml.Gpus()) overview.gpus.push_back(MakeGpu(root, std::move(state)));
  ChooseDevice(overview);

  overview.uring = ReadUringState(root);
  if (!request.data_path.empty()) overview.storage = ReadStorage(root, request.data_path);
  overview.pools = ReadThreadPools(root);
  return overview;
}

}  // namespace stoker

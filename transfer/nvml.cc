#include "transfer/nvml.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstdio>
#include <utility>

namespace stoker {
namespace {

// More than a GPU ever runs; the list is asked for again where it was longer.
constexpr size_t kUsualProcesses = 32;
constexpr int kMaxAttempts = 4;  // processes may come faster than they are asked for

// One figure of one device, where the library has the function and it succeeds.
template <typename Out, typename Value, typename Function, typename... Arguments>
std::optional<Out> Ask(Function function, Arguments... arguments) {
  Value value{};
  if (function == nullptr || function(arguments..., &value) != NvmlResult::kSuccess) return std::nullopt;
  return static_cast<Out>(value);
}

template <typename Function, typename... Arguments>
std::string AskText(Function function, Arguments... arguments) {
  char text[kNvmlTextBytes] = "";
  if (function == nullptr || function(arguments..., text, sizeof text) != NvmlResult::kSuccess) return "";
  text[sizeof text - 1] = '\0';
  return text;
}

std::string WordsOf(const NvmlApi& api, NvmlResult result) {
  const char* const words = api.error_string == nullptr ? nullptr : api.error_string(result);
  return words != nullptr ? words : "NVML error " + std::to_string(static_cast<int>(result));
}

std::string Remedy(NvmlResult result) {
  switch (result) {
    case NvmlResult::kDriverNotLoaded:
      return "load the NVIDIA kernel module (modprobe nvidia), or start the container with its GPUs";
    case NvmlResult::kNoPermission:
      return "this user may not open /dev/nvidiactl";
    default:
      return "see what nvidia-smi says";
  }
}

template <typename Function>
void AddProcesses(Function list, NvmlDevice device, std::vector<GpuProcess>& processes) {
  if (list == nullptr) return;
  std::vector<NvmlProcess> found(kUsualProcesses);
  for (int attempt = 0; attempt < kMaxAttempts; ++attempt) {
    auto count = static_cast<unsigned>(found.size());
    const NvmlResult result = list(device, &count, found.data());
    if (result == NvmlResult::kInsufficientSize) {
      found.resize(std::max<size_t>(found.size() * 2, count));
      continue;
    }
    if (result == NvmlResult::kSuccess) found.resize(std::min<size_t>(count, found.size()));
    if (result != NvmlResult::kSuccess) found.clear();
    break;
  }
  for (const NvmlProcess& process : found) {
    const auto pid = static_cast<int64_t>(process.pid);
    // A process that computes and draws is in both lists, with the same memory.
    if (std::ranges::any_of(processes, [pid](const GpuProcess& one) { return one.pid == pid; })) continue;
    std::optional<uint64_t> bytes;
    if (process.used_bytes != kNvmlMemoryUnknown) bytes = process.used_bytes;
    processes.push_back({pid, bytes});
  }
}

std::string PciAddress(const NvmlApi& api, NvmlDevice device) {
  NvmlPciInfo info = {};
  if (api.pci_info == nullptr || api.pci_info(device, &info) != NvmlResult::kSuccess) return "";
  char text[32];
  // The library's own text has a domain of eight digits, the kernel's of four.
  (void)std::snprintf(text, sizeof text, "%04x:%02x:%02x.0", info.domain, info.bus, info.device);
  return text;
}

}  // namespace

Nvml::Nvml(const char* library) : refusal_(Load(library)) {}

const Nvml& Nvml::Get() {
  // Never destroyed: the library has exit handlers of its own.
  static const auto* const nvml = new Nvml("libnvidia-ml.so.1");
  return *nvml;
}

std::string Nvml::Load(const char* library) {
  void* const handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) return "there is no NVML here (" + std::string(dlerror()) + ")";
#define STOKER_NVML_LOOK_UP(name, member, parameters) \
  api_.member = reinterpret_cast<decltype(api_.member)>(dlsym(handle, #name));
  STOKER_NVML_API(STOKER_NVML_LOOK_UP)
#undef STOKER_NVML_LOOK_UP
  api_.error_string = reinterpret_cast<decltype(api_.error_string)>(dlsym(handle, "nvmlErrorString"));
  if (api_.init == nullptr || api_.count == nullptr || api_.by_index == nullptr) {
    api_ = {};
    return "NVML cannot be used: it lacks nvmlInit_v2 or what lists devices: install an NVIDIA driver of version 525 "
           "or later";
  }
  if (const NvmlResult result = api_.init(); result != NvmlResult::kSuccess) {
    std::string refusal = "NVML cannot be used: " + WordsOf(api_, result) + ": " + Remedy(result);
    api_ = {};
    return refusal;
  }
  driver_version_ = AskText(api_.driver_version);
  return "";
}

std::vector<GpuState> Nvml::Gpus() const {
  std::vector<GpuState> gpus;
  const auto count = Ask<unsigned, unsigned>(api_.count).value_or(0);
  for (unsigned i = 0; i < count; ++i) {
    // One that has fallen off the bus is left out.
    if (const auto device = Ask<NvmlDevice, NvmlDevice>(api_.by_index, i)) gpus.push_back(StateOf(*device));
  }
  return gpus;
}

GpuState Nvml::StateOf(NvmlDevice device) const {
  GpuState gpu;
  gpu.name = AskText(api_.name, device);
  gpu.uuid = AskText(api_.uuid, device);
  gpu.pci_address = PciAddress(api_, device);
  gpu.load = ReadLoad(device);
  gpu.pcie_generation = Ask<int, unsigned>(api_.pcie_generation, device);
  gpu.pcie_generation_max = Ask<int, unsigned>(api_.pcie_generation_max, device);
  gpu.pcie_width = Ask<int, unsigned>(api_.pcie_width, device);
  gpu.pcie_width_max = Ask<int, unsigned>(api_.pcie_width_max, device);
  AddProcesses(api_.compute_processes, device, gpu.processes);
  AddProcesses(api_.graphics_processes, device, gpu.processes);
  return gpu;
}

NvmlDevice Nvml::Find(const std::string& uuid_or_pci_address) const {
  const char* const text = uuid_or_pci_address.c_str();
  const auto function = uuid_or_pci_address.starts_with("GPU-") ? api_.by_uuid : api_.by_pci_address;
  return Ask<NvmlDevice, NvmlDevice>(function, text).value_or(nullptr);
}

GpuLoad Nvml::ReadLoad(NvmlDevice device) const {
  GpuLoad load;
  if (device == nullptr) return load;
  if (const auto busy = Ask<NvmlUtilization, NvmlUtilization>(api_.utilization, device)) {
    load.busy_percent = static_cast<int>(busy->gpu);
    load.memory_busy_percent = static_cast<int>(busy->memory);
  }
  if (const auto memory = Ask<NvmlMemory, NvmlMemory>(api_.memory, device)) {
    load.memory_total_bytes = memory->total;
    load.memory_used_bytes = memory->used;
    load.memory_free_bytes = memory->free;
  }
  if (const auto milliwatts = Ask<unsigned, unsigned>(api_.power, device)) load.power_watts = 1e-3 * *milliwatts;
  load.temperature_celsius = Ask<int, unsigned>(api_.temperature, device, kNvmlTemperatureGpu);
  load.throttle_reasons = Ask<uint64_t, unsigned long long>(api_.throttle, device);
  return load;
}

std::string ThrottleWords(uint64_t reasons) {
  // nvml.h, nvmlClocksThrottleReason*. What is left out is no slowing down: idle (0x1), clocks that somebody set (0x2,
  // 0x10, 0x100).
  constexpr std::pair<uint64_t, const char*> kReasons[] = {{0x04, "power cap"},
                                                           {0x08, "hardware slowdown"},
                                                           {0x20, "hot (by the driver)"},
                                                           {0x40, "hot (by the hardware)"},
                                                           {0x80, "power brake"}};
  std::string words;
  for (const auto& [bit, text] : kReasons) {
    if ((reasons & bit) != 0) words += (words.empty() ? "" : ", ") + std::string(text);
  }
  return words;
}

}  // namespace stoker

// The part of NVIDIA's management library (NVML) that is used, declared here: building needs no toolkit. Source: the
// NVML reference, version 525, the oldest driver that CUDA 12 runs on.
#pragma once

#include <cstdint>

namespace stoker {

using NvmlDevice = struct NvmlDeviceObject*;

// The results that are told apart; the library returns many more.
enum class NvmlResult : int {
  kSuccess = 0,
  kUninitialized = 1,
  kInvalidArgument = 2,
  kNotSupported = 3,
  kNoPermission = 4,
  kNotFound = 6,
  kInsufficientSize = 7,
  kDriverNotLoaded = 9,
  kUnknown = 999,
};

inline constexpr unsigned kNvmlTextBytes = 96;  // as much as its longest text takes
inline constexpr int kNvmlTemperatureGpu = 0;
inline constexpr unsigned long long kNvmlMemoryUnknown = ~0ULL;  // NOLINT: the library's own type

struct NvmlUtilization {  // percent of the last sample period
  unsigned gpu;
  unsigned memory;
};
struct NvmlMemory {                      // bytes
  unsigned long long total, free, used;  // NOLINT: the library's own type
};
struct NvmlPciInfo {
  char old_bus_id[16];
  unsigned domain, bus, device, pci_device_id, pci_subsystem_id;
  char bus_id[32];
};
struct NvmlProcess {
  unsigned pid;
  unsigned long long used_bytes;  // NOLINT: the library's own type
  unsigned gpu_instance, compute_instance;
};

// Every entry point that is used, once: X(name in the library, our name, parameters); all return an NvmlResult.
#define STOKER_NVML_API(X)                                                                                 \
  X(nvmlInit_v2, init, ())                                                                                 \
  X(nvmlSystemGetDriverVersion, driver_version, (char* text, unsigned size))                               \
  X(nvmlDeviceGetCount_v2, count, (unsigned* count))                                                       \
  X(nvmlDeviceGetHandleByIndex_v2, by_index, (unsigned index, NvmlDevice* device))                         \
  X(nvmlDeviceGetHandleByUUID, by_uuid, (const char* uuid, NvmlDevice* device))                            \
  X(nvmlDeviceGetHandleByPciBusId_v2, by_pci_address, (const char* address, NvmlDevice* device))           \
  X(nvmlDeviceGetName, name, (NvmlDevice device, char* text, unsigned size))                               \
  X(nvmlDeviceGetUUID, uuid, (NvmlDevice device, char* text, unsigned size))                               \
  X(nvmlDeviceGetPciInfo_v3, pci_info, (NvmlDevice device, NvmlPciInfo * info))                            \
  X(nvmlDeviceGetUtilizationRates, utilization, (NvmlDevice device, NvmlUtilization * utilization))        \
  X(nvmlDeviceGetMemoryInfo, memory, (NvmlDevice device, NvmlMemory * memory))                             \
  X(nvmlDeviceGetPowerUsage, power, (NvmlDevice device, unsigned* milliwatts))                             \
  X(nvmlDeviceGetTemperature, temperature, (NvmlDevice device, int sensor, unsigned* celsius))             \
  X(nvmlDeviceGetCurrentClocksThrottleReasons, throttle, (NvmlDevice device, unsigned long long* reasons)) \
  X(nvmlDeviceGetCurrPcieLinkGeneration, pcie_generation, (NvmlDevice device, unsigned* generation))       \
  X(nvmlDeviceGetMaxPcieLinkGeneration, pcie_generation_max, (NvmlDevice device, unsigned* generation))    \
  X(nvmlDeviceGetCurrPcieLinkWidth, pcie_width, (NvmlDevice device, unsigned* width))                      \
  X(nvmlDeviceGetMaxPcieLinkWidth, pcie_width_max, (NvmlDevice device, unsigned* width))                   \
  X(nvmlDeviceGetComputeRunningProcesses_v3, compute_processes,                                            \
    (NvmlDevice device, unsigned* count, NvmlProcess* processes))                                          \
  X(nvmlDeviceGetGraphicsRunningProcesses_v3, graphics_processes,                                          \
    (NvmlDevice device, unsigned* count, NvmlProcess* processes))

// The entry points of one library; null where it has none of that name.
struct NvmlApi {
#define STOKER_NVML_MEMBER(name, member, parameters) \
  NvmlResult(*member) parameters = nullptr;  // NOLINT(bugprone-macro-parentheses): a parameter list
  STOKER_NVML_API(STOKER_NVML_MEMBER)
#undef STOKER_NVML_MEMBER
  const char* (*error_string)(NvmlResult result) = nullptr;  // nvmlErrorString
};

}  // namespace stoker

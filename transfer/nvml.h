// What NVIDIA's management library (NVML) tells of the machine's GPUs: who uses them, how busy they are, how wide their
// link is. Found at run time; nothing depends on it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "transfer/nvml_api.h"

namespace stoker {

// A GPU at one moment. What the library does not tell (a slice of a GPU, a virtual machine, an old card) is not there.
struct GpuLoad {
  std::optional<int> busy_percent;         // of the last second or less, some kernel ran
  std::optional<int> memory_busy_percent;  // of it, device memory was read or written
  std::optional<uint64_t> memory_total_bytes;
  std::optional<uint64_t> memory_used_bytes;  // by everybody
  std::optional<uint64_t> memory_free_bytes;
  std::optional<double> power_watts;
  std::optional<int> temperature_celsius;
  std::optional<uint64_t> throttle_reasons;  // bits, for ThrottleWords
};

struct GpuProcess {
  int64_t pid = 0;  // as the host counts: in a container it may be another process's number, or nobody's
  std::optional<uint64_t> memory_bytes;
};

struct GpuState {
  std::string name;         // as its maker calls it
  std::string uuid;         // "GPU-..."
  std::string pci_address;  // "0000:01:00.0", as the kernel writes it
  GpuLoad load;
  // The link now and what GPU and slot could do. A GPU that idles may lower the generation, not the width.
  std::optional<int> pcie_generation, pcie_generation_max;
  std::optional<int> pcie_width, pcie_width_max;
  std::vector<GpuProcess> processes;  // this one among them, by pid; empty too where the library does not tell
};

// A loaded library, or the reason why there is none.
// Threads: immutable once made; NVML itself is thread-safe. The library is never unloaded.
class Nvml {
 public:
  // Loads and initialises `library`. Never throws: what is missing is what `refusal` says.
  explicit Nvml(const char* library);

  // That of this process, loaded by the first call.
  static const Nvml& Get();

  // Why GPUs cannot be watched, and the remedy; empty where they can.
  const std::string& refusal() const noexcept { return refusal_; }
  // "550.54.15"; empty where it is not known.
  const std::string& driver_version() const noexcept { return driver_version_; }

  // All GPUs that the library shows, whatever CUDA_VISIBLE_DEVICES leaves; some milliseconds each.
  std::vector<GpuState> Gpus() const;

  // The GPU with that UUID ("GPU-...") or PCI address; null where there is none.
  NvmlDevice Find(const std::string& uuid_or_pci_address) const;
  // The figures that change, for a report: no more than some hundred microseconds. Null: nothing is known.
  GpuLoad ReadLoad(NvmlDevice device) const;

 private:
  std::string Load(const char* library);
  GpuState StateOf(NvmlDevice device) const;

  NvmlApi api_;
  std::string driver_version_;
  const std::string refusal_;
};

// "power cap, hot" for those bits that slow a GPU down; empty where none does (idling is no reason).
std::string ThrottleWords(uint64_t reasons);

}  // namespace stoker

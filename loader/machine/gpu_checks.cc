#include <fmt/format.h>

#include <algorithm>

#include "loader/machine/checks.h"
#include "loader/machine/words.h"

namespace stoker {
namespace {

// Of a GPU's memory. What processes that have no name here take may be this process's own context, which is some
// hundred MB; a desktop takes as much.
constexpr double kMuchUnnamed = 0.1;
constexpr double kMuchOfOthers = 0.05;
constexpr int kBusyPercent = 10;

bool IsGpuAsked(const std::string& device) { return device != "cpu" && device != "sim" && !device.empty(); }

void CheckDriver(const Overview& overview, std::vector<Check>& checks) {
  const std::string& device = overview.request.device;
  const auto& visible = overview.cuda_visible_devices;
  if (!overview.cuda_tried) {
    if (overview.nvidia_cards > 0 && overview.driver_version.empty()) {
      checks.push_back(
          Warning("gpu driver",
                  CountWords(overview.nvidia_cards, "NVIDIA card") + " on the bus, no driver: " + overview.nvml_refusal,
                  "install the NVIDIA driver, or start the container with its GPUs (docker run --gpus all)"));
    }
    return;
  }
  if (overview.cuda_refusal.empty()) {
    checks.push_back(Ok("gpu driver", overview.driver_version.empty() ? "works" : overview.driver_version));
    return;
  }
  const bool hidden = visible && (visible->empty() || visible->starts_with("-1"));
  const bool wanted = device != "auto";
  if (!wanted && overview.nvidia_cards == 0 && overview.gpus.empty()) {
    checks.push_back(Ok("gpu", "none, batches stay in host memory"));
  } else if (hidden) {
    const std::string found = fmt::format("CUDA_VISIBLE_DEVICES=\"{}\" hides every GPU", *visible);
    checks.push_back(Warning("gpu driver", found, "unset it, or name the GPUs that this process is to use"));
  } else {
    checks.push_back(
        Warning("gpu driver", overview.cuda_refusal,
                "see that nvidia-smi works here; in a container start it with its GPUs (docker run --gpus all)"));
  }
}

void CheckLink(const GpuOverview& gpu, const std::string& name, std::vector<Check>& checks) {
  const GpuState& state = gpu.state;
  if (!state.pcie_width || !state.pcie_width_max) return;
  const std::string found = fmt::format("{}: PCIe x{} of x{}", name, *state.pcie_width, *state.pcie_width_max);
  if (*state.pcie_width >= *state.pcie_width_max) {
    checks.push_back(Ok("gpu link", found));
    return;
  }
  checks.push_back(Warning("gpu link",
                           fmt::format("{}: copies have {:.0f} % of the bandwidth", found,
                                       100.0 * *state.pcie_width / *state.pcie_width_max),
                           "another slot, or seat card and riser anew (the slot may have fewer lanes, or share them)"));
}

std::string UsersOf(const GpuOverview& gpu) {
  std::string users;
  for (const GpuUser& user : gpu.others) {
    users += fmt::format("{}pid {}{}{}", users.empty() ? "" : ", ", user.pid,
                         user.name.empty() ? " (as the host counts)" : " " + user.name,
                         user.memory_bytes ? " " + BytesWords(static_cast<int64_t>(*user.memory_bytes)) : "");
  }
  return users;
}

// Whether others have much of the GPU or keep it busy. Those without a name may be this very process, by the host's
// number: then only the memory that is gone says something.
bool IsShared(const GpuOverview& gpu) {
  const GpuLoad& load = gpu.state.load;
  const auto total = static_cast<double>(load.memory_total_bytes.value_or(0));
  double others_bytes = 0;
  bool named = false, untold = false;
  for (const GpuUser& user : gpu.others) {
    if (user.name.empty()) continue;
    named = true;
    untold = untold || !user.memory_bytes;
    others_bytes += static_cast<double>(user.memory_bytes.value_or(0));
  }
  if (named) return untold || others_bytes > kMuchOfOthers * total || load.busy_percent.value_or(0) >= kBusyPercent;
  return !gpu.others.empty() && static_cast<double>(load.memory_used_bytes.value_or(0)) > kMuchUnnamed * total;
}

void CheckUsers(const GpuOverview& gpu, const std::string& name, std::vector<Check>& checks) {
  const GpuLoad& load = gpu.state.load;
  std::string found = name;
  if (load.memory_free_bytes && load.memory_total_bytes) {
    found += fmt::format(": {} of {} free", BytesWords(static_cast<int64_t>(*load.memory_free_bytes)),
                         BytesWords(static_cast<int64_t>(*load.memory_total_bytes)));
  }
  if (!gpu.others.empty()) found += ", used by " + UsersOf(gpu);
  checks.push_back(
      IsShared(gpu)
          ? Warning("gpu users", found, "end them or choose another GPU: they take turns with this job and keep memory")
          : Ok("gpu users", found));
}

void CheckNode(const Overview& overview, const GpuOverview& gpu, const std::string& name, std::vector<Check>& checks) {
  if (overview.nodes.size() < 2 || overview.cpu.allowed.empty()) return;
  const auto node = std::ranges::find(overview.nodes, gpu.numa_node, &NumaNode::id);
  if (node == overview.nodes.end() || node->cpus.empty()) return;
  const bool near = std::ranges::any_of(overview.cpu.allowed,
                                        [&node](int32_t cpu) { return std::ranges::binary_search(node->cpus, cpu); });
  const std::string found = fmt::format("{} is on node {}, CPUs {}", name, node->id, ListWords(node->cpus));
  checks.push_back(near
                       ? Ok("gpu node", found)
                       : Warning("gpu node", found + ": this process may use none of them",
                                 fmt::format("numactl --cpunodebind={0} --preferred={0}: copies cross the link between "
                                             "the nodes otherwise",
                                             node->id)));
}

void CheckThrottle(const GpuOverview& gpu, const std::string& name, std::vector<Check>& checks) {
  const std::string words = ThrottleWords(gpu.state.load.throttle_reasons.value_or(0));
  if (words.empty()) return;
  checks.push_back(Warning("gpu clocks", name + " is slowed down: " + words,
                           "cooling, power supply or power limit (nvidia-smi -q -d PERFORMANCE,POWER)"));
}

}  // namespace

void CheckGpus(const Overview& overview, std::vector<Check>& checks) {
  CheckDriver(overview, checks);
  if (!IsGpuAsked(overview.request.device)) return;
  const bool chosen = std::ranges::any_of(overview.gpus, &GpuOverview::chosen);
  for (size_t i = 0; i < overview.gpus.size(); ++i) {
    const GpuOverview& gpu = overview.gpus[i];
    if (chosen && !gpu.chosen) continue;  // somebody else's business
    const std::string name = fmt::format("GPU {}", i);
    CheckLink(gpu, name, checks);
    CheckUsers(gpu, name, checks);
    CheckNode(overview, gpu, name, checks);
    CheckThrottle(gpu, name, checks);
  }
}

}  // namespace stoker

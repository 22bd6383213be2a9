#include "bench/doctor_command.h"

#include <fmt/format.h>

#include <cerrno>
#include <filesystem>
#include <iostream>
#include <optional>
#include <stdexcept>
#include <system_error>

#include "bench/json_output.h"
#include "bench/run_command.h"
#include "loader/machine/words.h"
#include "loader/options.h"
#include "transfer/open_device.h"

namespace stoker {
namespace {

constexpr int kDoctorSchemaVersion = 1;
constexpr int kExitWarnings = 1;

using nlohmann::json;

template <typename Value>
json OrNull(const std::optional<Value>& value) {
  return value ? json(*value) : json();
}

json OrNull(const std::string& text) { return text.empty() ? json() : json(text); }

json GpuJson(const GpuOverview& gpu) {
  const GpuState& state = gpu.state;
  json others = json::array();
  for (const GpuUser& user : gpu.others) {
    others.push_back({{"pid", user.pid}, {"name", OrNull(user.name)}, {"memory_bytes", OrNull(user.memory_bytes)}});
  }
  return {{"name", state.name},
          {"uuid", OrNull(state.uuid)},
          {"pci_address", OrNull(state.pci_address)},
          {"numa_node", gpu.numa_node < 0 ? json() : json(gpu.numa_node)},
          {"chosen", gpu.chosen},
          {"memory_total_bytes", OrNull(state.load.memory_total_bytes)},
          {"memory_free_bytes", OrNull(state.load.memory_free_bytes)},
          {"busy_percent", OrNull(state.load.busy_percent)},
          {"temperature_celsius", OrNull(state.load.temperature_celsius)},
          {"power_watts", OrNull(state.load.power_watts)},
          {"throttled", ThrottleWords(state.load.throttle_reasons.value_or(0))},
          {"pcie",
           {{"generation", OrNull(state.pcie_generation)},
            {"generation_max", OrNull(state.pcie_generation_max)},
            {"width", OrNull(state.pcie_width)},
            {"width_max", OrNull(state.pcie_width_max)}}},
          {"others", others}};
}

json StorageJson(const Storage& storage) {
  return {{"path", storage.path},
          {"file_system", OrNull(storage.file_system)},
          {"mount_point", OrNull(storage.mount_point)},
          {"source", OrNull(storage.source)},
          {"disk", OrNull(storage.disk)},
          {"kind", StorageWords(storage.kind)},
          {"free_bytes", OrNull(storage.free_bytes)}};
}

const char* NameOf(Outcome outcome) {
  return outcome == Outcome::kOk ? "ok" : outcome == Outcome::kWarning ? "warning" : "unknown";
}

}  // namespace

void AddDoctorOptions(CLI::App& command, DoctorOptions& options) {
  command.add_option("path", options.path, "Folder or file of the data set; without it no disk is looked at");
  command
      .add_option("--num-workers", options.num_workers,
                  "Decoding threads that are planned; -1: as many as CPUs may be used")
      ->option_text("N [-1]")
      ->check(CLI::Range(-1, 1 << 16).description(""));
  command
      .add_option("--device", options.device, "Where batches are to go: cpu; cuda, cuda:N or a GPU's UUID; auto; sim")
      ->option_text("NAME [auto]");
  command
      .add_option("--json", options.json,
                  "Write all of it there too; - is standard output, and nothing else is printed")
      ->option_text("FILE");
}

int DoctorCommand(const DoctorOptions& options, const std::string& root) {
  if (!IsDeviceName(options.device)) {
    throw std::invalid_argument(
        fmt::format("--device \"{}\" (allowed: auto, cpu, sim, cuda, cuda:N, a GPU's UUID)", options.device));
  }
  std::error_code error;
  if (!options.path.empty() && !std::filesystem::exists(options.path, error)) {
    throw std::invalid_argument(
        fmt::format("{}: {}", options.path, error ? error.message() : "there is no such folder or file"));
  }
  OverviewRequest request;
  request.data_path = options.path;
  request.num_workers = options.num_workers < 0 ? DefaultWorkers() : options.num_workers;
  request.device = options.device;
  const Overview overview = ReadOverview(request, root);
  const size_t warnings = Warnings(overview).size();
  if (options.json != "-") {
    std::cout << FormatOverview(overview, true)
              << (warnings == 0 ? "nothing to mend\n"
                                : fmt::format("{} to mend\n", CountWords(static_cast<int64_t>(warnings), "thing")))
              << std::flush;
  }
  if (!options.json.empty()) WriteJson(options.json, ToJson(overview), "the overview");
  return warnings == 0 ? kExitOk : kExitWarnings;
}

json ToJson(const Overview& overview) {
  json gpus = json::array(), nodes = json::array(), checks = json::array(), variables = json::object();
  for (const GpuOverview& gpu : overview.gpus) gpus.push_back(GpuJson(gpu));
  for (const NumaNode& node : overview.nodes) {
    nodes.push_back({{"id", node.id}, {"cpus", node.cpus}, {"memory_bytes", OrNull(node.memory_bytes)}});
  }
  for (const Check& check : CheckOverview(overview)) {
    checks.push_back({{"name", check.name},
                      {"outcome", NameOf(check.outcome)},
                      {"found", check.found},
                      {"remedy", OrNull(check.remedy)}});
  }
  for (const auto& [name, value] : overview.pools.variables) variables[name] = value;
  const CpuOverview& cpu = overview.cpu;
  return {{"schema_version", kDoctorSchemaVersion},
          {"kernel", OrNull(overview.kernel)},
          {"clock_source", OrNull(cpu.clock_source)},
          {"cpu",
           {{"model", OrNull(cpu.model)},
            {"online", cpu.online},
            {"allowed", cpu.allowed},
            {"quota", OrNull(cpu.quota)},
            {"usable", cpu.usable()},
            {"local_ranks", cpu.local_ranks}}},
          {"memory",
           {{"total_bytes", OrNull(overview.memory.total_bytes)},
            {"available_bytes", OrNull(overview.memory.available_bytes)},
            {"container_headroom_bytes", OrNull(overview.memory.headroom_bytes)},
            {"memlock_bytes", OrNull(overview.memory.memlock_bytes)}}},
          {"numa_nodes", nodes},
          {"gpus", gpus},
          {"nvidia_driver", OrNull(overview.driver_version)},
          {"nvml_refusal", OrNull(overview.nvml_refusal)},
          {"cuda_refusal", OrNull(overview.cuda_refusal)},
          {"cuda_visible_devices", OrNull(overview.cuda_visible_devices)},
          {"io_uring",
           {{"works", overview.uring.works},
            {"reason", OrNull(overview.uring.reason)},
            {"sysctl_disabled", OrNull(overview.uring.sysctl)},
            {"seccomp_mode", OrNull(overview.uring.seccomp_mode)}}},
          {"data_set", overview.storage ? StorageJson(*overview.storage) : json()},
          {"threads",
           {{"now", OrNull(overview.pools.threads)},
            {"variables", variables},
            {"libraries", overview.pools.libraries},
            {"openmp_copies", overview.pools.openmp_copies}}},
          {"num_workers", overview.request.num_workers},
          {"device", overview.request.device},
          {"checks", checks}};
}

}  // namespace stoker

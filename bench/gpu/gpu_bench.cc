// What only a GPU can tell, one part a process: the caller goes on where a part fails.
//
//   gpu_bench PART [--photos FOLDER] [--quick]
//
// Prints one JSON object. Exit status 77: it cannot be measured here, and stderr says why; 1: it failed.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <system_error>
#include <vector>

#include "bench/gpu/parts.h"
#include "transfer/cuda_device.h"

namespace stoker {
namespace {

constexpr int kCannotRun = 77;  // as automake's and ctest's skipped tests

nlohmann::json DescribeDevice(const Gpu& gpu) {
  const DeviceInfo& info = gpu.device.info();
  size_t free_bytes = 0;
  Check(gpu.device.FreeMemory(free_bytes), "ask for the free memory");
  return {{"driver_version", gpu.driver.version()},
          {"model", info.model},
          {"uuid", info.uuid},
          {"pci_address", info.pci_address},
          {"numa_node", info.numa_node},
          {"copy_engines", info.copy_engines},
          {"memory_bytes", info.memory_bytes},
          {"free_bytes", free_bytes},
          {"memory_bytes_per_second", gpu.driver.MemoryBytesPerSecond(info.cuda_index)},
          {"has_kernel", gpu.device.can_finish()}};
}

using Part = std::function<nlohmann::json(const Gpu&)>;

const std::map<std::string, Part>& Parts() {
  static const std::map<std::string, Part> parts = {{"device", DescribeDevice}, {"copies", MeasureCopies},
                                                    {"calls", MeasureCalls},    {"memory", MeasureHostMemory},
                                                    {"finish", MeasureFinish},  {"prefetcher", MeasurePrefetcher},
                                                    {"loader", MeasureLoader}};
  return parts;
}

int Run(const std::string& part, const std::string& photos, bool quick) {
  if (part == "cold") {
    fmt::print("{}\n", MeasureColdStart(photos).dump());
    return 0;
  }
  const std::unique_ptr<Device> device = OpenGpu();
  const DirectDriver driver;
  const DeviceScope scope(*device);
  Check(scope.error(), "attach to the device");
  const Gpu gpu = {*device, driver, quick ? Effort::Quick() : Effort(), photos};
  fmt::print("{}\n", Parts().at(part)(gpu).dump());
  return 0;
}

int Main(int argc, char** argv) {
  CLI::App app("Measures one thing on the first GPU and prints it as JSON.");
  std::string part, photos;
  bool quick = false;
  std::vector<std::string> names = {"cold"};
  for (const auto& [name, function] : Parts()) names.push_back(name);
  app.add_option("part", part, "What to measure")->required()->check(CLI::IsMember(names));
  app.add_option("--photos", photos, "Class folders of good pictures, for loader and cold");
  app.add_flag("--quick", quick, "Too little for figures, enough to see that it runs");
  CLI11_PARSE(app, argc, argv);
  try {
    return Run(part, photos, quick);
  } catch (const CannotRun& error) {
    fmt::print(stderr, "{}\n", error.what());
    return kCannotRun;
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
}

}  // namespace

std::unique_ptr<Device> OpenGpu() {
  try {
    return MakeCudaDevice("cuda");
  } catch (const std::system_error&) {  // there is one, and it does not work
    throw;
  } catch (const std::runtime_error& error) {
    throw CannotRun(error.what());
  }
}

}  // namespace stoker

int main(int argc, char** argv) { return stoker::Main(argc, argv); }

#include "transfer/cuda_choice.h"

#include <cctype>
#include <charconv>
#include <cstdio>
#include <fstream>
#include <stdexcept>
#include <system_error>
#include <vector>

namespace stoker {
namespace {

constexpr std::string_view kName = "cuda";
constexpr std::string_view kUuid = "GPU-";

void ThrowIf(CuResult result, const std::string& what) {
  // Not make_error_code's few meanings: here the driver's own words say more.
  if (result != CuResult::kSuccess) throw std::system_error(static_cast<int>(result), cuda_category(), what);
}

std::string UuidWords(const CuUuid& uuid) {
  std::string text(kUuid);
  for (int i = 0; i < 16; ++i) {
    char digits[4];
    (void)std::snprintf(digits, sizeof digits, "%02x", static_cast<unsigned char>(uuid.bytes[i]));
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += digits;
  }
  return text;
}

std::string Lower(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return lower;
}

// -1 where neither the driver (which tells since 12.2) nor the kernel knows.
int NumaNodeOf(const CudaApi& api, CuDevice device, const std::string& pci_address) {
  int node = -1;
  if (api.device_get_attribute(&node, CuDeviceAttribute::kHostNumaId, device) == CuResult::kSuccess && node >= 0) {
    return node;
  }
  node = -1;
  std::ifstream("/sys/bus/pci/devices/" + pci_address + "/numa_node") >> node;
  return node;
}

DeviceInfo InfoOf(const CudaApi& api, int index) {
  const std::string name = std::string(kName) + ":" + std::to_string(index);
  DeviceInfo info;
  info.name = name;
  info.cuda_index = index;
  CuDevice device = 0;
  ThrowIf(api.device_get(&device, index), name);
  char text[256] = "";
  ThrowIf(api.device_get_name(text, sizeof text, device), "name of " + name);
  info.model = text;
  CuUuid uuid = {};
  ThrowIf(api.device_get_uuid(&uuid, device), "UUID of " + name);
  info.uuid = UuidWords(uuid);
  ThrowIf(api.device_total_mem(&info.memory_bytes, device), "memory size of " + name);
  ThrowIf(api.device_get_attribute(&info.copy_engines, CuDeviceAttribute::kAsyncEngineCount, device),
          "copy engines of " + name);
  // A virtual machine may hide the bus: then neither this nor the node is known, and nothing depends on them.
  if (api.device_get_pci_bus_id(text, sizeof text, device) == CuResult::kSuccess) info.pci_address = Lower(text);
  info.numa_node = NumaNodeOf(api, device, info.pci_address);
  return info;
}

std::string ListOf(const std::vector<DeviceInfo>& devices) {
  if (devices.empty()) return "there is none";
  std::string list = "there are";
  for (const DeviceInfo& info : devices) {
    list += (&info == &devices.front() ? " " : ", ") + info.name + " (" + info.model + ", " + info.uuid + ")";
  }
  return list;
}

[[noreturn]] void ThrowAbsent(std::string_view which, const std::vector<DeviceInfo>& devices) {
  throw std::runtime_error("no device '" + std::string(which) + "': " + ListOf(devices) +
                           " (CUDA_VISIBLE_DEVICES may hide others)");
}

const DeviceInfo& ByUuid(std::string_view which, const std::vector<DeviceInfo>& devices) {
  const DeviceInfo* found = nullptr;
  const std::string prefix = Lower(which);
  for (const DeviceInfo& info : devices) {
    if (!Lower(info.uuid).starts_with(prefix)) continue;
    if (found != nullptr) {
      throw std::invalid_argument("device '" + std::string(which) + "' means several, " + ListOf(devices) +
                                  ": give more of the UUID");
    }
    found = &info;
  }
  if (found == nullptr) ThrowAbsent(which, devices);
  return *found;
}

// The N of "cuda:N", 0 of "cuda"; -1 for anything else.
int IndexIn(std::string_view which) {
  if (which == kName) return 0;
  if (!which.starts_with(std::string(kName) + ":")) return -1;
  const std::string_view digits = which.substr(kName.size() + 1);
  int index = -1;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), index);
  return error == std::errc() && end == digits.data() + digits.size() ? index : -1;
}

}  // namespace

DeviceInfo ChooseCudaDevice(const CudaDriver& driver, std::string_view which) {
  const int index = IndexIn(which);
  if (index < 0 && !which.starts_with(kUuid)) {
    throw std::invalid_argument("device '" + std::string(which) + "' is none of 'cuda', 'cuda:N' and 'GPU-<uuid>'");
  }
  if (!driver.refusal().empty()) {
    throw std::runtime_error("no device '" + std::string(which) + "': " + driver.refusal());
  }
  const CudaApi& api = driver.api();
  int count = 0;
  ThrowIf(api.device_get_count(&count), "number of CUDA devices");
  if (index >= 0 && index < count) return InfoOf(api, index);
  std::vector<DeviceInfo> devices;
  devices.reserve(static_cast<size_t>(count));
  for (int i = 0; i < count; ++i) devices.push_back(InfoOf(api, i));
  if (index >= 0) ThrowAbsent(which, devices);
  return ByUuid(which, devices);
}

}  // namespace stoker

// A libnvidia-ml.so.1 with made-up GPUs, those of the fake CUDA driver: same UUIDs, same places on the bus.
#include "tests/fake_nvml/fake_nvml.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <map>
#include <string>

#include "transfer/nvml_api.h"

using namespace stoker;  // NOLINT: what follows has C's names

namespace {

struct Fake {
  unsigned devices = 2;
  unsigned processes = 0;
  bool process_memory = true;
  unsigned width = 16;
  unsigned long long throttle = 0;  // NOLINT: the library's own type
  std::map<std::string, int> fail;
  int calls = 0;
};
Fake fake;

// What a function does before its own work.
NvmlResult Enter(const char* function) {
  ++fake.calls;
  const auto fault = fake.fail.find(function);
  return fault == fake.fail.end() ? NvmlResult::kSuccess : static_cast<NvmlResult>(fault->second);
}

NvmlDevice HandleOf(unsigned index) { return reinterpret_cast<NvmlDevice>(static_cast<uintptr_t>(index) + 1); }
unsigned IndexOf(NvmlDevice device) { return static_cast<unsigned>(reinterpret_cast<uintptr_t>(device)) - 1; }

// Those of tests/fake_cuda/device_entry_points.cc.
constexpr unsigned kDomain = 0xfa4e;
constexpr unsigned kFirstBus = 0xa0;
std::string UuidOf(unsigned index) {
  char text[64];
  (void)std::snprintf(text, sizeof text, "GPU-0f1f2f%02x-4f5f-6f7f-8f9f-afbfcfdfefff", index);
  return text;
}

NvmlResult Write(const std::string& words, char* text, unsigned size) {
  if (words.size() >= size) return NvmlResult::kInsufficientSize;
  std::memcpy(text, words.c_str(), words.size() + 1);
  return NvmlResult::kSuccess;
}

NvmlResult List(unsigned first, unsigned* count, NvmlProcess* processes) {
  const unsigned found = fake.processes > first ? fake.processes - first : 0;
  const unsigned room = *count;
  *count = found;
  if (found > room) return NvmlResult::kInsufficientSize;
  for (unsigned i = 0; i < found; ++i) {
    const unsigned number = first + i;
    processes[i] = {number == 0 ? static_cast<unsigned>(getpid()) : 4'000'000 + number,
                    fake.process_memory ? (number + 1) * 1'000'000'000ULL : kNvmlMemoryUnknown, ~0U, ~0U};
  }
  return NvmlResult::kSuccess;
}

}  // namespace

#define FAKE_NVML(name, ...) extern "C" NvmlResult name(__VA_ARGS__)
#define FAKE_NVML_ENTER \
  if (const NvmlResult fault = Enter(__func__); fault != NvmlResult::kSuccess) return fault

extern "C" const char* nvmlErrorString(NvmlResult result) {
  return result == NvmlResult::kDriverNotLoaded ? "Driver Not Loaded" : "Unknown Error";
}

FAKE_NVML(nvmlInit_v2) {
  FAKE_NVML_ENTER;
  return NvmlResult::kSuccess;
}

FAKE_NVML(nvmlSystemGetDriverVersion, char* text, unsigned size) {
  FAKE_NVML_ENTER;
  return Write("550.54.15", text, size);
}

FAKE_NVML(nvmlDeviceGetCount_v2, unsigned* count) {
  FAKE_NVML_ENTER;
  *count = fake.devices;
  return NvmlResult::kSuccess;
}

FAKE_NVML(nvmlDeviceGetHandleByIndex_v2, unsigned index, NvmlDevice* device) {
  FAKE_NVML_ENTER;
  if (index >= fake.devices) return NvmlResult::kInvalidArgument;
  *device = HandleOf(index);
  return NvmlResult::kSuccess;
}

FAKE_NVML(nvmlDeviceGetHandleByUUID, const char* uuid, NvmlDevice* device) {
  FAKE_NVML_ENTER;
  for (unsigned i = 0; i < fake.devices; ++i) {
    if (UuidOf(i) != uuid) continue;
    *device = HandleOf(i);
    return NvmlResult::kSuccess;
  }
  return NvmlResult::kNotFound;
}

FAKE_NVML(nvmlDeviceGetHandleByPciBusId_v2, const char* address, NvmlDevice* device) {
  FAKE_NVML_ENTER;
  unsigned domain = 0, bus = 0, slot = 0;
  if (std::sscanf(address, "%x:%x:%x", &domain, &bus, &slot) != 3) return NvmlResult::kInvalidArgument;
  if (domain != kDomain || bus < kFirstBus || bus >= kFirstBus + fake.devices || slot != 0) {
    return NvmlResult::kNotFound;
  }
  *device = HandleOf(bus - kFirstBus);
  return NvmlResult::kSuccess;
}

FAKE_NVML(nvmlDeviceGetName, NvmlDevice device, char* text, unsigned size) {
  FAKE_NVML_ENTER;
  return Write("Fake GPU " + std::to_string(IndexOf(device)), text, size);
}

FAKE_NVML(nvmlDeviceGetUUID, NvmlDevice device, char* text, unsigned size) {
  FAKE_NVML_ENTER;
  return Write(UuidOf(IndexOf(device)), text, size);
}

FAKE_NVML(nvmlDeviceGetPciInfo_v3, NvmlDevice device, NvmlPciInfo* info) {
  FAKE_NVML_ENTER;
  *info = {};
  info->domain = kDomain;
  info->bus = kFirstBus + IndexOf(device);
  (void)std::snprintf(info->bus_id, sizeof info->bus_id, "0000FA4E:%02X:00.0", info->bus);
  return NvmlResult::kSuccess;
}

FAKE_NVML(nvmlDeviceGetUtilizationRates, NvmlDevice device, NvmlUtilization* utilization) {
  FAKE_NVML_ENTER;
  *utilization = {70 + IndexOf(device), 30};
  return NvmlResult::kSuccess;
}

FAKE_NVML(nvmlDeviceGetMemoryInfo, NvmlDevice, NvmlMemory* memory) {
  FAKE_NVML_ENTER;
  *memory = {80'000'000'000, 60'000'000'000, 20'000'000'000};
  return NvmlResult::kSuccess;
}

FAKE_NVML(nvmlDeviceGetPowerUsage, NvmlDevice, unsigned* milliwatts) {
  FAKE_NVML_ENTER;
  *milliwatts = 301'500;
  return NvmlResult::kSuccess;
}

FAKE_NVML(nvmlDeviceGetTemperature, NvmlDevice, int sensor, unsigned* celsius) {
  FAKE_NVML_ENTER;
  if (sensor != kNvmlTemperatureGpu) return NvmlResult::kInvalidArgument;
  *celsius = 61;
  return NvmlResult::kSuccess;
}

FAKE_NVML(nvmlDeviceGetCurrentClocksThrottleReasons, NvmlDevice, unsigned long long* reasons) {  // NOLINT
  FAKE_NVML_ENTER;
  *reasons = fake.throttle;
  return NvmlResult::kSuccess;
}

#define FAKE_NVML_NUMBER(name, number)            \
  FAKE_NVML(name, NvmlDevice, unsigned* answer) { \
    FAKE_NVML_ENTER;                              \
    *answer = number;                             \
    return NvmlResult::kSuccess;                  \
  }
FAKE_NVML_NUMBER(nvmlDeviceGetCurrPcieLinkGeneration, 4)
FAKE_NVML_NUMBER(nvmlDeviceGetMaxPcieLinkGeneration, 5)
FAKE_NVML_NUMBER(nvmlDeviceGetCurrPcieLinkWidth, fake.width)
FAKE_NVML_NUMBER(nvmlDeviceGetMaxPcieLinkWidth, 16)

// All of them compute; the last also draws.
FAKE_NVML(nvmlDeviceGetComputeRunningProcesses_v3, NvmlDevice, unsigned* count, NvmlProcess* processes) {
  FAKE_NVML_ENTER;
  return List(0, count, processes);
}
FAKE_NVML(nvmlDeviceGetGraphicsRunningProcesses_v3, NvmlDevice, unsigned* count, NvmlProcess* processes) {
  FAKE_NVML_ENTER;
  return List(fake.processes - std::min(fake.processes, 1U), count, processes);
}

extern "C" void fakeNvmlConfigure(const char* options) {
  fake = Fake();
  for (std::string rest = options; !rest.empty();) {
    const std::string word = rest.substr(0, rest.find(','));
    rest.erase(0, word.size() + 1);
    const std::string key = word.substr(0, word.find('='));
    const std::string value = word.substr(std::min(key.size() + 1, word.size()));
    if (key == "devices") fake.devices = static_cast<unsigned>(std::stoul(value));
    if (key == "processes") fake.processes = static_cast<unsigned>(std::stoul(value));
    if (key == "memory") fake.process_memory = value != "unknown";
    if (key == "width") fake.width = static_cast<unsigned>(std::stoul(value));
    if (key == "throttle") fake.throttle = std::stoull(value);
    if (key == "fail") fake.fail[value.substr(0, value.find(':'))] = std::stoi(value.substr(value.find(':') + 1));
  }
}

extern "C" int fakeNvmlCalls() { return fake.calls; }

#include "transfer/nvml.h"

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/fake_nvml/fake_nvml.h"

namespace stoker {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

// The fake library is loaded by its path, so that a machine with one of its own tests the same.
template <typename Function>
Function* Control(const char* name) {
  void* const library = dlopen(STOKER_FAKE_NVML, RTLD_NOW | RTLD_LOCAL);
  return reinterpret_cast<Function*>(dlsym(library, name));
}

Nvml With(const char* options) {
  Control<decltype(fakeNvmlConfigure)>("fakeNvmlConfigure")(options);
  return Nvml(STOKER_FAKE_NVML);
}

TEST(Nvml, TellsWhatThereIs) {
  const Nvml nvml = With("processes=3");
  EXPECT_EQ(nvml.refusal(), "");
  EXPECT_EQ(nvml.driver_version(), "550.54.15");
  const std::vector<GpuState> gpus = nvml.Gpus();
  ASSERT_EQ(gpus.size(), 2u);
  const GpuState& gpu = gpus[1];
  EXPECT_EQ(gpu.name, "Fake GPU 1");
  EXPECT_THAT(gpu.uuid, HasSubstr("GPU-0f1f2f01-"));
  EXPECT_EQ(gpu.pci_address, "fa4e:a1:00.0");
  EXPECT_EQ(gpu.load.busy_percent, 71);
  EXPECT_EQ(gpu.load.memory_busy_percent, 30);
  EXPECT_EQ(gpu.load.memory_total_bytes, 80'000'000'000u);
  EXPECT_EQ(gpu.load.memory_used_bytes, 20'000'000'000u);
  EXPECT_EQ(gpu.load.memory_free_bytes, 60'000'000'000u);
  EXPECT_DOUBLE_EQ(gpu.load.power_watts.value_or(0), 301.5);
  EXPECT_EQ(gpu.load.temperature_celsius, 61);
  EXPECT_EQ(gpu.pcie_generation, 4);
  EXPECT_EQ(gpu.pcie_generation_max, 5);
  EXPECT_EQ(gpu.pcie_width, 16);
  EXPECT_EQ(gpu.pcie_width_max, 16);
}

TEST(Nvml, ListsEachProcessOnceHoweverManyThereAre) {
  for (const size_t count : {0, 1, 3, 31, 32, 33, 200}) {
    const Nvml nvml = With(("processes=" + std::to_string(count)).c_str());
    const std::vector<GpuProcess> processes = nvml.Gpus().at(0).processes;
    ASSERT_EQ(processes.size(), count);
    if (count == 0) continue;
    EXPECT_EQ(processes[0].pid, getpid());
    EXPECT_EQ(processes[0].memory_bytes, 1'000'000'000u);
    EXPECT_EQ(processes[count - 1].memory_bytes, count * 1'000'000'000u);
  }
}

TEST(Nvml, DoesNotTakeUnknownMemoryForANumber) {
  EXPECT_EQ(With("processes=1,memory=unknown").Gpus().at(0).processes.at(0).memory_bytes, std::nullopt);
}

TEST(Nvml, FindsADeviceByUuidAndByPlace) {
  const Nvml nvml = With("");
  const std::string uuid = nvml.Gpus().at(1).uuid;
  ASSERT_NE(nvml.Find(uuid), nullptr);
  EXPECT_EQ(nvml.Find(uuid), nvml.Find("fa4e:a1:00.0"));
  EXPECT_EQ(nvml.ReadLoad(nvml.Find(uuid)).busy_percent, 71);
  for (const char* nobody : {"", "GPU-", "GPU-0f1f2f02", "fa4e:a2:00.0", "nonsense"}) {
    EXPECT_EQ(nvml.Find(nobody), nullptr) << nobody;
    EXPECT_EQ(nvml.ReadLoad(nvml.Find(nobody)).busy_percent, std::nullopt);
  }
}

TEST(Nvml, LeavesOutWhatADeviceDoesNotTell) {
  const std::pair<const char*, bool (*)(const GpuState&)> kFigures[] = {
      {"nvmlDeviceGetName", [](const GpuState& gpu) { return gpu.name.empty(); }},
      {"nvmlDeviceGetUUID", [](const GpuState& gpu) { return gpu.uuid.empty(); }},
      {"nvmlDeviceGetPciInfo_v3", [](const GpuState& gpu) { return gpu.pci_address.empty(); }},
      {"nvmlDeviceGetUtilizationRates", [](const GpuState& gpu) { return !gpu.load.busy_percent; }},
      {"nvmlDeviceGetMemoryInfo", [](const GpuState& gpu) { return !gpu.load.memory_free_bytes; }},
      {"nvmlDeviceGetPowerUsage", [](const GpuState& gpu) { return !gpu.load.power_watts; }},
      {"nvmlDeviceGetTemperature", [](const GpuState& gpu) { return !gpu.load.temperature_celsius; }},
      {"nvmlDeviceGetCurrentClocksThrottleReasons", [](const GpuState& gpu) { return !gpu.load.throttle_reasons; }},
      {"nvmlDeviceGetCurrPcieLinkGeneration", [](const GpuState& gpu) { return !gpu.pcie_generation; }},
      {"nvmlDeviceGetMaxPcieLinkGeneration", [](const GpuState& gpu) { return !gpu.pcie_generation_max; }},
      {"nvmlDeviceGetCurrPcieLinkWidth", [](const GpuState& gpu) { return !gpu.pcie_width; }},
      {"nvmlDeviceGetMaxPcieLinkWidth", [](const GpuState& gpu) { return !gpu.pcie_width_max; }}};
  for (const auto& [function, is_missing] : kFigures) {
    EXPECT_FALSE(is_missing(With("processes=3").Gpus().at(0))) << function;
    const Nvml nvml = With((std::string("processes=3,fail=") + function + ":3").c_str());
    ASSERT_EQ(nvml.Gpus().size(), 2u) << function;
    EXPECT_TRUE(is_missing(nvml.Gpus()[0])) << function;
  }
}

TEST(Nvml, ListsWhoDrawsWhereItDoesNotTellWhoComputes) {
  EXPECT_EQ(With("processes=3,fail=nvmlDeviceGetGraphicsRunningProcesses_v3:3").Gpus().at(0).processes.size(), 3u);
  EXPECT_EQ(With("processes=3,fail=nvmlDeviceGetComputeRunningProcesses_v3:3").Gpus().at(0).processes.size(), 1u);
}

TEST(Nvml, LeavesOutALostDevice) {
  EXPECT_THAT(With("fail=nvmlDeviceGetHandleByIndex_v2:15").Gpus(), IsEmpty());
  EXPECT_THAT(With("fail=nvmlDeviceGetCount_v2:999").Gpus(), IsEmpty());
  EXPECT_EQ(With("fail=nvmlSystemGetDriverVersion:999").driver_version(), "");
}

TEST(Nvml, SaysWhyThereIsNone) {
  EXPECT_THAT(Nvml("libnvidia-ml_of_another_machine.so.1").refusal(),
              HasSubstr("libnvidia-ml_of_another_machine.so.1: cannot open"));
  EXPECT_THAT(Nvml("libc.so.6").refusal(), HasSubstr("lacks nvmlInit_v2"));
  const Nvml nvml = With("fail=nvmlInit_v2:9");
  EXPECT_THAT(nvml.refusal(), HasSubstr("Driver Not Loaded: load the NVIDIA kernel module"));
  EXPECT_THAT(nvml.Gpus(), IsEmpty());
  EXPECT_EQ(nvml.Find("GPU-0"), nullptr);
  EXPECT_EQ(Control<decltype(fakeNvmlCalls)>("fakeNvmlCalls")(), 1) << "a library that refused is left alone";
}

TEST(ThrottleWords, NameWhatSlowsDownAndNothingElse) {
  EXPECT_EQ(ThrottleWords(0), "");
  EXPECT_EQ(ThrottleWords(0x1 | 0x2 | 0x10 | 0x100), "");
  EXPECT_EQ(ThrottleWords(0x4), "power cap");
  EXPECT_EQ(ThrottleWords(0x8 | 0x40 | 0x1), "hardware slowdown, hot (by the hardware)");
}

}  // namespace
}  // namespace stoker

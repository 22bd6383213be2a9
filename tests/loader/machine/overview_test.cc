#include "loader/machine/overview.h"

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "tests/fake_nvml/fake_nvml.h"
#include "tests/loader/machine/kernel_tree.h"

namespace stoker {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr const char* kNoLibrary = "libnvidia-ml_of_another_machine.so.1";

class OverviewTest : public testing::Test {
 protected:
  OverviewTest() {
    unsetenv("LOCAL_WORLD_SIZE");
    unsetenv("CUDA_VISIBLE_DEVICES");
  }
  Overview Read(const OverviewRequest& request = {}, const char* nvml = kNoLibrary) const {
    return ReadOverview(request, tree_.root(), Nvml(nvml));
  }
  void WriteMachine() const {
    tree_.Write("proc/sys/kernel/ostype", "Linux\n");
    tree_.Write("proc/sys/kernel/osrelease", "6.1.0\n");
    tree_.Write("proc/cpuinfo", "processor\t: 0\nmodel\t\t: 1\nmodel name\t: Fast CPU\n" + std::string(9000, 'x'));
    tree_.Write("proc/self/status", "Threads:\t3\nCapEff:\t0000000000000000\nSeccomp:\t0\nCpus_allowed_list:\t0-3,6\n");
    tree_.Write("proc/self/limits",
                "Limit                     Soft Limit           Hard Limit           Units\n"
                "Max locked memory         8388608              9388608              bytes\n");
    tree_.Write("proc/meminfo", "MemTotal:       1000 kB\nMemFree: 1 kB\nMemAvailable:   600 kB\n");
    tree_.Write("sys/devices/system/cpu/online", "0-7\n");
    tree_.Write("sys/devices/system/clocksource/clocksource0/current_clocksource", "tsc\n");
    tree_.Write("sys/devices/system/node/online", "0,2\n");
    tree_.Write("sys/devices/system/node/node0/cpulist", "0-3\n");
    tree_.Write("sys/devices/system/node/node0/meminfo", "Node 0 MemTotal:  500 kB\nNode 0 MemFree: 1 kB\n");
    tree_.Write("sys/devices/system/node/node2/cpulist", "4-7\n");
    tree_.Write("sys/bus/pci/devices/0000:01:00.0/vendor", "0x10de\n");
    tree_.Write("sys/bus/pci/devices/0000:01:00.0/class", "0x030200\n");
    tree_.Write("sys/bus/pci/devices/0000:01:00.1/vendor", "0x10de\n");
    tree_.Write("sys/bus/pci/devices/0000:01:00.1/class", "0x040300\n");  // its sound
    tree_.Write("sys/bus/pci/devices/0000:02:00.0/vendor", "0x8086\n");
    tree_.Write("sys/bus/pci/devices/0000:02:00.0/class", "0x030000\n");
  }

  KernelTree tree_;
};

TEST_F(OverviewTest, ReadsTheMachine) {
  WriteMachine();
  const Overview overview = Read({.data_path = "/data"});
  EXPECT_EQ(overview.kernel, "Linux 6.1.0");
  EXPECT_EQ(overview.cpu.model, "Fast CPU");
  EXPECT_EQ(overview.cpu.online.size(), 8u);
  EXPECT_THAT(overview.cpu.allowed, ElementsAre(0, 1, 2, 3, 6));
  EXPECT_EQ(overview.cpu.quota, std::nullopt);
  EXPECT_EQ(overview.cpu.usable(), 5);
  EXPECT_EQ(overview.cpu.clock_source, "tsc");
  EXPECT_EQ(overview.memory.total_bytes, 1'024'000);
  EXPECT_EQ(overview.memory.available_bytes, 614'400);
  EXPECT_EQ(overview.memory.headroom_bytes, std::nullopt);
  EXPECT_EQ(overview.memory.memlock_bytes, 8'388'608);
  ASSERT_EQ(overview.nodes.size(), 2u);
  EXPECT_EQ(overview.nodes[0].memory_bytes, 512'000);
  EXPECT_EQ(overview.nodes[1].id, 2);
  EXPECT_THAT(overview.nodes[1].cpus, ElementsAre(4, 5, 6, 7));
  EXPECT_EQ(overview.nodes[1].memory_bytes, std::nullopt);
  EXPECT_EQ(overview.nvidia_cards, 1);
  EXPECT_THAT(overview.nvml_refusal, HasSubstr(kNoLibrary));
  EXPECT_FALSE(overview.cuda_tried);
  EXPECT_EQ(overview.storage.value_or(Storage()).path, "/data");
  EXPECT_EQ(overview.pools.threads, 3);
}

TEST_F(OverviewTest, CutsCpusByQuotaAndRanks) {
  WriteMachine();
  tree_.Write("proc/self/cgroup", "0::/\n");
  tree_.Write("sys/fs/cgroup/cpu.max", "250000 100000\n");
  tree_.Write("sys/fs/cgroup/memory.max", "1000\n");
  setenv("LOCAL_WORLD_SIZE", "2", 1);
  const Overview overview = Read();
  unsetenv("LOCAL_WORLD_SIZE");
  EXPECT_EQ(overview.cpu.quota, 2.5);
  EXPECT_EQ(overview.cpu.usable(), 3);
  EXPECT_EQ(overview.cpu.local_ranks, 2);
  EXPECT_EQ(overview.cpu.usable_by_rank(), 1);
  EXPECT_EQ(overview.memory.headroom_bytes, 1000);
}

TEST_F(OverviewTest, KnowsWhoMayLockWithoutALimit) {
  WriteMachine();
  tree_.Write("proc/self/status", "CapEff:\t0000000000004000\n");
  EXPECT_EQ(Read().memory.memlock_bytes, std::nullopt);
  tree_.Write("proc/self/status", "CapEff:\t000001ffffffbfff\n");
  EXPECT_EQ(Read().memory.memlock_bytes, 8'388'608);
  tree_.Write("proc/self/limits", "Max locked memory         unlimited            unlimited            bytes\n");
  EXPECT_EQ(Read().memory.memlock_bytes, std::nullopt);
}

TEST_F(OverviewTest, NamesOtherProcessesOnAGpuAndItsNode) {
  void* const library = dlopen(STOKER_FAKE_NVML, RTLD_NOW | RTLD_LOCAL);
  reinterpret_cast<decltype(&fakeNvmlConfigure)>(dlsym(library, "fakeNvmlConfigure"))("processes=3");
  tree_.Write("proc/4000001/comm", "python3\n");
  tree_.Write("sys/bus/pci/devices/fa4e:a0:00.0/numa_node", "1\n");
  tree_.Write("sys/bus/pci/devices/fa4e:a1:00.0/numa_node", "-1\n");
  const Overview overview = Read({}, STOKER_FAKE_NVML);
  EXPECT_EQ(overview.driver_version, "550.54.15");
  ASSERT_EQ(overview.gpus.size(), 2u);
  EXPECT_EQ(overview.gpus[0].numa_node, 1);
  EXPECT_EQ(overview.gpus[1].numa_node, -1);
  const std::vector<GpuUser>& others = overview.gpus[0].others;
  ASSERT_EQ(others.size(), 2u) << "this process is not another";
  EXPECT_EQ(others[0].name, "python3");
  EXPECT_EQ(others[0].memory_bytes, 2'000'000'000u);
  EXPECT_EQ(others[1].name, "");
  const std::string whole = FormatOverview(overview, true);
  EXPECT_THAT(whole, HasSubstr("pid 4000001 python3 2.0 GB"));
  EXPECT_THAT(whole, HasSubstr("pid 4000002 (as the host counts) 3.0 GB"));
}

TEST_F(OverviewTest, KnowsTheGpuVariable) {
  EXPECT_EQ(Read().cuda_visible_devices, std::nullopt);
  setenv("CUDA_VISIBLE_DEVICES", "", 1);
  EXPECT_EQ(Read().cuda_visible_devices, "");
  unsetenv("CUDA_VISIBLE_DEVICES");
}

TEST_F(OverviewTest, SurvivesATreeWithNothingOrOddThings) {
  EXPECT_THAT(Read().cpu.allowed, IsEmpty());
  EXPECT_EQ(Read().cpu.usable(), 1);
  for (const char* text : kOddTexts) {
    for (const char* file :
         {"proc/cpuinfo", "proc/self/status", "proc/self/limits", "proc/meminfo", "proc/self/cgroup", "proc/self/maps",
          "proc/self/mountinfo", "proc/sys/kernel/ostype", "proc/sys/kernel/osrelease",
          "proc/sys/kernel/io_uring_disabled", "sys/devices/system/cpu/online", "sys/devices/system/node/online",
          "sys/devices/system/node/node0/cpulist", "sys/devices/system/node/node0/meminfo", "sys/fs/cgroup/cpu.max",
          "sys/fs/cgroup/memory.max", "sys/bus/pci/devices/x/vendor", "sys/bus/pci/devices/x/class"}) {
      tree_.Write(file, text);
    }
    const Overview overview = Read({.data_path = "/data", .num_workers = 2, .planned_bytes = 5});
    EXPECT_EQ(overview.memory.total_bytes, std::nullopt) << text;
    EXPECT_EQ(overview.nvidia_cards, 0) << text;
    EXPECT_FALSE(FormatOverview(overview, true).empty());
    EXPECT_FALSE(FormatOverview(overview, false).empty());
  }
}

TEST_F(OverviewTest, KnowsThisMachine) {
  const Overview overview = ReadOverview({.device = "cpu"}, "/", Nvml(kNoLibrary));
  EXPECT_FALSE(overview.cpu.allowed.empty());
  EXPECT_GT(overview.memory.total_bytes.value_or(0), overview.memory.available_bytes.value_or(0));
  EXPECT_FALSE(overview.kernel.empty());
}

}  // namespace
}  // namespace stoker

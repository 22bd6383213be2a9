#include "loader/machine/checks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

namespace stoker {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

constexpr int64_t kGiga = 1'000'000'000;

// A machine with nothing to mend: 16 CPUs on two nodes, one GPU.
Overview Good() {
  Overview overview;
  overview.request = {.data_path = "/data", .num_workers = 8, .device = "cuda", .planned_bytes = kGiga};
  overview.cpu.online.resize(16);
  std::iota(overview.cpu.online.begin(), overview.cpu.online.end(), 0);
  overview.cpu.allowed = overview.cpu.online;
  overview.cpu.clock_source = "tsc";
  overview.memory = {.total_bytes = 100 * kGiga, .available_bytes = 80 * kGiga};
  overview.nodes = {{0, {0, 1, 2, 3, 4, 5, 6, 7}, {}}, {1, {8, 9, 10, 11, 12, 13, 14, 15}, {}}};
  GpuOverview gpu;
  gpu.state.name = "H200";
  gpu.state.pcie_width = gpu.state.pcie_width_max = 16;
  gpu.state.load.memory_total_bytes = 140 * kGiga;
  gpu.state.load.memory_used_bytes = kGiga;
  gpu.state.load.memory_free_bytes = 139 * kGiga;
  gpu.numa_node = 1;
  gpu.chosen = true;
  overview.gpus = {gpu};
  overview.nvidia_cards = 1;
  overview.driver_version = "550.54.15";
  overview.cuda_tried = true;
  overview.uring.works = true;
  overview.storage = Storage{.path = "/data", .file_system = "xfs", .disk = "nvme0n1", .kind = StorageKind::kNvme};
  return overview;
}

// The one warning that a change of the good machine brings.
template <typename Change>
Check WarningAfter(Change change) {
  Overview overview = Good();
  change(overview);
  const std::vector<Check> warnings = Warnings(overview);
  EXPECT_EQ(warnings.size(), 1u) << FormatOverview(overview, true);
  if (warnings.size() != 1) return {};
  EXPECT_FALSE(warnings[0].remedy.empty());
  return warnings[0];
}

template <typename Change>
void ExpectNoWarningAfter(Change change) {
  Overview overview = Good();
  change(overview);
  EXPECT_THAT(Warnings(overview), IsEmpty()) << FormatOverview(overview, true);
}

TEST(Checks, FindNothingOnAGoodMachine) {
  ExpectNoWarningAfter([](Overview&) {});
  for (const Check& check : CheckOverview(Good())) EXPECT_EQ(check.outcome, Outcome::kOk) << check.name;
}

TEST(Checks, WarnOfMoreWorkersThanCpus) {
  const Check check = WarningAfter([](Overview& o) { o.request.num_workers = 17; });
  EXPECT_EQ(check.name, "workers");
  EXPECT_THAT(check.found, HasSubstr("17 workers for 16 usable CPUs"));
  EXPECT_THAT(check.remedy, HasSubstr("num_workers=16"));
  ExpectNoWarningAfter([](Overview& o) { o.request.num_workers = 16; });
  EXPECT_THAT(WarningAfter([](Overview& o) { o.cpu.local_ranks = 4; }).remedy, HasSubstr("num_workers=4"));
}

TEST(Checks, WarnOfAQuotaThatIsNotWhole) {
  const Check check = WarningAfter([](Overview& o) { o.cpu.quota = 8.5; });
  EXPECT_EQ(check.name, "cpu quota");
  EXPECT_THAT(check.remedy, HasSubstr("8 or 9 whole CPUs; until then num_workers=8"));
  ExpectNoWarningAfter([](Overview& o) { o.cpu.quota = 8; });
  ExpectNoWarningAfter([](Overview& o) { o.cpu.quota = 16.5; });
}

TEST(Checks, WarnOfRanksThatShareTooFewCores) {
  const Check check = WarningAfter([](Overview& o) { o.cpu.local_ranks = 9, o.request.num_workers = 1; });
  EXPECT_EQ(check.name, "ranks");
  EXPECT_THAT(check.found, HasSubstr("9 ranks of this job share 16 CPUs"));
  ExpectNoWarningAfter([](Overview& o) { o.cpu.local_ranks = 8, o.request.num_workers = 1; });
}

TEST(Checks, WarnOfAClockThatEntersTheKernel) {
  EXPECT_EQ(WarningAfter([](Overview& o) { o.cpu.clock_source = "hpet"; }).name, "clock");
  ExpectNoWarningAfter([](Overview& o) { o.cpu.clock_source = "kvm-clock"; });
  ExpectNoWarningAfter([](Overview& o) { o.cpu.clock_source = ""; });
}

TEST(Checks, WarnOfPoolsThatDoNotKnowTheQuota) {
  const Check check =
      WarningAfter([](Overview& o) { o.cpu.quota = 4, o.request.num_workers = 4, o.pools.openmp_copies = 1; });
  EXPECT_EQ(check.name, "thread pools");
  EXPECT_THAT(check.found, HasSubstr("16 threads beside 4 workers: 20 in all for 4 usable CPUs"));
  EXPECT_THAT(check.remedy, HasSubstr("OMP_NUM_THREADS=1 "));
  ExpectNoWarningAfter([](Overview& o) {
    o.cpu.quota = 4, o.request.num_workers = 4, o.pools.openmp_copies = 1;
    o.pools.variables = {{"OMP_NUM_THREADS", "4"}};
  });
  ExpectNoWarningAfter([](Overview& o) { o.request.num_workers = 16, o.request.torch_threads = 16; });
  EXPECT_EQ(WarningAfter([](Overview& o) { o.request.torch_threads = 25; }).name, "thread pools");
  EXPECT_THAT(WarningAfter([](Overview& o) {
                o.cpu.local_ranks = 8, o.request.num_workers = 2, o.pools.openmp_copies = 2;
              }).found,
              HasSubstr("in each of 8 ranks: 144 in all"));
}

TEST(Checks, WarnOfTooLittleMemory) {
  EXPECT_EQ(WarningAfter([](Overview& o) { o.memory.available_bytes = 9 * kGiga; }).name, "memory");
  EXPECT_EQ(WarningAfter([](Overview& o) { o.request.planned_bytes = 81 * kGiga; }).name, "buffers");
  const Check check = WarningAfter([](Overview& o) { o.memory.headroom_bytes = kGiga - 1; });
  EXPECT_EQ(check.name, "buffers");
  EXPECT_THAT(check.found, HasSubstr("by the container's limit"));
  ExpectNoWarningAfter([](Overview& o) { o.memory.headroom_bytes = kGiga; });
  EXPECT_EQ(WarningAfter([](Overview& o) {
              o.memory.headroom_bytes = kGiga, o.cpu.local_ranks = 2, o.request.num_workers = 2;
            }).name,
            "buffers")
      << "each rank takes as much";
}

TEST(Checks, WarnOfAMemlockLimitBelowTheBuffers) {
  const Check check =
      WarningAfter([](Overview& o) { o.memory.memlock_bytes = 65'536, o.request.locked_bytes = 20'000'000; });
  EXPECT_EQ(check.name, "memlock");
  EXPECT_THAT(check.remedy, HasSubstr("ulimit -l 19532"));
  ExpectNoWarningAfter([](Overview& o) { o.memory.memlock_bytes = 65'536; });
  ExpectNoWarningAfter([](Overview& o) { o.request.locked_bytes = 20'000'000; });
}

TEST(Checks, WarnOfIoUringThatIsForbidden) {
  const Check check = WarningAfter([](Overview& o) { o.uring = {.reason = "EPERM: forbidden", .sysctl = 2}; });
  EXPECT_EQ(check.name, "io_uring");
  EXPECT_THAT(check.found, HasSubstr("EPERM: forbidden"));
  EXPECT_THAT(check.remedy, HasSubstr("kernel.io_uring_disabled=0"));
}

TEST(Checks, WarnOfSlowStorage) {
  for (const StorageKind kind :
       {StorageKind::kRotational, StorageKind::kNetwork, StorageKind::kUserSpace, StorageKind::kShared}) {
    EXPECT_EQ(WarningAfter([kind](Overview& o) { o.storage->kind = kind; }).name, "data set");
  }
  for (const StorageKind kind : {StorageKind::kSolidState, StorageKind::kVirtual, StorageKind::kMemory,
                                 StorageKind::kOverlay, StorageKind::kUnknown}) {
    ExpectNoWarningAfter([kind](Overview& o) { o.storage->kind = kind; });
  }
  ExpectNoWarningAfter([](Overview& o) { o.storage.reset(); });
}

TEST(Checks, WarnOfANarrowLink) {
  const Check check = WarningAfter([](Overview& o) { o.gpus[0].state.pcie_width = 4; });
  EXPECT_EQ(check.name, "gpu link");
  EXPECT_THAT(check.found, HasSubstr("GPU 0: PCIe x4 of x16: copies have 25 %"));
  ExpectNoWarningAfter(
      [](Overview& o) { o.gpus[0].state.pcie_generation = 1, o.gpus[0].state.pcie_generation_max = 5; });
}

TEST(Checks, WarnOfOthersOnTheGpu) {
  const Check check = WarningAfter([](Overview& o) { o.gpus[0].others = {{77, "python3", 9 * kGiga}}; });
  EXPECT_EQ(check.name, "gpu users");
  EXPECT_THAT(check.found, HasSubstr("pid 77 python3 9.0 GB"));
  // A desktop, which draws little.
  ExpectNoWarningAfter([](Overview& o) { o.gpus[0].others = {{77, "Xorg", kGiga}}; });
  EXPECT_EQ(WarningAfter([](Overview& o) {
              o.gpus[0].others = {{77, "python3", kGiga}};
              o.gpus[0].state.load.busy_percent = 60;
            }).name,
            "gpu users");
  EXPECT_EQ(WarningAfter([](Overview& o) { o.gpus[0].others = {{77, "python3", std::nullopt}}; }).name, "gpu users");
  // A number of the host's may be this very process.
  ExpectNoWarningAfter([](Overview& o) { o.gpus[0].others = {{77, "", std::nullopt}}; });
  EXPECT_EQ(WarningAfter([](Overview& o) {
              o.gpus[0].others = {{77, "", 70 * kGiga}};
              o.gpus[0].state.load.memory_used_bytes = 70 * kGiga;
            }).name,
            "gpu users");
}

TEST(Checks, WarnOfANodeThatIsFarAway) {
  const Check check = WarningAfter([](Overview& o) { o.cpu.allowed = {0, 1, 2, 3, 4, 5, 6, 7}; });
  EXPECT_EQ(check.name, "gpu node");
  EXPECT_THAT(check.found, HasSubstr("GPU 0 is on node 1, CPUs 8-15"));
  ExpectNoWarningAfter([](Overview& o) { o.cpu.allowed = {0, 1, 2, 3, 4, 5, 6, 8}; });
  ExpectNoWarningAfter([](Overview& o) { o.cpu.allowed = {0, 1, 2, 3, 4, 5, 6, 7}, o.gpus[0].numa_node = -1; });
}

TEST(Checks, WarnOfAGpuThatIsSlowedDown) {
  EXPECT_EQ(WarningAfter([](Overview& o) { o.gpus[0].state.load.throttle_reasons = 0x40; }).name, "gpu clocks");
  ExpectNoWarningAfter([](Overview& o) { o.gpus[0].state.load.throttle_reasons = 0x1; });
}

TEST(Checks, WarnOfADriverThatIsMissingAndOfHiddenGpus) {
  const auto without_driver = [](Overview& o) {
    o.gpus.clear();
    o.driver_version.clear();
    o.nvml_refusal = "there is no NVML here";
    o.cuda_refusal = "there is no CUDA driver here";
  };
  EXPECT_THAT(WarningAfter(without_driver).found, HasSubstr("there is no CUDA driver here"));
  EXPECT_EQ(WarningAfter([&](Overview& o) { without_driver(o), o.request.device = "auto"; }).name, "gpu driver");
  ExpectNoWarningAfter([&](Overview& o) { without_driver(o), o.request.device = "auto", o.nvidia_cards = 0; });
  // The device is the CPU, but there is a card that nobody can use.
  EXPECT_THAT(WarningAfter([&](Overview& o) {
                without_driver(o), o.request.device = "cpu", o.cuda_tried = false, o.cuda_refusal.clear();
              }).found,
              HasSubstr("1 NVIDIA card on the bus, no driver"));
  const Check hidden = WarningAfter([](Overview& o) { o.cuda_refusal = "no device", o.cuda_visible_devices = ""; });
  EXPECT_THAT(hidden.found, HasSubstr("CUDA_VISIBLE_DEVICES=\"\" hides every GPU"));
}

TEST(Checks, LeaveOtherGpusAlone) {
  ExpectNoWarningAfter([](Overview& o) {
    o.gpus.push_back(o.gpus[0]);
    o.gpus[1].chosen = false;
    o.gpus[1].state.pcie_width = 1;
  });
  ExpectNoWarningAfter(
      [](Overview& o) { o.request.device = "cpu", o.cuda_tried = false, o.gpus[0].state.pcie_width = 1; });
}

TEST(Checks, SayUnknownAndNeverWarnWhereNothingIsKnown) {
  Overview overview;
  overview.uring.works = true;
  overview.request = {.data_path = "/data", .num_workers = 99, .planned_bytes = kGiga, .locked_bytes = kGiga};
  overview.storage = Storage{.path = "/data"};
  EXPECT_THAT(Warnings(overview), IsEmpty());
  const std::vector<Check> checks = CheckOverview(overview);
  EXPECT_EQ(std::ranges::count(checks, Outcome::kUnknown, &Check::outcome), 4);
}

TEST(FormatOverview, IsShortOrWhole) {
  Overview overview = Good();
  overview.gpus[0].state.pcie_width = 4;
  overview.gpus.push_back(overview.gpus[0]);
  overview.gpus[1].chosen = false;
  const std::string brief = FormatOverview(overview, false);
  EXPECT_EQ(std::ranges::count(brief, '\n'), 5) << brief;
  EXPECT_THAT(brief, HasSubstr("16 CPUs usable"));
  EXPECT_THAT(brief, HasSubstr("0: H200, 139.0 GB of 140.0 GB free, PCIe x4, node 1, and 1 more here"));
  EXPECT_THAT(brief, HasSubstr("data set: xfs on nvme0n1, NVMe"));
  EXPECT_THAT(brief, HasSubstr("warning      gpu link: GPU 0: PCIe x4 of x16"));
  const std::string whole = FormatOverview(overview, true);
  for (const Check& check : CheckOverview(overview)) EXPECT_THAT(whole, HasSubstr(check.found));
  EXPECT_THAT(whole, HasSubstr("remedy: another slot"));
  EXPECT_THAT(whole, HasSubstr("<- this job's"));
  EXPECT_THAT(FormatOverview(Overview(), true), HasSubstr("unknown"));
}

}  // namespace
}  // namespace stoker

#include "loader/machine/limits.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "loader/options.h"
#include "tests/loader/picture_folder.h"

namespace stoker {
namespace {

class Cgroup : public testing::Test {
 protected:
  void Write(const std::string& file, const std::string& text) const {
    root_.Write(file, Bytes(text.begin(), text.end()));
  }
  CgroupLimits Read(const std::string& own) const { return ReadCgroupLimits(root_.string(), own); }

  TempFolder root_;
};

TEST_F(Cgroup, HasNoLimitsInAnEmptyTree) {
  for (const char* own : {"/", "", "/a/b", "strange"}) {
    EXPECT_EQ(Read(own).cpus, 0) << own;
    EXPECT_EQ(Read(own).memory_bytes, 0) << own;
  }
}

TEST_F(Cgroup, ReadsItsOwnLimits) {
  Write("job/cpu.max", "250000 100000\n");
  Write("job/memory.max", "1000000\n");
  Write("job/memory.current", "400000\n");
  EXPECT_EQ(Read("/job").cpus, 2.5);
  EXPECT_EQ(Read("/job").memory_bytes, 600000);
  EXPECT_EQ(Read("/other").cpus, 0);
}

TEST_F(Cgroup, TakesTheTightestOfItsAncestors) {
  Write("cpu.max", "800000 100000\n");
  Write("a/cpu.max", "150000 100000\n");
  Write("a/memory.max", "500\n");
  Write("a/memory.current", "100\n");
  Write("a/b/cpu.max", "400000 100000\n");
  Write("a/b/memory.max", "max\n");
  Write("a/b/c/memory.max", "10000\n");
  const CgroupLimits limits = Read("/a/b/c");
  EXPECT_EQ(limits.cpus, 1.5);
  EXPECT_EQ(limits.memory_bytes, 400);
}

TEST_F(Cgroup, KnowsTheWordForNoLimit) {
  Write("job/cpu.max", "max 100000\n");
  Write("job/memory.max", "max\n");
  Write("job/memory.current", "123\n");
  EXPECT_EQ(Read("/job").cpus, 0);
  EXPECT_EQ(Read("/job").memory_bytes, 0);
}

TEST_F(Cgroup, LeavesAFullGroupAByteAndNotNoLimit) {
  Write("job/memory.max", "100\n");
  Write("job/memory.current", "150\n");
  EXPECT_EQ(Read("/job").memory_bytes, 1);
}

TEST_F(Cgroup, CountsThePagesOfFilesAsFree) {
  Write("job/memory.max", "1000\n");
  Write("job/memory.current", "990\n");
  Write("job/memory.stat", "anon 90\nfile 900\ninactive_file 600\nactive_file 250\n");
  EXPECT_EQ(Read("/job").memory_bytes, 860);
  Write("job/memory.stat", "inactive_file all\nactive_file 5000\n");  // counted a moment later
  EXPECT_EQ(Read("/job").memory_bytes, 1000);
  Write("memory/memory.limit_in_bytes", "500\n");
  Write("memory/memory.usage_in_bytes", "400\n");
  Write("memory/memory.stat", "inactive_file 1\ntotal_inactive_file 100\ntotal_active_file 50\n");
  EXPECT_EQ(Read("/").memory_bytes, 250);
}

TEST_F(Cgroup, FindsItsOwnOfVersionTwo) {
  EXPECT_EQ(OwnCgroupFolder(root_.string(), ""), "");
  Write("proc/self/cgroup", "0::/slice/job\n");
  Write("sys/fs/cgroup/cgroup.controllers", "cpu memory\n");
  EXPECT_EQ(OwnCgroupFolder(root_.string(), ""), root_.string() + "/sys/fs/cgroup");  // no more than its own is there
  Write("sys/fs/cgroup/slice/cpu.max", "200000 100000\n");
  Write("sys/fs/cgroup/slice/job/memory.max", "77\n");
  EXPECT_EQ(OwnCgroupFolder(root_.string(), ""), root_.string() + "/sys/fs/cgroup/slice/job");
  EXPECT_EQ(OwnCgroupLimits(root_.string()).cpus, 2);
  EXPECT_EQ(OwnCgroupLimits(root_.string()).memory_bytes, 77);
}

TEST_F(Cgroup, FindsItsOwnOfVersionOne) {
  Write("proc/self/cgroup", "nonsense\n::\n5:cpu,cpuacct:/docker/7\n4:memory:/docker/7\n0::/init.scope\n");
  Write("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n");
  EXPECT_EQ(OwnCgroupFolder(root_.string(), ""), "");
  EXPECT_EQ(OwnCgroupFolder(root_.string(), "cpu"), root_.string() + "/sys/fs/cgroup/cpu");
  EXPECT_EQ(OwnCgroupFolder(root_.string(), "memory"), "");
  Write("sys/fs/cgroup/cpu/docker/7/cpu.cfs_quota_us", "150000\n");
  Write("sys/fs/cgroup/cpu/docker/7/cpu.cfs_period_us", "100000\n");
  Write("sys/fs/cgroup/unified/cgroup.procs", "");
  EXPECT_EQ(OwnCgroupFolder(root_.string(), "cpu"), root_.string() + "/sys/fs/cgroup/cpu/docker/7");
  EXPECT_EQ(OwnCgroupFolder(root_.string(), ""), root_.string() + "/sys/fs/cgroup/unified");
  EXPECT_EQ(OwnCgroupLimits(root_.string()).cpus, 1.5);
  EXPECT_EQ(OwnCgroupLimits(root_.string()).memory_bytes, 0);
}

TEST_F(Cgroup, SurvivesNonsense) {
  Write("job/cpu.max", "lots\n");
  Write("job/memory.max", "\n");
  EXPECT_EQ(Read("/job").cpus, 0);
  EXPECT_EQ(Read("/job").memory_bytes, 0);
  Write("job/cpu.max", "100000 0\n");
  EXPECT_EQ(Read("/job").cpus, 0);
}

TEST_F(Cgroup, ReadsVersionOneAtTheRoot) {
  Write("cpu/cpu.cfs_quota_us", "50000\n");
  Write("cpu/cpu.cfs_period_us", "100000\n");
  Write("memory/memory.limit_in_bytes", "2000\n");
  Write("memory/memory.usage_in_bytes", "500\n");
  EXPECT_EQ(Read("/").cpus, 0.5);
  EXPECT_EQ(Read("/").memory_bytes, 1500);
  Write("cpu/cpu.cfs_quota_us", "-1\n");
  Write("memory/memory.limit_in_bytes", "9223372036854771712\n");
  EXPECT_EQ(Read("/").cpus, 0);
  EXPECT_EQ(Read("/").memory_bytes, 0);
}

TEST(Machine, UsesNoMoreCpusThanItsAffinityMask) {
  int32_t all = 0, one = 0;
  std::thread([&] {  // a mask is a thread's own: nobody else is touched
    all = UsableCpus();
    cpu_set_t set;
    ASSERT_EQ(sched_getaffinity(0, sizeof set, &set), 0);
    EXPECT_LE(all, CPU_COUNT(&set));
    int first = 0;
    while (!CPU_ISSET(first, &set)) ++first;
    CPU_ZERO(&set);
    CPU_SET(first, &set);
    ASSERT_EQ(sched_setaffinity(0, sizeof set, &set), 0);
    one = UsableCpus();
  })
      .join();
  EXPECT_GE(all, 1);
  EXPECT_EQ(one, 1);
}

TEST(Machine, SharesItsCpusWithTheOtherRanks) {
  const int32_t cpus = UsableCpus();
  const std::string huge = std::to_string(cpus * 8);
  for (const auto& [value, workers] : {std::pair<const char*, int32_t>{"1", cpus},
                                       {"2", std::max(cpus / 2, 1)},
                                       {huge.c_str(), 1},
                                       {"0", cpus},
                                       {"nonsense", cpus}}) {
    ASSERT_EQ(setenv("LOCAL_WORLD_SIZE", value, 1), 0);
    EXPECT_EQ(DefaultWorkers(), workers) << value;
  }
  unsetenv("LOCAL_WORLD_SIZE");
  EXPECT_EQ(DefaultWorkers(), cpus);
}

TEST(Machine, HasMemoryLeft) { EXPECT_GT(AvailableMemoryBytes(), 0); }

// The CPUs that this thread may use, ascending.
std::vector<int> Usable() {
  cpu_set_t set;
  CPU_ZERO(&set);
  sched_getaffinity(0, sizeof set, &set);
  std::vector<int> cpus;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &set)) cpus.push_back(cpu);
  }
  return cpus;
}

TEST_F(Cgroup, KnowsTheCpusOfANode) {
  const std::vector<int> usable = Usable();
  const std::string one = std::to_string(usable.front());
  Write("devices/system/node/node1/cpulist", one + ",1020-1023\n");
  Write("devices/system/node/node2/cpulist", "0-1023\n");
  Write("devices/system/node/node3/cpulist", "x\n");
  Write("devices/system/node/node4/cpulist", "\n");
  // Where there is one CPU, it is no choice.
  const std::vector<int> chosen = usable.size() > 1 ? std::vector<int>{usable.front()} : std::vector<int>();
  EXPECT_EQ(CpusOfNode(root_.string(), 1), chosen);
  for (const int node : {-1, 0, 2, 3, 4}) EXPECT_TRUE(CpusOfNode(root_.string(), node).empty()) << node;
}

TEST(StayOn, MovesTheThreadAndBringsItBack) {
  std::thread([] {
    const std::vector<int> before = Usable();
    for (const int cpu : before) {
      StayOn({cpu});
      EXPECT_EQ(Usable(), std::vector<int>{cpu});
      EXPECT_EQ(sched_getcpu(), cpu);
    }
    StayOn({});
    EXPECT_EQ(Usable(), before);
  }).join();
}

}  // namespace
}  // namespace stoker

#include "loader/machine/gauges.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <thread>

#include "tests/loader/machine/kernel_tree.h"

namespace stoker {
namespace {

constexpr int64_t kSecond = 1'000'000'000;

class Gauges : public testing::Test {
 protected:
  MachineGauges Read() const { return ReadGauges(tree_.root(), 7); }
  void WriteVersionTwo() const {
    tree_.Write("proc/self/cgroup", "0::/job\n");
    tree_.Write("sys/fs/cgroup/cgroup.controllers", "cpu\n");
    tree_.Write("sys/fs/cgroup/job/cpu.stat", "usage_usec 9\nnr_throttled 3\nthrottled_usec 4500\n");
    tree_.Write("sys/fs/cgroup/job/io.pressure", "some avg10=0 total=31\nfull avg10=0 total=32\n");
  }

  KernelTree tree_;
};

TEST_F(Gauges, AreAllReadFromTheTree) {
  tree_.Write(
      "proc/self/status",
      "Name:\tpython\nVmRSS:\t  2000 kB\nRssAnon:\t 1200 kB\nRssFile:\t 700 kB\nRssShmem:\t 100 kB\nThreads:\t9\n");
  tree_.Write("proc/self/io", "rchar: 6976\nwchar: 1\nread_bytes: 4096\ncancelled_write_bytes: 5\n");
  tree_.Write("proc/self/task/10/schedstat", "5000 700 3\n");
  tree_.Write("proc/self/task/11/schedstat", "6000 800 4\n");
  tree_.Write("proc/self/task/12/stat", "a thread that has just ended\n");
  tree_.Write("proc/pressure/cpu", "some avg10=0.06 avg60=0.11 avg300=0.09 total=10\nfull avg10=0.00 total=0\n");
  tree_.Write("proc/pressure/memory", "some avg10=0.00 total=20\nfull avg10=0.00 total=21\n");
  WriteVersionTwo();
  const MachineGauges gauges = Read();
  EXPECT_EQ(gauges.at_ns, 7);
  EXPECT_EQ(gauges.rss_bytes, 2000 * 1024);
  EXPECT_EQ(gauges.anonymous_bytes, 1200 * 1024);
  EXPECT_EQ(gauges.shared_bytes, 100 * 1024);
  EXPECT_EQ(gauges.thread_count, 9);
  EXPECT_EQ(gauges.storage_read_bytes, 4096);
  EXPECT_EQ(gauges.read_call_bytes, 6976);
  int64_t ran = 0, waited = 0;
  for (const ThreadTimes& thread : gauges.threads) ran += thread.ran_ns, waited += thread.waited_ns;
  EXPECT_EQ(gauges.threads.size(), 2u);
  EXPECT_EQ(ran, 11000);
  EXPECT_EQ(waited, 1500);
  EXPECT_EQ(gauges.machine.cpu.some_us, 10);
  EXPECT_EQ(gauges.machine.cpu.full_us, 0);
  EXPECT_EQ(gauges.machine.io.some_us, std::nullopt);
  EXPECT_EQ(gauges.machine.memory.full_us, 21);
  EXPECT_EQ(gauges.group.io.some_us, 31);
  EXPECT_EQ(gauges.group.io.full_us, 32);
  EXPECT_EQ(gauges.group.cpu.some_us, std::nullopt);
  EXPECT_EQ(gauges.throttled_us, 4500);
}

TEST_F(Gauges, ReadThrottlingOfVersionOne) {
  tree_.Write("proc/self/cgroup", "3:cpu,cpuacct:/job\n");
  tree_.Write("sys/fs/cgroup/cpu/job/cpu.stat", "nr_periods 1\nnr_throttled 3\nthrottled_time 4500000\n");
  EXPECT_EQ(Read().throttled_us, 4500);
  WriteVersionTwo();
  tree_.Write("proc/self/cgroup", "3:cpu,cpuacct:/job\n0::/job\n");
  tree_.Write("sys/fs/cgroup/job/cpu.stat", "usage_usec 1\n");  // no quota, no such line
  EXPECT_EQ(Read().throttled_us, 4500);
}

TEST_F(Gauges, SayNothingWhereNothingCanBeRead) {
  const MachineGauges gauges = Read();
  EXPECT_FALSE(gauges.rss_bytes || gauges.anonymous_bytes || gauges.shared_bytes || gauges.cpu_seconds ||
               gauges.tree_cpu_seconds || gauges.thread_count || gauges.storage_read_bytes || gauges.read_call_bytes ||
               gauges.throttled_us || gauges.machine.cpu.some_us || gauges.group.memory.full_us);
  EXPECT_TRUE(gauges.threads.empty());
  const GaugeRates rates = RatesBetween(gauges, ReadGauges(tree_.root(), 8));
  EXPECT_TRUE(rates.seconds.has_value());
  EXPECT_FALSE(rates.cpu_cores || rates.tree_cpu_cores || rates.run_queue_share || rates.cache_hit_share ||
               rates.throttled_share || rates.cpu_pressure || rates.io_pressure || rates.memory_pressure);
}

TEST_F(Gauges, SurviveOddTexts) {
  for (const char* text : kOddTexts) {
    for (const char* file :
         {"proc/self/status", "proc/self/io", "proc/self/stat", "proc/self/cgroup", "proc/self/task/10/schedstat",
          "proc/pressure/cpu", "proc/pressure/io", "sys/fs/cgroup/cgroup.controllers", "sys/fs/cgroup/cpu.stat",
          "sys/fs/cgroup/cpu.pressure", "sys/fs/cgroup/cpu/cpu.stat"}) {
      tree_.Write(file, text);
    }
    const MachineGauges gauges = Read();
    EXPECT_EQ(gauges.rss_bytes, std::nullopt) << text;
    EXPECT_EQ(gauges.machine.cpu.some_us, std::nullopt) << text;
    EXPECT_EQ(gauges.throttled_us, std::nullopt) << text;
    EXPECT_TRUE(gauges.threads.empty()) << text;
  }
}

TEST_F(Gauges, KnowThisProcess) {
  const MachineGauges before = ReadGauges("/", 0);
  EXPECT_GT(before.rss_bytes.value_or(0), before.anonymous_bytes.value_or(0));
  EXPECT_GT(before.anonymous_bytes.value_or(0), 0);
  EXPECT_GE(before.thread_count.value_or(0), 1);
  EXPECT_GE(before.cpu_seconds.value_or(-1), 0);
  const auto is_among = [](const MachineGauges& gauges, int32_t id) {
    return std::ranges::find(gauges.threads, id, &ThreadTimes::id) != gauges.threads.end();
  };
  EXPECT_TRUE(is_among(before, getpid()));
  bool other_is_among = false;
  std::thread([&] { other_is_among = is_among(ReadGauges("/", 0), gettid()); }).join();
  EXPECT_TRUE(other_is_among) << "not the main thread's alone";
}

MachineGauges At(double seconds) {
  MachineGauges gauges;
  gauges.at_ns = static_cast<int64_t>(seconds * kSecond);
  return gauges;
}

TEST(GaugeRates, AreDifferencesOverTime) {
  MachineGauges before = At(1), after = At(3);
  before.cpu_seconds = 10, after.cpu_seconds = 13;
  before.tree_cpu_seconds = 20, after.tree_cpu_seconds = 26;
  before.throttled_us = 0, after.throttled_us = 500'000;
  before.machine.io.some_us = 100, after.machine.io.some_us = 200'100;
  before.machine.cpu.some_us = 0, after.machine.cpu.some_us = 2'000'300;  // read a moment after the clock
  before.group.memory.some_us = 0, after.group.memory.some_us = 1'000'000;
  before.machine.memory.some_us = 0, after.machine.memory.some_us = 0;
  before.storage_read_bytes = 0, after.storage_read_bytes = 25;
  before.read_call_bytes = 0, after.read_call_bytes = 50;
  const GaugeRates rates = RatesBetween(before, after);
  EXPECT_EQ(rates.seconds, 2);
  EXPECT_EQ(rates.cpu_cores, 1.5);
  EXPECT_EQ(rates.tree_cpu_cores, 3);
  EXPECT_EQ(rates.throttled_share, 0.25);
  EXPECT_EQ(rates.io_pressure, 0.1);
  EXPECT_EQ(rates.cpu_pressure, 1);
  EXPECT_EQ(rates.memory_pressure, 0.5) << "the own group's, where it is known";
  EXPECT_EQ(rates.cache_hit_share, 0.5);
  EXPECT_EQ(RatesBetween(before, after, 100).cache_hit_share, 0.75) << "of what the caller read";
}

TEST(GaugeRates, TakeThreadsThatCameAndWent) {
  MachineGauges before = At(0), after = At(1);
  before.threads = {{30, 5000, 500}, {10, 1000, 100}, {20, 9000, 900}};
  // 10 went on, 20 ended, 30 ended and another has its number, 40 is new.
  after.threads = {{10, 1600, 200}, {30, 100, 50}, {40, 200, 150}};
  EXPECT_DOUBLE_EQ(RatesBetween(before, after).run_queue_share.value_or(0), 300.0 / 1200);
  after.threads = before.threads;
  EXPECT_EQ(RatesBetween(before, after).run_queue_share, std::nullopt) << "nobody ran";
}

TEST(GaugeRates, DoNotBelieveAClockOrCounterThatGoesBackwards) {
  MachineGauges before = At(3), after = At(1);
  before.cpu_seconds = 1, after.cpu_seconds = 2;
  before.threads = {{1, 0, 0}}, after.threads = {{1, 90, 10}};
  before.storage_read_bytes = 0, after.storage_read_bytes = 0;
  for (const double now : {1.0, 3.0}) {
    after.at_ns = At(now).at_ns;
    const GaugeRates rates = RatesBetween(before, after, 10);
    EXPECT_FALSE(rates.seconds || rates.cpu_cores) << now;
    EXPECT_DOUBLE_EQ(rates.run_queue_share.value_or(0), 0.1) << "needs no clock";
    EXPECT_EQ(rates.cache_hit_share, 1);
  }
  after = At(4);
  before.cpu_seconds = 5, after.cpu_seconds = 4;  // a child took its time with it
  before.throttled_us = 5, after.throttled_us = 4;
  before.machine.cpu.some_us = 5, after.machine.cpu.some_us = 4;
  before.storage_read_bytes = 5, after.storage_read_bytes = 4;
  const GaugeRates rates = RatesBetween(before, after, 10);
  EXPECT_FALSE(rates.cpu_cores || rates.throttled_share || rates.cpu_pressure || rates.cache_hit_share);
  EXPECT_EQ(rates.seconds, 1);
}

TEST(GaugeRates, KeepTheCachesShareWithinItsBounds) {
  MachineGauges before = At(0), after = At(1);
  before.storage_read_bytes = 0, after.storage_read_bytes = 1000;  // read-ahead
  EXPECT_EQ(RatesBetween(before, after, 100).cache_hit_share, 0);
  EXPECT_EQ(RatesBetween(before, after, 0).cache_hit_share, std::nullopt) << "nothing was read";
}

}  // namespace
}  // namespace stoker

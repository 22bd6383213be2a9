#include "bench/sweep/busy_cpus.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

#include <fstream>

#include "tests/loader/picture_folder.h"

namespace stoker {
namespace {

TEST(BusyCpus, CountsWhatIsNotIdleOnTheCpusThatMayBeUsed) {
  const TempFolder folder;
  const std::string file = folder.string() + "/stat";
  const int own = sched_getcpu();
  std::ofstream(file) << "cpu  1000 1000 1000 1000\n"
                      << "cpu" << own << " 100 10 50 7000 30 5 5 0 100 10\n"
                      << "cpu1023 900 0 0 0 0 0 0 0 0 0\nintr 12\n";
  EXPECT_DOUBLE_EQ(ReadBusyCpus(file).busy_seconds, 170.0 / static_cast<double>(sysconf(_SC_CLK_TCK)));
}

TEST(BusyCpus, WhatCannotBeReadIsNotForeign) {
  const BusyCpus none = ReadBusyCpus("/nowhere");
  EXPECT_EQ(none.busy_seconds, 0);
  EXPECT_EQ(ForeignCpus(none, ReadBusyCpus(), {}), 0);
}

TEST(BusyCpus, OwnTimeIsNotForeign) {
  rusage used = {};
  used.ru_utime.tv_sec = 3;
  used.ru_stime.tv_usec = 500'000;
  EXPECT_DOUBLE_EQ(ForeignCpus({10, 100}, {12, 106}, used), 1.25);
  EXPECT_EQ(ForeignCpus({10, 100}, {12, 102}, used), 0);
  EXPECT_EQ(ForeignCpus({10, 100}, {10, 106}, used), 0);
}

}  // namespace
}  // namespace stoker

#include "loader/machine/thread_pools.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "tests/loader/machine/kernel_tree.h"

namespace stoker {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

TEST(ThreadPools, NameLoadedLibrariesOnceAndCountOpenMp) {
  const KernelTree tree;
  tree.Write("proc/self/status", "Name:\tpython\nThreads:\t17\n");
  tree.Write("proc/self/maps",
             "5600-5700 r--p 00000000 fe:00 1 /usr/bin/python3.11\n"
             "7f00-7f01 r-xp 00000000 fe:00 2 /venv/torch/lib/libgomp-a34b3233.so.1\n"
             "7f01-7f02 rw-p 00000000 fe:00 2 /venv/torch/lib/libgomp-a34b3233.so.1\n"
             "7f02-7f03 r-xp 00000000 fe:00 3 /usr/lib/libgomp.so.1.0.0 (deleted)\n"
             "7f03-7f04 r-xp 00000000 fe:00 4 /venv/torch/lib/libtorch_cpu.so\n"
             "7f04-7f05 r-xp 00000000 fe:00 5 /venv/my libs/libiomp5.so\n"
             "7f05-7f06 rw-p 00000000 00:00 0 [heap]\n"
             "7f06-7f07 r-xp 00000000 fe:00 6 /lib/libgompertz.txt.so.9\n");
  const ThreadPools pools = ReadThreadPools(tree.root());
  EXPECT_EQ(pools.threads, 17);
  EXPECT_THAT(pools.libraries, testing::UnorderedElementsAre("GNU OpenMP", "PyTorch", "Intel OpenMP"));
  EXPECT_EQ(pools.openmp_copies, 3);
}

TEST(ThreadPools, ReadTheVariablesThatSizePools) {
  const KernelTree tree;
  unsetenv("OMP_NUM_THREADS");
  EXPECT_EQ(ReadThreadPools(tree.root()).openmp_threads(), std::nullopt);
  setenv("OMP_NUM_THREADS", "4,2", 1);
  setenv("MKL_NUM_THREADS", "3", 1);
  const ThreadPools pools = ReadThreadPools(tree.root());
  EXPECT_EQ(pools.openmp_threads(), 4);
  EXPECT_THAT(pools.variables, Contains(Pair("MKL_NUM_THREADS", "3")));
  for (const char* odd : {"", "0", "-2", "all", "99999999999"}) {
    setenv("OMP_NUM_THREADS", odd, 1);
    EXPECT_EQ(ReadThreadPools(tree.root()).openmp_threads(), std::nullopt) << odd;
  }
  unsetenv("OMP_NUM_THREADS");
  unsetenv("MKL_NUM_THREADS");
}

TEST(ThreadPools, SurviveOddTexts) {
  const KernelTree tree;
  EXPECT_EQ(ReadThreadPools(tree.root()).threads, std::nullopt);
  for (const char* text : kOddTexts) {
    tree.Write("proc/self/status", text);
    tree.Write("proc/self/maps", text);
    EXPECT_EQ(ReadThreadPools(tree.root()).threads, std::nullopt) << text;
    EXPECT_THAT(ReadThreadPools(tree.root()).libraries, IsEmpty()) << text;
  }
}

}  // namespace
}  // namespace stoker

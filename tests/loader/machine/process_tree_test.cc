#include "loader/machine/process_tree.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "tests/loader/machine/kernel_tree.h"

namespace stoker {
namespace {

class ProcessTree : public testing::Test {
 protected:
  // A process with a name as bad as names get, which ran for `own` seconds and whose children that ended did `waited`.
  void Add(const std::string& folder, int pid, int parent, int own, int waited) const {
    const long ticks = sysconf(_SC_CLK_TCK);
    tree_.Write("proc/" + folder + "/stat",
                fmt::format("{} (a) b ) R {} 1 1 0 -1 4194304 100 0 0 0 {} {} {} 0 20 0 1 0 3915663 3133440 394 1844\n",
                            pid, parent, own * ticks - 1, 1, waited * ticks));
  }
  void Children(const std::string& process, int thread, const std::string& list) const {
    tree_.Write(fmt::format("proc/{}/task/{}/children", process, thread), list);
  }
  ProcessCpu Read() const { return ReadProcessCpu(tree_.root(), false); }

  KernelTree tree_;
};

TEST_F(ProcessTree, AddsUpDescendantsAndThoseThatEnded) {
  Add("self", 10, 1, 5, 7);
  Children("self", 10, "20 ");
  Children("self", 11, "");
  Children("self", 12, "30 31 ");
  Add("20", 20, 10, 100, 0);
  Children("20", 20, "21 ");
  Add("21", 21, 20, 1000, 3);
  Children("21", 21, "");
  Add("30", 30, 10, 20, 0);
  Add("31", 31, 10, 30, 0);
  EXPECT_DOUBLE_EQ(Read().own_seconds.value_or(0), 5);
  EXPECT_DOUBLE_EQ(Read().tree_seconds.value_or(0), 5 + 7 + 100 + 1003 + 20 + 30);
}

TEST_F(ProcessTree, LeavesOutWhoVanishedAndWhoHasItsNumberNow) {
  Add("self", 10, 1, 5, 0);
  Children("self", 10, "20 21 22 ");
  Add("21", 21, 999, 100, 0);  // somebody else's child by now
  Add("22", 22, 10, 7, 0);
  EXPECT_DOUBLE_EQ(Read().tree_seconds.value_or(0), 12);
}

TEST_F(ProcessTree, EndsInATreeThatGoesRound) {
  Add("self", 10, 1, 5, 0);
  Children("self", 10, "20 ");
  Add("20", 20, 20, 1, 0);
  Children("20", 20, "20 20 ");
  EXPECT_DOUBLE_EQ(Read().tree_seconds.value_or(0), 5);
  Add("20", 20, 10, 1, 0);
  EXPECT_DOUBLE_EQ(Read().tree_seconds.value_or(0), 6);
  Children("self", 10, "20 21 ");
  Children("20", 20, "21 ");
  Add("21", 21, 20, 1, 0);
  Children("21", 21, "22 ");
  Add("22", 22, 21, 1, 0);
  Children("22", 22, "21 21 ");  // 21 is 20's child: a number that is older
  EXPECT_DOUBLE_EQ(Read().tree_seconds.value_or(0), 8);
}

TEST_F(ProcessTree, DoesNotTakeANumberThatWasCutShort) {
  Add("self", 10, 1, 5, 0);
  Children("self", 10, "200");
  Add("200", 200, 10, 100, 0);
  EXPECT_DOUBLE_EQ(Read().tree_seconds.value_or(0), 5);
}

TEST_F(ProcessTree, SaysNothingOfChildrenThatTheKernelDoesNotName) {
  EXPECT_EQ(Read().own_seconds, std::nullopt);
  Add("self", 10, 1, 5, 0);
  EXPECT_DOUBLE_EQ(Read().own_seconds.value_or(0), 5);
  EXPECT_EQ(Read().tree_seconds, std::nullopt);
  EXPECT_DOUBLE_EQ(ReadProcessCpu(tree_.root(), true).tree_seconds.value_or(0), 5) << "there are none to name";
}

TEST_F(ProcessTree, SurvivesOddTexts) {
  for (const char* text : kOddTexts) {
    tree_.Write("proc/self/stat", text);
    EXPECT_EQ(Read().own_seconds, std::nullopt) << text;
  }
  Add("self", 10, 1, 5, 0);
  for (const char* text : kOddTexts) {
    Children("self", 10, text);
    tree_.Write("proc/4/stat", text);
    EXPECT_DOUBLE_EQ(Read().tree_seconds.value_or(0), 5) << text;
  }
}

TEST_F(ProcessTree, SeesALivingChildOfThisProcess) {
  int pipe_ends[2];
  ASSERT_EQ(pipe(pipe_ends), 0);
  const pid_t child = fork();
  if (child == 0) {
    // As much CPU as a tick or two, on the process's own clock.
    while (clock() < CLOCKS_PER_SEC / 20) continue;
    (void)!write(pipe_ends[1], "x", 1);
    pause();
    _exit(0);
  }
  char ready = 0;
  ASSERT_EQ(read(pipe_ends[0], &ready, 1), 1);
  EXPECT_TRUE(HasChildren());
  const ProcessCpu cpu = ReadProcessCpu("/", false);
  kill(child, SIGKILL);
  ASSERT_EQ(waitpid(child, nullptr, 0), child);
  EXPECT_FALSE(HasChildren());
  close(pipe_ends[0]);
  close(pipe_ends[1]);
  ASSERT_TRUE(cpu.own_seconds.has_value());
  if (!cpu.tree_seconds) GTEST_SKIP() << "this kernel does not name children";
  EXPECT_GE(*cpu.tree_seconds, *cpu.own_seconds + 0.03);
}

}  // namespace
}  // namespace stoker

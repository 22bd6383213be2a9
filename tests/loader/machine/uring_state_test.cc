#include "loader/machine/uring_state.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/loader/machine/kernel_tree.h"

namespace stoker {
namespace {

using testing::HasSubstr;

TEST(UringState, IsTriedAndTheSettingsAreRead) {
  const KernelTree tree;
  EXPECT_EQ(ReadUringState(tree.root()).sysctl, std::nullopt);
  tree.Write("proc/sys/kernel/io_uring_disabled", "1\n");
  tree.Write("proc/self/status", "NoNewPrivs:\t0\nSeccomp:\t2\nSeccomp_filters:\t1\n");
  const UringState state = ReadUringState(tree.root());
  EXPECT_EQ(state.sysctl, 1);
  EXPECT_EQ(state.seccomp_mode, 2);
  EXPECT_EQ(state.works, state.reason.empty()) << "a reason where it does not work, and only there";
}

TEST(UringRemedy, FollowsFromWhatForbidsIt) {
  EXPECT_EQ(UringRemedy({.works = true, .sysctl = 2}), "");
  EXPECT_THAT(UringRemedy({.reason = "EPERM: x", .sysctl = 2, .seccomp_mode = 2}), HasSubstr("io_uring_disabled=0"));
  EXPECT_THAT(UringRemedy({.reason = "EPERM: x", .sysctl = 1}), HasSubstr("kernel.io_uring_group"));
  EXPECT_THAT(UringRemedy({.reason = "EPERM: x", .sysctl = 0, .seccomp_mode = 2}), HasSubstr("seccomp"));
  EXPECT_THAT(UringRemedy({.reason = "EPERM: x"}), HasSubstr("seccomp"));
  EXPECT_THAT(UringRemedy({.reason = "ENOSYS: x"}), HasSubstr("a kernel of"));
  EXPECT_THAT(UringRemedy({.reason = "ENOMEM: x"}), HasSubstr("memlock"));
  EXPECT_THAT(UringRemedy({.reason = "the self-test could not read its own program"}), HasSubstr("mount /proc"));
  EXPECT_THAT(UringRemedy({.reason = "the self-test's read did not come back"}), HasSubstr("a pool of threads"));
}

}  // namespace
}  // namespace stoker

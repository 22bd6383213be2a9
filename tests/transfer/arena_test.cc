#include "transfer/arena.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <new>
#include <utility>
#include <vector>

namespace stoker {
namespace {

constexpr size_t kPageBytes = 4096;

bool IsMapped(std::byte* page) {
  unsigned char resident = 0;
  return mincore(page, kPageBytes, &resident) == 0;
}

TEST(Arena, IsZeroedAndPageAligned) {
  const Arena arena(10 * kPageBytes + 7);
  EXPECT_EQ(arena.size(), 10 * kPageBytes + 7);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(arena.data()) % kPageBytes, 0u);
  EXPECT_TRUE(std::all_of(arena.data(), arena.data() + arena.size(), [](std::byte b) { return b == std::byte{0}; }));
}

TEST(Arena, TakesOnlyThePagesThatAreWritten) {
  const Arena arena(64 * kPageBytes);
  unsigned char resident[64] = {};
  ASSERT_EQ(mincore(arena.data(), 64 * kPageBytes, resident), 0);
  EXPECT_EQ(std::count_if(resident, resident + 64, [](unsigned char page) { return (page & 1) != 0; }), 0);
}

TEST(Arena, OfSmallPagesTakesOneForEachPlaceThatIsWritten) {
  const Arena arena(8 * Arena::kHugePageBytes, Arena::Pages::kSmall);
  for (size_t at = 0; at < arena.size(); at += Arena::kHugePageBytes) arena.data()[at] = std::byte{1};
  std::vector<unsigned char> resident(arena.size() / kPageBytes);
  ASSERT_EQ(mincore(arena.data(), arena.size(), resident.data()), 0);
  EXPECT_EQ(std::ranges::count_if(resident, [](unsigned char page) { return (page & 1) != 0; }), 8);
}

TEST(Arena, BeginsOnAHugePageWhereItIsAtLeastOne) {
  for (const size_t bytes : {Arena::kHugePageBytes, Arena::kHugePageBytes + 1, 5 * Arena::kHugePageBytes - 1}) {
    std::byte* memory = nullptr;
    {
      Arena arena(bytes);
      memory = arena.data();
      EXPECT_EQ(reinterpret_cast<uintptr_t>(memory) % Arena::kHugePageBytes, 0u);
      memory[0] = memory[bytes - 1] = std::byte{1};
    }
    EXPECT_FALSE(IsMapped(memory));
    EXPECT_FALSE(IsMapped(memory + (bytes - 1) / kPageBytes * kPageBytes));
  }
}

TEST(Arena, FaultsEveryPageIn) {
  for (const int node : {-1, 0, 100'000}) {
    Arena arena(3 * Arena::kHugePageBytes + 7 * kPageBytes);
    arena.FaultIn(node);
    std::vector<unsigned char> resident(arena.size() / kPageBytes);
    ASSERT_EQ(mincore(arena.data(), arena.size(), resident.data()), 0);
    EXPECT_TRUE(std::ranges::all_of(resident, [](unsigned char page) { return (page & 1) != 0; })) << node;
  }
}

TEST(Arena, MayBeEmpty) {
  const Arena none, empty(0);
  EXPECT_EQ(none.data(), nullptr);
  EXPECT_EQ(empty.data(), nullptr);
  EXPECT_EQ(empty.size(), 0u);
}

TEST(Arena, UnmapsWhenDestroyed) {
  std::byte* memory = nullptr;
  {
    const Arena arena(kPageBytes);
    memory = arena.data();
    EXPECT_TRUE(IsMapped(memory));
  }
  EXPECT_FALSE(IsMapped(memory));
}

TEST(Arena, MovesItsMapping) {
  Arena first(kPageBytes);
  std::byte* const memory = first.data();
  memory[3] = std::byte{42};
  Arena second(std::move(first));
  EXPECT_EQ(first.data(), nullptr);
  EXPECT_EQ(first.size(), 0u);
  EXPECT_EQ(second.data(), memory);
  Arena third(2 * kPageBytes);
  third = std::move(second);
  EXPECT_EQ(third.data(), memory);
  EXPECT_EQ(third.size(), kPageBytes);
  EXPECT_EQ(third.data()[3], std::byte{42});
}

TEST(Arena, LeavesAbandonedMemoryMapped) {
  std::byte* memory = nullptr;
  {
    Arena arena(kPageBytes);
    memory = arena.data();
    arena.Abandon();
    EXPECT_EQ(arena.data(), nullptr);
    EXPECT_EQ(arena.size(), 0u);
  }
  ASSERT_TRUE(IsMapped(memory));
  memory[0] = std::byte{1};  // a stuck read may still do that
  munmap(memory, kPageBytes);
}

// Whether a child of fork() finds the memory mapped.
bool ChildHas(std::byte* memory) {
  const pid_t child = fork();
  if (child == 0) _exit(IsMapped(memory) ? 1 : 0);
  int status = 0;
  waitpid(child, &status, 0);
  return WEXITSTATUS(status) == 1;
}

TEST(Arena, IsKeptFromChildrenOnRequestOnly) {
  Arena arena(kPageBytes);
  EXPECT_TRUE(ChildHas(arena.data()));
  arena.KeepFromChildren();
  EXPECT_FALSE(ChildHas(arena.data()));
}

TEST(Arena, SaysWhereThereIsNoMemory) { EXPECT_THROW(Arena(std::numeric_limits<size_t>::max() / 4), std::bad_alloc); }

}  // namespace
}  // namespace stoker

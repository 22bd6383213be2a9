#include "loader/read_buffers.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <atomic>
#include <cstdint>
#include <thread>
#include <utility>
#include <vector>

namespace stoker {
namespace {

constexpr size_t kBufferBytes = 8192;
using Lease = ReadBuffers::Lease;
using Outcome = ReadBuffers::Outcome;

std::atomic<int64_t> fake_ns{0};
int64_t FakeNow() noexcept { return fake_ns.load(); }

class ReadBuffersTest : public testing::Test {
 protected:
  ReadBuffersTest() { fake_ns = 100; }
  ReadBuffers Make(uint32_t buffers, size_t spare_bytes = 0) {
    return ReadBuffers(buffers, kBufferBytes, spare_bytes, FakeNow, [this] { ++wakes_; });
  }
  std::atomic<int> wakes_{0};
};

TEST_F(ReadBuffersTest, LeasesEachBufferOnceAndThenNone) {
  ReadBuffers buffers = Make(3);
  Lease leases[4];
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(buffers.TryLease(kBufferBytes, leases[i]), Outcome::kLeased);
    EXPECT_EQ(leases[i].memory().size(), kBufferBytes);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(leases[i].memory().data()) % 4096, 0u);
    for (int j = 0; j < i; ++j) EXPECT_NE(leases[i].memory().data(), leases[j].memory().data());
  }
  EXPECT_EQ(buffers.leased(), 3u);
  EXPECT_EQ(buffers.TryLease(1, leases[3]), Outcome::kNoneFree);
  EXPECT_FALSE(leases[3]);
  EXPECT_EQ(buffers.oversized_bytes_peak(), 0u);
}

TEST_F(ReadBuffersTest, LeasesTheOneFreedLastFirst) {
  ReadBuffers buffers = Make(4);
  Lease a, b, c;
  buffers.TryLease(1, a);
  buffers.TryLease(1, b);
  const uint8_t* const memory_a = a.memory().data();
  const uint8_t* const memory_b = b.memory().data();
  b.Release();
  a.Release();
  buffers.TryLease(1, c);
  EXPECT_EQ(c.memory().data(), memory_a);
  buffers.TryLease(1, b);
  EXPECT_EQ(b.memory().data(), memory_b);
}

TEST_F(ReadBuffersTest, SaysWhatFreedABuffer) {
  ReadBuffers buffers = Make(1);
  Lease lease;
  buffers.TryLease(1, lease);
  EXPECT_EQ(lease.freed_by(), -1);
  fake_ns = 555;
  lease.ReleaseBy(42);
  EXPECT_FALSE(lease);
  buffers.TryLease(1, lease);
  EXPECT_EQ(lease.freed_ns(), 555);
  EXPECT_EQ(lease.freed_by(), 42);
}

TEST_F(ReadBuffersTest, MovesALease) {
  ReadBuffers buffers = Make(2);
  Lease first, second;
  buffers.TryLease(1, first);
  const uint8_t* const memory = first.memory().data();
  Lease third(std::move(first));
  EXPECT_FALSE(first);
  EXPECT_EQ(third.memory().data(), memory);
  buffers.TryLease(1, second);
  EXPECT_EQ(buffers.leased(), 2u);
  second = std::move(third);
  EXPECT_EQ(buffers.leased(), 1u);
  EXPECT_EQ(second.memory().data(), memory);
  second.Release();
  second.Release();
  EXPECT_EQ(buffers.leased(), 0u);
}

TEST_F(ReadBuffersTest, TakesALeaseForAnotherBuffer) {
  ReadBuffers buffers = Make(1);
  Lease lease;
  ASSERT_EQ(buffers.TryLease(1, lease), Outcome::kLeased);
  ASSERT_EQ(buffers.TryLease(1, lease), Outcome::kLeased);
  EXPECT_EQ(buffers.leased(), 1u);
}

TEST_F(ReadBuffersTest, AlwaysLetsOneOversizedSampleThrough) {
  ReadBuffers buffers = Make(4, 0);
  Lease large, second, small;
  EXPECT_EQ(buffers.TryLease(10 * kBufferBytes, large), Outcome::kLeased);
  EXPECT_EQ(large.memory().size(), 10 * kBufferBytes);
  EXPECT_EQ(buffers.TryLease(kBufferBytes + 1, second), Outcome::kNoneFree);
  EXPECT_EQ(buffers.TryLease(kBufferBytes, small), Outcome::kLeased);
  large.Release();
  EXPECT_EQ(buffers.TryLease(kBufferBytes + 1, second), Outcome::kLeased);
  EXPECT_EQ(buffers.oversized_bytes_peak(), 10 * kBufferBytes);
}

TEST_F(ReadBuffersTest, KeepsOversizedSamplesWithinTheirSpareBytes) {
  ReadBuffers buffers = Make(8, 50'000);
  Lease leases[4];
  EXPECT_EQ(buffers.TryLease(20'000, leases[0]), Outcome::kLeased);
  EXPECT_EQ(buffers.TryLease(20'000, leases[1]), Outcome::kLeased);
  EXPECT_EQ(buffers.TryLease(20'000, leases[2]), Outcome::kNoneFree);
  EXPECT_EQ(buffers.TryLease(10'000, leases[2]), Outcome::kLeased);
  EXPECT_EQ(buffers.oversized_bytes_peak(), 50'000u);
  for (Lease& lease : leases) lease.Release();
  EXPECT_EQ(buffers.TryLease(50'000, leases[0]), Outcome::kLeased);
  EXPECT_EQ(buffers.oversized_bytes_peak(), 50'000u);
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) && !defined(__clang__)
TEST_F(ReadBuffersTest, SaysThatThereIsNoMemory) {
  ReadBuffers buffers = Make(1);
  Lease lease;
  EXPECT_EQ(buffers.TryLease(size_t{1} << 62, lease), Outcome::kNoMemory);
  EXPECT_FALSE(lease);
  EXPECT_EQ(buffers.TryLease(1, lease), Outcome::kLeased);
}
#endif

TEST_F(ReadBuffersTest, WakesTheFeederForAQuarterOfTheBuffers) {
  ReadBuffers buffers = Make(16);
  std::vector<Lease> leases(16);
  for (Lease& lease : leases) buffers.TryLease(1, lease);
  for (int freed = 1; freed <= 16; ++freed) {
    leases[static_cast<size_t>(freed - 1)].Release();
    EXPECT_EQ(wakes_, freed < 4 ? 0 : 1) << freed << " are free";
  }
}

TEST_F(ReadBuffersTest, WakesTheFeederForAnOversizedOne) {
  ReadBuffers buffers = Make(16);
  Lease large;
  std::vector<Lease> leases(15);
  buffers.TryLease(kBufferBytes + 1, large);
  for (Lease& lease : leases) buffers.TryLease(1, lease);
  large.Release();
  EXPECT_EQ(wakes_, 1);
}

TEST_F(ReadBuffersTest, LeavesAbandonedMemoryToTheKernel) {
  static Lease stuck;  // a read that never comes back, with its buffer
  static Lease large;
  static ReadBuffers* const buffers = new ReadBuffers(2, kBufferBytes, 0, FakeNow, [] {});
  buffers->TryLease(1, stuck);
  buffers->TryLease(3 * kBufferBytes, large);
  static uint8_t* const memory = large.memory().data();
  buffers->Abandon();
  stuck.memory()[0] = 1;
  memory[3 * kBufferBytes - 1] = 1;
  EXPECT_EQ(buffers->leased(), 2u);
}

TEST_F(ReadBuffersTest, MayBeUsedFromSeveralThreads) {
  ReadBuffers buffers = Make(5, 3 * kBufferBytes);
  std::atomic<int> clashes{0};
  std::vector<std::thread> threads;
  for (uint8_t t = 1; t <= 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 2000; ++i) {
        Lease lease;
        if (buffers.TryLease(i % 7 == 0 ? 2 * kBufferBytes : 100, lease) != Outcome::kLeased) continue;
        for (size_t at = 0; at < 64; ++at) lease.memory()[at] = t;
        for (size_t at = 0; at < 64; ++at) clashes += lease.memory()[at] == t ? 0 : 1;
        lease.ReleaseBy(i);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(clashes, 0);
  EXPECT_EQ(buffers.leased(), 0u);
}

}  // namespace
}  // namespace stoker

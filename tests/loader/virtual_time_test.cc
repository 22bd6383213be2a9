#include "tests/loader/virtual_time.h"

#include <gtest/gtest.h>

#include <array>
#include <thread>
#include <vector>

namespace stoker {
namespace {

constexpr int64_t kMs = 1'000'000;

TEST(VirtualTime, JumpsToTheMomentThatIsWaitedFor) {
  VirtualTime time(1);
  EXPECT_EQ(VirtualTime::Now(), 1);
  time.Work(3'600'000 * kMs);
  EXPECT_EQ(VirtualTime::Now(), 1 + 3'600'000 * kMs);
  time.Pause(5);
  EXPECT_EQ(VirtualTime::Now(), 6 + 3'600'000 * kMs);
}

TEST(VirtualTime, CountsWorkAsTimeOnACpu) {
  VirtualTime time(1);
  const int64_t before = VirtualTime::ThreadCpuNow();
  time.Work(7);
  time.Pause(100);
  EXPECT_EQ(VirtualTime::ThreadCpuNow() - before, 7);
}

TEST(VirtualTime, LetsThreadsWorkSideBySide) {
  VirtualTime time(3);
  std::array<int64_t, 2> ends = {};
  std::vector<std::thread> threads;
  for (size_t i = 0; i < ends.size(); ++i) {
    threads.emplace_back([&time, &end = ends[i], ns = static_cast<int64_t>(i + 1) * kMs] {
      time.Work(ns);
      time.Work(ns);
      end = VirtualTime::Now();
      time.PoolThreads(-1);  // it will not be back
    });
  }
  time.Work(10 * kMs);
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(ends[0], 1 + 2 * kMs);
  EXPECT_EQ(ends[1], 1 + 4 * kMs);
  EXPECT_EQ(VirtualTime::Now(), 1 + 10 * kMs);
}

TEST(VirtualTime, StandsStillUntilAllHaveShownUp) {
  VirtualTime time(2);
  std::thread late([&] {
    EXPECT_EQ(VirtualTime::Now(), 1);
    time.Work(4);
    time.PoolThreads(-1);
  });
  time.Work(9);
  late.join();
  EXPECT_EQ(VirtualTime::Now(), 10);
}

TEST(VirtualTime, StandsStillForWorkThatAPoolHasNotBegun) {
  VirtualTime time(1);
  time.PoolThreads(+1);
  std::thread pool([&] {
    EXPECT_EQ(VirtualTime::Now(), 1);
    time.PoolThreads(-1);
  });
  time.Work(9);
  pool.join();
  EXPECT_EQ(VirtualTime::Now(), 10);
}

TEST(VirtualTime, EndsAWaitAtItsTimeout) {
  VirtualTime time(1);
  Mutex mutex;
  CondVar never;
  MutexLock lock(mutex);
  EXPECT_FALSE(never.WaitFor(mutex, std::chrono::milliseconds(100)));
  EXPECT_EQ(VirtualTime::Now(), 1 + 100 * kMs);
  EXPECT_FALSE(never.WaitFor(mutex, std::chrono::milliseconds(-1)));
  EXPECT_EQ(VirtualTime::Now(), 1 + 100 * kMs);
}

TEST(VirtualTime, EndsAWaitWhenItIsNotified) {
  VirtualTime time(2);
  Mutex mutex;
  CondVar changed;
  bool done = false;
  std::thread other([&] {
    time.Work(3);
    {
      MutexLock lock(mutex);
      done = true;
      changed.NotifyOne();
    }
    time.PoolThreads(-1);
  });
  {
    MutexLock lock(mutex);
    while (!done) EXPECT_TRUE(changed.WaitFor(mutex, std::chrono::seconds(1)));
    EXPECT_EQ(VirtualTime::Now(), 4);
  }
  other.join();
}

TEST(VirtualTime, MovesADeviceOn) {
  VirtualTime time(1);
  SimOptions options;
  options.mode = SimMode::kStepped;
  options.latency_ns = 500;
  SimDevice device(options);
  time.Drive(device);
  const DeviceScope scope(device);
  std::byte byte{};
  void* memory = nullptr;
  StreamHandle stream = 0;
  EventHandle event = 0;
  ASSERT_FALSE(device.RegisterHost(&byte, 1));
  ASSERT_FALSE(device.Allocate(1, memory));
  ASSERT_FALSE(device.CreateStream(stream));
  ASSERT_FALSE(device.CreateEvent(event));
  ASSERT_FALSE(device.CopyToDeviceAsync(memory, &byte, 1, stream));
  ASSERT_FALSE(device.RecordEvent(event, stream));
  time.Pause(499);
  EXPECT_EQ(device.QueryEvent(event), DeviceError::kNotReady);
  time.Pause(1);
  EXPECT_FALSE(device.QueryEvent(event));
  EXPECT_FALSE(device.UnregisterHost(&byte));
}

TEST(VirtualTime, SettlesWhenNobodyWorksAnyMore) {
  VirtualTime time(2);
  bool done = false;
  std::thread other([&] {
    for (int i = 0; i < 5; ++i) time.Work(700 * kMs);
    done = true;
    time.PoolThreads(-1);
  });
  time.Settle();
  other.join();
  EXPECT_TRUE(done);
  EXPECT_GE(VirtualTime::Now(), 1 + 3500 * kMs);
}

class VirtualTimeDeathTest : public testing::Test {
 protected:
  VirtualTimeDeathTest() { testing::GTEST_FLAG(death_test_style) = "threadsafe"; }
};

void WaitForever() {
  VirtualTime time(1);
  Mutex mutex;
  CondVar never;
  MutexLock lock(mutex);
  never.Wait(mutex);
}

TEST_F(VirtualTimeDeathTest, SaysThatNothingIsToCome) {
  EXPECT_DEATH(WaitForever(), "no thread can run, and none waits for a moment to come");
}

void LookAroundForever() {
  VirtualTime time(1);
  Mutex mutex;
  CondVar never;
  MutexLock lock(mutex);
  for (;;) never.WaitFor(mutex, std::chrono::milliseconds(100));
}

TEST_F(VirtualTimeDeathTest, SaysThatNothingHappens) {
  EXPECT_DEATH(LookAroundForever(), "nothing happens but waits timing out");
}

}  // namespace
}  // namespace stoker

#include "loader/workers.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "transfer/ring.h"

namespace stoker {
namespace {

SampleJob Job(int64_t number) {
  SampleJob job;
  job.sequence = number;
  return job;
}

// A door that tasks wait at; the test counts them and opens it.
class Gate {
 public:
  void Pass() {
    std::unique_lock<std::mutex> lock(mutex_);
    most_waiting_ = std::max(most_waiting_, ++waiting_);
    changed_.notify_all();
    changed_.wait(lock, [&] { return tickets_ > 0; });
    --tickets_;
    --waiting_;
    changed_.notify_all();
  }
  void AwaitWaiting(int tasks) {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [&] { return waiting_ == tasks; });
  }
  void Open(int tasks) {
    const std::lock_guard<std::mutex> lock(mutex_);
    tickets_ += tasks;
    changed_.notify_all();
  }
  // Lets one task in after the other until `done` says so.
  template <typename Done>
  void OpenUntil(Done done) {
    while (!done()) {
      Open(1);
      std::unique_lock<std::mutex> lock(mutex_);
      changed_.wait(lock, [&] { return tickets_ == 0 || done(); });
    }
  }
  int most_waiting() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return most_waiting_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int waiting_ = 0, most_waiting_ = 0, tickets_ = 0;
};

void AwaitIdle(const Workers& workers) {
  while (workers.outstanding() > 0) std::this_thread::yield();
}

TEST(Workers, RunOnAsManyThreadsAsAskedForAtOnce) {
  // More than the machine has cores: decoding is not all that a worker does, it also waits for memory.
  const int many = static_cast<int>(std::thread::hardware_concurrency()) + 4;
  Gate gate;
  std::mutex mutex;
  std::set<std::thread::id> threads;
  Workers workers(static_cast<uint32_t>(many), 64, [&](uint32_t, SampleJob) {
    {
      const std::lock_guard<std::mutex> lock(mutex);
      threads.insert(std::this_thread::get_id());
    }
    gate.Pass();
  });
  for (int i = 0; i < many; ++i) workers.Push(Job(i));
  gate.AwaitWaiting(many);  // hangs where there are fewer
  EXPECT_EQ(threads.size(), static_cast<size_t>(many));
  EXPECT_EQ(threads.count(std::this_thread::get_id()), 0u);
  gate.Open(many);
  AwaitIdle(workers);
}

TEST(Workers, RunEveryJobOnceAndNeverTwoWithOneNumber) {
  constexpr uint32_t kWorkers = 4;
  constexpr int64_t kJobs = 3000;
  std::atomic<int> in_use[kWorkers] = {};
  std::atomic<int> clashes{0};
  std::atomic<int> runs[kJobs] = {};
  Workers workers(kWorkers, kJobs, [&](uint32_t worker, SampleJob job) {
    ASSERT_LT(worker, kWorkers);
    if (in_use[worker].fetch_add(1) != 0) ++clashes;
    ++runs[job.sequence];
    if (job.sequence % 16 == 0) std::this_thread::yield();
    in_use[worker].fetch_sub(1);
  });
  for (int64_t i = 0; i < kJobs; ++i) {
    workers.Push(Job(i));
    if (i % 500 == 0) workers.SetActive(1 + static_cast<uint32_t>(i / 500) % kWorkers);
  }
  AwaitIdle(workers);
  EXPECT_EQ(clashes, 0);
  for (int64_t i = 0; i < kJobs; ++i) EXPECT_EQ(runs[i], 1) << i;
}

TEST(Workers, RunAtMostAsManyAsAreActive) {
  Gate gate;
  std::atomic<int> done{0};
  Workers workers(4, 64, [&](uint32_t, SampleJob) {
    gate.Pass();
    ++done;
  });
  workers.SetActive(1);
  for (int i = 0; i < 40; ++i) workers.Push(Job(i));
  gate.AwaitWaiting(1);
  gate.OpenUntil([&] { return done >= 5; });
  EXPECT_EQ(gate.most_waiting(), 1);
  workers.SetActive(3);
  gate.AwaitWaiting(3);
  gate.OpenUntil([&] { return done >= 20; });
  EXPECT_EQ(gate.most_waiting(), 3);
  workers.SetActive(4);
  gate.AwaitWaiting(4);
  gate.Open(40);
  AwaitIdle(workers);
  EXPECT_EQ(done, 40);
}

TEST(Workers, RunOnTheCpusThatTheyWereGiven) {
  // Two loaders in turns, on threads that both use.
  std::atomic<int> elsewhere{0};
  Workers anywhere(2, 64, [](uint32_t, SampleJob) {});
  Workers near(2, 64, [&](uint32_t, SampleJob) { elsewhere += sched_getcpu() == 0 ? 0 : 1; }, 0, {}, {0});
  for (int i = 0; i < 64; ++i) {
    anywhere.Push({});
    near.Push({});
  }
  AwaitIdle(near);
  AwaitIdle(anywhere);
  EXPECT_EQ(elsewhere, 0);
}

TEST(Workers, GoDownToFewerWhileTheyRun) {
  Gate gate;
  std::atomic<int> running{0}, most{0};
  std::atomic<bool> counting{false};
  Workers workers(4, 64, [&](uint32_t, SampleJob job) {
    if (job.sequence < 4) return gate.Pass();
    const int now = ++running;
    if (counting && now > most) most = now;
    std::this_thread::yield();
    --running;
  });
  for (int i = 0; i < 4; ++i) workers.Push(Job(i));
  gate.AwaitWaiting(4);
  workers.SetActive(1);
  counting = true;
  for (int i = 4; i < 60; ++i) workers.Push(Job(i));
  gate.Open(4);
  AwaitIdle(workers);
  EXPECT_EQ(most, 1);
}

TEST(Workers, RunInlineWithoutWorkers) {
  std::vector<int64_t> ran;
  Workers workers(0, 0, [&](uint32_t worker, SampleJob job) {
    EXPECT_EQ(worker, 0u);
    EXPECT_EQ(job.sequence, static_cast<int64_t>(ran.size()));
    ran.push_back(job.sequence);
  });
  const auto caller = std::this_thread::get_id();
  for (int i = 0; i < 3; ++i) {
    workers.Push(Job(i));
    EXPECT_EQ(ran.size(), static_cast<size_t>(i) + 1);
    EXPECT_EQ(caller, std::this_thread::get_id());
  }
  EXPECT_EQ(workers.outstanding(), 0u);
  workers.Drain();
}

TEST(Workers, DropWhatWaitsAndFinishWhatRuns) {
  Gate gate;
  std::atomic<int> finished{0};
  Ring ring(SlotLayout(8, {{"pixels", 1, 0}}), 1, SteadyNow, [] {});
  BatchSlot* const slot = ring.TryLease(8);
  Workers workers(2, 8, [&](uint32_t, SampleJob) {
    gate.Pass();
    ++finished;
  });
  for (uint32_t i = 0; i < 8; ++i) {
    SampleJob job = Job(i);
    job.out = SampleSlot(*slot, i);
    workers.Push(std::move(job));
  }
  gate.AwaitWaiting(2);
  EXPECT_EQ(workers.outstanding(), 8u);
  std::thread drainer([&] { workers.Drain(); });
  while (workers.outstanding() > 2) std::this_thread::yield();
  EXPECT_EQ(finished, 0);
  EXPECT_EQ(slot->missing, 2u);  // the dropped jobs gave their places back
  gate.Open(2);
  drainer.join();
  EXPECT_EQ(finished, 2);
  EXPECT_EQ(ring.TryTakeFull(), slot);
}

TEST(Workers, WaitForTheirJobsWhenDestroyed) {
  std::atomic<int> started{0}, finished{0};
  for (int round = 0; round < 100; ++round) {
    Workers workers(3, 16, [&](uint32_t, SampleJob) {
      ++started;
      std::this_thread::yield();
      ++finished;
    });
    for (int i = 0; i < round % 16; ++i) workers.Push(Job(i));
  }
  EXPECT_EQ(started, finished);
}

TEST(Workers, OfALoaderThatNeverRunsDryLetOthersRun) {
  std::atomic<bool> other_ran{false};
  Workers* endless = nullptr;
  std::mutex mutex;  // of the two threads that push
  Workers first(1, 8, [&](uint32_t, SampleJob) {
    const std::lock_guard<std::mutex> lock(mutex);
    if (!other_ran) endless->Push(Job(0));
  });
  endless = &first;
  Workers second(1, 8, [&](uint32_t, SampleJob) { other_ran = true; });
  {
    const std::lock_guard<std::mutex> lock(mutex);
    first.Push(Job(0));
    first.Push(Job(1));
    second.Push(Job(2));
  }
  AwaitIdle(second);  // hangs where they do not
  AwaitIdle(first);
}

TEST(Workers, OfALaterLoaderAreAsManyAsItAskedFor) {
  const int many = static_cast<int>(std::thread::hardware_concurrency()) + 4;
  Workers small(1, 8, [](uint32_t, SampleJob) {});
  small.Push(Job(0));
  AwaitIdle(small);
  Gate gate;
  Workers large(static_cast<uint32_t>(many), 64, [&](uint32_t, SampleJob) { gate.Pass(); });
  for (int i = 0; i < many; ++i) large.Push(Job(i));
  gate.AwaitWaiting(many);  // hangs where there are fewer
  gate.Open(many);
  AwaitIdle(large);
}

// oneTBB may have a thread too many for a moment, while one leaves an arena and another one joins the other: hence the
// median of what the tasks saw. Were the threads not shared, it would be twice the workers.
TEST(Workers, OfTwoLoadersBorrowTheSameThreads) {
  constexpr uint32_t kWorkers = 3;
  std::mutex mutex;
  uint32_t running = 0;
  std::vector<uint32_t> seen;
  const auto task = [&](uint32_t, SampleJob) {
    {
      const std::lock_guard<std::mutex> lock(mutex);
      seen.push_back(++running);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    const std::lock_guard<std::mutex> lock(mutex);
    --running;
  };
  Workers first(kWorkers, 512, task), second(kWorkers, 512, task);
  for (int i = 0; i < 200; ++i) {
    first.Push(Job(i));
    second.Push(Job(i));
  }
  AwaitIdle(first);
  AwaitIdle(second);
  ASSERT_EQ(seen.size(), 400u);
  std::nth_element(seen.begin(), seen.begin() + 200, seen.end());
  EXPECT_GE(seen[200], 1u);
  EXPECT_LE(seen[200], kWorkers);
}

}  // namespace
}  // namespace stoker

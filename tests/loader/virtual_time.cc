#include "tests/loader/virtual_time.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <utility>

namespace stoker {
namespace {

// The loader's waits time out within a tenth of a second, to look around: so long of nothing else is a hang.
constexpr int64_t kStuckNs = 100'000'000'000;
constexpr std::chrono::minutes kRealPatience{1};
// Longer than any timeout of the loader's.
constexpr int64_t kSettleNs = 1'000'000'000;

// Written by the thread that moves it on, while no other can run; a flag of nothing else.
std::atomic<int64_t> now_ns{1};
thread_local int64_t worked_ns = 0;

// The same one of the process's CPUs every time: its threads outlive one VirtualTime.
cpu_set_t OneOf(const cpu_set_t& cpus) {
  int left = getpid() % CPU_COUNT(&cpus);
  int cpu = 0;
  while (!CPU_ISSET(cpu, &cpus) || left-- > 0) ++cpu;
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(cpu, &one);
  return one;
}

}  // namespace

VirtualTime::VirtualTime(int threads) : can_run_(threads) {
  now_ns = 1;
  CPU_ZERO(&cpus_before_);
  if (sched_getaffinity(0, sizeof cpus_before_, &cpus_before_) == 0 && CPU_COUNT(&cpus_before_) > 0) {
    const cpu_set_t one = OneOf(cpus_before_);
    (void)sched_setaffinity(0, sizeof one, &one);
  }
  Install(this);
}

VirtualTime::~VirtualTime() {
  Install(nullptr);
  (void)sched_setaffinity(0, sizeof cpus_before_, &cpus_before_);
}

int64_t VirtualTime::Now() noexcept { return now_ns.load(std::memory_order_relaxed); }
int64_t VirtualTime::ThreadCpuNow() noexcept { return worked_ns; }

void VirtualTime::Drive(SimDevice& device) {
  const std::lock_guard<std::mutex> lock(mutex_);
  device_ = &device;
}

int64_t VirtualTime::After(std::chrono::nanoseconds timeout) noexcept {
  return timeout.count() >= kForever - Now() ? kForever : Now() + std::max<int64_t>(timeout.count(), 0);
}

void VirtualTime::Work(int64_t ns) noexcept {
  Pause(ns);
  worked_ns += ns;
}

void VirtualTime::Pause(int64_t ns) noexcept {
  if (ns <= 0) return;
  Waiter self;
  self.until_ns = After(std::chrono::nanoseconds(ns));
  std::unique_lock<std::mutex> lock(mutex_);
  Block(self, lock);
}

bool VirtualTime::Busy() const noexcept {
  return std::ranges::any_of(waiting_, [](const Waiter* waiter) { return waiter->condition == nullptr; });
}

void VirtualTime::Settle() noexcept {
  for (bool busy = true; busy;) {
    Pause(kSettleNs);
    const bool device_works = device_ != nullptr && device_->NextEndNs() >= 0;
    const std::lock_guard<std::mutex> lock(mutex_);
    busy = Busy() || device_works;
  }
}

bool VirtualTime::Wait(const CondVar& condition, std::mutex& mutex, std::chrono::nanoseconds timeout) noexcept {
  Waiter self;
  self.condition = &condition;
  self.until_ns = After(timeout);
  std::unique_lock<std::mutex> lock(mutex_);
  mutex.unlock();  // whoever notifies from here on finds this thread waiting
  Block(self, lock);
  lock.unlock();
  mutex.lock();
  return !self.timed_out;
}

void VirtualTime::Notify(const CondVar& condition) noexcept {
  const std::lock_guard<std::mutex> lock(mutex_);
  for (size_t i = waiting_.size(); i-- > 0;) {
    if (waiting_[i]->condition != &condition) continue;
    progress_ns_ = Now();
    Wake(i);
  }
}

void VirtualTime::PoolThreads(int change) noexcept {
  std::unique_lock<std::mutex> lock(mutex_);
  for (; change > 0; --change) ++can_run_;
  for (; change < 0; ++change) Leave(lock);
}

void VirtualTime::Wake(size_t waiter) noexcept {
  ++can_run_;
  waiting_[waiter]->waits = false;
  waiting_[waiter]->wake.notify_one();
  waiting_[waiter] = waiting_.back();
  waiting_.pop_back();
}

void VirtualTime::Block(Waiter& self, std::unique_lock<std::mutex>& lock) noexcept {
  waiting_.push_back(&self);
  Leave(lock);
  for (uint64_t seen = moves_; self.waits; seen = moves_) {
    const bool woken = self.wake.wait_for(lock, kRealPatience) == std::cv_status::no_timeout;
    if (!woken && self.waits && seen == moves_) GiveUp("a thread that can run does not come back");
  }
}

void VirtualTime::Leave(std::unique_lock<std::mutex>& lock) noexcept {
  if (can_run_ > 1) {
    --can_run_;
    return;
  }
  // This thread moves the clock, and so counts as running.
  while (can_run_ == 1) {
    int64_t next_ns = kForever;
    for (const Waiter* waiter : waiting_) next_ns = std::min(next_ns, waiter->until_ns);
    if (next_ns == kForever) GiveUp("no thread can run, and none waits for a moment to come");
    if (next_ns - progress_ns_ > kStuckNs && !Busy()) GiveUp("nothing happens but waits timing out");
    if (device_ != nullptr) {
      // A device notifies under its own lock.
      lock.unlock();
      device_->AdvanceTo(next_ns);
      lock.lock();
    }
    ++moves_;
    now_ns.store(next_ns, std::memory_order_relaxed);
    for (size_t i = waiting_.size(); i-- > 0;) {
      Waiter& waiter = *waiting_[i];
      if (waiter.until_ns > next_ns) continue;
      waiter.timed_out = waiter.condition != nullptr;
      if (!waiter.timed_out) progress_ns_ = next_ns;
      Wake(i);
    }
  }
  --can_run_;
}

void VirtualTime::GiveUp(const char* why) const noexcept {
  const auto busy = std::ranges::count_if(waiting_, [](const Waiter* waiter) { return waiter->condition == nullptr; });
  std::fprintf(stderr, "virtual time stands still at %lld ns: %s (%zu threads wait, %td of them at work; %d can run)\n",
               static_cast<long long>(Now()), why, waiting_.size(), busy, can_run_);
  std::abort();
}

}  // namespace stoker

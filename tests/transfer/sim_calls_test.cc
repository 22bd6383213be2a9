// The faults that the simulated device makes on request, and its count of calls.
#include "transfer/sim_calls.h"

#include <atomic>
#include <thread>

#include "tests/transfer/sim_device_fixture.h"

namespace stoker {
namespace {

constexpr SimOptions kLazy = {.mode = SimMode::kLazy};
constexpr SimMode kModes[] = {SimMode::kModelled, SimMode::kLazy, SimMode::kEager, SimMode::kRandom};

using SimCallsTest = SimDeviceTest;

TEST(SimCalls, EachHasAName) {
  for (int call = 0; call <= static_cast<int>(SimCall::kAny); ++call) {
    EXPECT_FALSE(NameOf(static_cast<SimCall>(call)).empty()) << call;
  }
}

TEST_F(SimCallsTest, CountsCallsAndFailures) {
  Start();
  void* memory = nullptr;
  EXPECT_FALSE(device_->Allocate(64, memory));
  EXPECT_TRUE(device_->Allocate(0, memory));
  Stream();
  EXPECT_EQ(device_->calls(SimCall::kAllocate), 2u);
  EXPECT_EQ(device_->calls(SimCall::kCreateStream), 1u);
  EXPECT_EQ(device_->calls(SimCall::kCreateEvent), 0u);
  EXPECT_EQ(device_->calls(SimCall::kAny), 4u) << "Attach, too";
}

TEST_F(SimCallsTest, FailsTheCallThatItWasToldTo) {
  Start();
  Stream();
  device_->FailCall(SimCall::kCreateStream, 1, DeviceError::kOutOfMemory);
  StreamHandle stream = 0;
  EXPECT_FALSE(device_->CreateStream(stream));
  EXPECT_FALSE(device_->FreeMemory(*std::make_unique<size_t>()));
  EXPECT_EQ(device_->CreateStream(stream), DeviceError::kOutOfMemory);
  EXPECT_FALSE(device_->CreateStream(stream));
}

TEST_F(SimCallsTest, RunsOutOfMemoryAtAnyAllocation) {
  for (uint64_t n = 0; n < 3; ++n) {
    Start();
    device_->FailCall(SimCall::kAllocate, n, DeviceError::kOutOfMemory);
    for (uint64_t i = 0; i < 3; ++i) {
      void* memory = nullptr;
      EXPECT_EQ(device_->Allocate(64, memory) == DeviceError::kOutOfMemory, i == n);
      EXPECT_EQ(memory == nullptr, i == n);
    }
  }
}

TEST_F(SimCallsTest, KeepsReturningAStickyErrorAndDropsWork) {
  for (const DeviceError error : {DeviceError::kLaunchFailed, DeviceError::kShuttingDown}) {
    Start(kLazy);
    Bytes source(64), out = Filled(64, 9);
    Pin(source);
    Pin(out);
    std::byte* const memory = Allocate(64);
    const StreamHandle stream = Stream();
    EXPECT_FALSE(device_->CopyToHostAsync(out.data(), memory, 64, stream));
    device_->FailCall(SimCall::kAny, 0, error);
    EXPECT_EQ(device_->CopyToDeviceAsync(memory, source.data(), 64, stream), error);
    EXPECT_EQ(device_->SynchronizeStream(stream), error);
    EXPECT_EQ(device_->QueryEvent(0), error);
    EXPECT_EQ(device_->Free(memory), error);
    EXPECT_EQ(device_->Attach(), error);
    device_.reset();
    EXPECT_EQ(out, Filled(64, 9));
  }
}

TEST_F(SimCallsTest, TakesBackWhatItRefusesToFree) {
  // With a device that would end the program over a leak.
  Bytes host(64);
  for (const SimCall call :
       {SimCall::kFree, SimCall::kUnregisterHost, SimCall::kDestroyStream, SimCall::kDestroyEvent}) {
    Start(StrictSim(SimMode::kEager));
    Pin(host);
    std::byte* const memory = Allocate(64);
    const StreamHandle stream = Stream();
    const EventHandle event = Event();
    device_->FailCall(call, 0, DeviceError::kLaunchFailed);
    (void)device_->Free(memory);
    (void)device_->UnregisterHost(host.data());
    (void)device_->DestroyStream(stream);
    EXPECT_EQ(device_->DestroyEvent(event), DeviceError::kLaunchFailed);
    EXPECT_TRUE(device_->violations().empty());
    device_.reset();
  }
}

TEST_F(SimCallsTest, MissesNothingAfterAShutdown) {
  Start(StrictSim(SimMode::kEager));
  Allocate(64);
  device_->FailCall(SimCall::kAny, 0, DeviceError::kShuttingDown);
  EXPECT_EQ(device_->FreeMemory(*std::make_unique<size_t>()), DeviceError::kShuttingDown);
}

TEST_F(SimCallsTest, NeverEndsACopyThatHangsAndIsDestroyedAllTheSame) {
  for (const SimMode mode : kModes) {
    Bytes source = Filled(64, 1), out = Filled(64, 9);
    Start({.hang_copy_at = 1, .mode = mode});
    Pin(source);
    Pin(out);
    std::byte* const memory = Allocate(64);
    const StreamHandle stream = Stream();
    const EventHandle before = Event(), after = Event();
    EXPECT_FALSE(device_->CopyToDeviceAsync(memory, source.data(), 64, stream));
    EXPECT_FALSE(device_->RecordEvent(before, stream));
    EXPECT_FALSE(device_->CopyToHostAsync(out.data(), memory, 64, stream));
    EXPECT_FALSE(device_->RecordEvent(after, stream));
    EXPECT_FALSE(device_->SynchronizeEvent(before));
    for (int i = 0; i < 100; ++i) EXPECT_EQ(device_->QueryEvent(after), DeviceError::kNotReady);
    device_.reset();
    EXPECT_EQ(out, Filled(64, 9));
  }
}

TEST_F(SimCallsTest, LetsAHangEnd) {
  for (const SimMode mode : kModes) {
    Bytes source = Filled(64, 1), out = Filled(64, 9);
    Start({.hang_copy_at = 0, .mode = mode});
    Pin(source);
    Pin(out);
    std::byte* const memory = Allocate(64);
    const StreamHandle stream = Stream();
    EXPECT_FALSE(device_->CopyToDeviceAsync(memory, source.data(), 64, stream));
    EXPECT_FALSE(device_->CopyToHostAsync(out.data(), memory, 64, stream));
    std::atomic<bool> done{false};
    std::thread waiter([&] {
      EXPECT_FALSE(device_->Attach());
      EXPECT_FALSE(device_->SynchronizeStream(stream));
      done = true;
    });
    while (device_->calls(SimCall::kSynchronizeStream) == 0) std::this_thread::yield();
    EXPECT_FALSE(done);
    device_->EndHang();
    waiter.join();
    EXPECT_EQ(out, Filled(64, 1));
  }
}

}  // namespace
}  // namespace stoker

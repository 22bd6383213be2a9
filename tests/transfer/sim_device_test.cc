#include "transfer/sim_device.h"

#include <algorithm>
#include <string>
#include <thread>
#include <utility>

#include "tests/transfer/device_conformance.h"
#include "tests/transfer/sim_device_fixture.h"

namespace stoker {
namespace {

TEST_F(SimDeviceTest, RunsAStreamInOrder) {
  Start();
  Bytes first = Filled(64, 1), second = Filled(64, 2), out(64);
  for (Bytes* host : {&first, &second, &out}) Pin(*host);
  std::byte* const memory = Allocate(64);
  const StreamHandle stream = Stream();
  EXPECT_FALSE(device_->CopyToDeviceAsync(memory, first.data(), 64, stream));
  EXPECT_FALSE(device_->CopyToDeviceAsync(memory, second.data(), 64, stream));
  EXPECT_FALSE(device_->CopyToHostAsync(out.data(), memory, 64, stream));
  EXPECT_FALSE(device_->SynchronizeStream(stream));
  EXPECT_EQ(out, second);
}

TEST_F(SimDeviceTest, ReadsThePinnedSourceAtTheLastMoment) {
  Bytes source = Filled(kShort, 1), out(kShort);
  Start(kSlow);
  Pin(source);
  Pin(out);
  std::byte* const memory = Allocate(kShort);
  const StreamHandle stream = Stream();
  Occupy(stream);
  EXPECT_FALSE(device_->CopyToDeviceAsync(memory, source.data(), kShort, stream));
  EXPECT_FALSE(device_->CopyToHostAsync(out.data(), memory, kShort, stream));
  std::ranges::fill(source, std::byte{2});  // the bug this is there to show
  device_.reset();
  EXPECT_EQ(out, Filled(kShort, 2));
}

TEST_F(SimDeviceTest, HasReadAPageableSourceWhenTheCallReturns) {
  Start();
  Bytes source = Filled(64, 1), out(64);
  std::byte* const memory = Allocate(64);
  const StreamHandle stream = Stream();
  EXPECT_FALSE(device_->CopyToDeviceAsync(memory, source.data(), 64, stream));
  std::ranges::fill(source, std::byte{2});
  EXPECT_FALSE(device_->CopyToHostAsync(out.data(), memory, 64, stream));
  EXPECT_EQ(out, Filled(64, 1)) << "a pageable copy to the host is done when the call returns, too";
}

TEST_F(SimDeviceTest, CopiesPageableMemoryMoreSlowly) {
  Start({.bytes_per_second = 1e8, .latency_ns = 1000, .pageable_factor = 0.25});
  Bytes host(100'000);
  std::byte* const memory = Allocate(host.size());
  const StreamHandle stream = Stream();
  const EventHandle start = Event(), end = Event();
  int64_t ns = 0;
  EXPECT_FALSE(device_->RecordEvent(start, stream));
  EXPECT_FALSE(device_->CopyToDeviceAsync(memory, host.data(), host.size(), stream));
  EXPECT_FALSE(device_->RecordEvent(end, stream));
  EXPECT_FALSE(device_->SynchronizeEvent(end));
  EXPECT_FALSE(device_->ElapsedNs(start, end, ns));
  EXPECT_GE(ns, 4'001'000);
}

TEST_F(SimDeviceTest, IsNotReadyWhileTheCapturedWorkRuns) {
  Start(kSlow);
  const StreamHandle stream = Stream();
  const EventHandle before = Event(), after = Event();
  EXPECT_FALSE(device_->RecordEvent(before, stream));
  Occupy(stream);
  EXPECT_FALSE(device_->RecordEvent(after, stream));
  EXPECT_FALSE(device_->SynchronizeEvent(before));
  EXPECT_FALSE(device_->QueryEvent(before));
  EXPECT_EQ(device_->QueryEvent(after), DeviceError::kNotReady);
  int64_t ns = 0;
  EXPECT_EQ(device_->ElapsedNs(before, after, ns), DeviceError::kNotReady);
}

TEST_F(SimDeviceTest, TakesANeverRecordedEventForComplete) {
  Start(kSlow);
  const StreamHandle stream = Stream(), busy = Stream();
  const EventHandle event = Event();
  EXPECT_FALSE(device_->QueryEvent(event));
  EXPECT_FALSE(device_->SynchronizeEvent(event));
  EXPECT_FALSE(device_->StreamWaitEvent(stream, event));
  Occupy(busy);
  EXPECT_FALSE(device_->RecordEvent(event, busy));  // after the wait: none of its business
  EXPECT_FALSE(device_->SynchronizeStream(stream));
  EXPECT_EQ(device_->QueryEvent(event), DeviceError::kNotReady);
  int64_t ns = 0;
  EXPECT_EQ(device_->ElapsedNs(Event(), Event(), ns), DeviceError::kInvalidValue);
}

TEST_F(SimDeviceTest, WaitsForTheRecordCapturedAtTheCall) {
  Start(kSlow);
  Bytes source = Filled(kShort, 7), out(kShort);
  Pin(source);
  Pin(out);
  std::byte* const memory = Allocate(kShort);
  const StreamHandle producer = Stream(), consumer = Stream();
  const EventHandle event = Event();
  EXPECT_FALSE(device_->CopyToDeviceAsync(memory, source.data(), kShort, producer));
  EXPECT_FALSE(device_->RecordEvent(event, producer));
  EXPECT_FALSE(device_->StreamWaitEvent(consumer, event));
  Occupy(producer);
  EXPECT_FALSE(device_->RecordEvent(event, producer));
  EXPECT_FALSE(device_->CopyToHostAsync(out.data(), memory, kShort, consumer));
  EXPECT_FALSE(device_->SynchronizeStream(consumer));  // would take hours if it waited for the later record
  EXPECT_EQ(out, Filled(kShort, 7));
  EXPECT_EQ(device_->QueryEvent(event), DeviceError::kNotReady);
}

TEST_F(SimDeviceTest, HoldsAStreamBackUntilTheEvent) {
  Start(kSlow);
  const StreamHandle busy = Stream(), stream = Stream();
  const EventHandle event = Event(), after = Event();
  Occupy(busy);
  EXPECT_FALSE(device_->RecordEvent(event, busy));
  EXPECT_FALSE(device_->StreamWaitEvent(stream, event));
  EXPECT_FALSE(device_->RecordEvent(after, stream));
  const StreamHandle witness = Stream();  // when it is through, the device has looked at the others, too
  EXPECT_FALSE(device_->RecordEvent(Event(), witness));
  EXPECT_FALSE(device_->SynchronizeStream(witness));
  EXPECT_EQ(device_->QueryEvent(after), DeviceError::kNotReady);
}

TEST_F(SimDeviceTest, SharesOneEngineADirectionBetweenStreams) {
  Start(kSlow);
  Bytes source(kShort), out(kShort);
  Pin(source);
  Pin(out);
  std::byte* const memory = Allocate(kShort);
  const StreamHandle busy = Stream(), same_way = Stream(), other_way = Stream();
  const EventHandle event = Event();
  Occupy(busy);
  EXPECT_FALSE(device_->CopyToDeviceAsync(memory, source.data(), kShort, same_way));
  EXPECT_FALSE(device_->RecordEvent(event, same_way));
  EXPECT_FALSE(device_->CopyToHostAsync(out.data(), memory, kShort, other_way));
  EXPECT_FALSE(device_->SynchronizeStream(other_way));
  EXPECT_EQ(device_->QueryEvent(event), DeviceError::kNotReady);
  device_.reset();  // still reads the source
}

TEST_F(SimDeviceTest, ServesStreamsInOrderOfArrival) {
  Bytes first = Filled(kShort, 1), second = Filled(kShort, 2), out(kShort);
  Start(kSlow);
  for (Bytes* host : {&first, &second, &out}) Pin(*host);
  std::byte* const memory = Allocate(kShort);
  const StreamHandle late = Stream(), early = Stream(), busy = Stream();
  Occupy(busy);
  EXPECT_FALSE(device_->CopyToDeviceAsync(memory, first.data(), kShort, early));
  EXPECT_FALSE(device_->CopyToDeviceAsync(memory, second.data(), kShort, late));
  const EventHandle event = Event();
  for (const StreamHandle stream : {early, late}) {
    EXPECT_FALSE(device_->RecordEvent(event, stream));
    EXPECT_FALSE(device_->StreamWaitEvent(busy, event));
  }
  EXPECT_FALSE(device_->CopyToHostAsync(out.data(), memory, kShort, busy));
  device_.reset();
  EXPECT_EQ(out, second);
}

TEST_F(SimDeviceTest, NeverTakesLessTimeThanTheModelledLink) {
  Start({.bytes_per_second = 1e9, .latency_ns = 5'000});
  Bytes source(1'000'000);
  Pin(source);
  std::byte* const memory = Allocate(source.size());
  const StreamHandle a = Stream(), b = Stream();
  const EventHandle start = Event(), end_a = Event(), end_b = Event();
  EXPECT_FALSE(device_->RecordEvent(start, a));
  EXPECT_FALSE(device_->CopyToDeviceAsync(memory, source.data(), source.size(), a));
  EXPECT_FALSE(device_->RecordEvent(end_a, a));
  EXPECT_FALSE(device_->CopyToDeviceAsync(memory, source.data(), source.size(), b));
  EXPECT_FALSE(device_->RecordEvent(end_b, b));
  EXPECT_FALSE(device_->SynchronizeStream(a));
  EXPECT_FALSE(device_->SynchronizeStream(b));
  int64_t ns = 0;
  EXPECT_FALSE(device_->ElapsedNs(start, end_a, ns));
  EXPECT_GE(ns, 1'005'000);
  EXPECT_FALSE(device_->ElapsedNs(start, end_b, ns));
  EXPECT_GE(ns, 2 * 1'005'000) << "two copies, one engine";
}

TEST_F(SimDeviceTest, TakesMoreWorkThanAStreamHolds) {
  Start();
  const StreamHandle stream = Stream();
  const EventHandle event = Event();
  for (int i = 0; i < 10'000; ++i) ASSERT_FALSE(device_->RecordEvent(event, stream));
  EXPECT_FALSE(device_->SynchronizeStream(stream));
  EXPECT_FALSE(device_->QueryEvent(event));
}

TEST_F(SimDeviceTest, FinishesTheWorkOfADestroyedStream) {
  Start();
  Bytes source = Filled(64, 3), out(64);
  Pin(source);
  Pin(out);
  std::byte* const memory = Allocate(64);
  const StreamHandle stream = Stream();
  const EventHandle event = Event();
  EXPECT_FALSE(device_->CopyToDeviceAsync(memory, source.data(), 64, stream));
  EXPECT_FALSE(device_->CopyToHostAsync(out.data(), memory, 64, stream));
  EXPECT_FALSE(device_->RecordEvent(event, stream));
  EXPECT_FALSE(device_->DestroyStream(stream));
  EXPECT_EQ(device_->SynchronizeStream(stream), DeviceError::kInvalidValue);
  EXPECT_FALSE(device_->SynchronizeEvent(event));
  EXPECT_EQ(out, source);
}

TEST_F(SimDeviceTest, KnowsTheThreadsThatAttached) {
  Start();
  std::byte* const memory = Allocate(64);
  std::thread([&] {
    void* other = nullptr;
    StreamHandle stream = 0;
    EXPECT_EQ(device_->Allocate(64, other), DeviceError::kNotAttached);
    EXPECT_EQ(device_->CreateStream(stream), DeviceError::kNotAttached);
    EXPECT_EQ(device_->Free(memory), DeviceError::kNotAttached);
    EXPECT_FALSE(device_->Attach());
    EXPECT_FALSE(device_->Free(memory));
  }).join();
  const auto second = MakeSimDevice();
  StreamHandle stream = 0;
  EXPECT_EQ(second->CreateStream(stream), DeviceError::kNotAttached) << "attached to another device";
}

TEST_F(SimDeviceTest, ServesManyThreads) {
  Start({.latency_ns = 0});
  std::vector<std::thread> threads;
  for (int id = 0; id < 4; ++id) {
    threads.emplace_back([this, id] {
      ASSERT_FALSE(device_->Attach());
      Bytes source(4096), out(4096);
      Pin(source);
      Pin(out);
      std::byte* const memory = Allocate(4096);
      const StreamHandle up = Stream(), down = Stream();
      const EventHandle uploaded = Event();
      for (int round = 0; round < 100; ++round) {
        std::ranges::fill(source, static_cast<std::byte>(id * 50 + round));
        ASSERT_FALSE(device_->CopyToDeviceAsync(memory, source.data(), 4096, up));
        ASSERT_FALSE(device_->RecordEvent(uploaded, up));
        ASSERT_FALSE(device_->StreamWaitEvent(down, uploaded));
        ASSERT_FALSE(device_->CopyToHostAsync(out.data(), memory, 4096, down));
        ASSERT_FALSE(device_->SynchronizeStream(down));
        ASSERT_EQ(out, source);
      }
      EXPECT_FALSE(device_->UnregisterHost(source.data()));
      EXPECT_FALSE(device_->UnregisterHost(out.data()));
    });
  }
  for (std::thread& thread : threads) thread.join();
}

DeviceUnderTest Strict(std::string name, SimMode mode, uint64_t seed = 0) {
  return {.name = std::move(name),
          .make = [=] { return MakeSimDevice(StrictSim(mode, seed)); },
          // The modelled link may be done before the test looks, the eager device always is.
          .asynchronous = mode == SimMode::kLazy || mode == SimMode::kRandom,
          .long_copy_bytes = size_t{1} << 16};
}

INSTANTIATE_TEST_SUITE_P(Sim, DeviceConformance,
                         testing::Values(Strict("modelled", SimMode::kModelled), Strict("lazy", SimMode::kLazy),
                                         Strict("eager", SimMode::kEager), Strict("random1", SimMode::kRandom, 1),
                                         Strict("random2", SimMode::kRandom, 2),
                                         Strict("random3", SimMode::kRandom, 3)),
                         NameOfDevice);

}  // namespace
}  // namespace stoker

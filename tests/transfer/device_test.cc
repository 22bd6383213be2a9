#include "transfer/device.h"

#include <algorithm>
#include <cstdint>
#include <thread>

#include "tests/transfer/device_conformance.h"
#include "transfer/finish_kernel.h"

namespace stoker {
namespace {

TEST(DeviceError, HasWords) {
  EXPECT_EQ(make_error_code(DeviceError::kOutOfMemory).message(), "out of device memory");
  EXPECT_STREQ(device_category().name(), "device");
  EXPECT_EQ(device_category().message(99), "unknown device error 99");
}

}  // namespace

TEST_P(DeviceConformance, SaysWhatItIs) {
  const DeviceInfo& info = device_->info();
  EXPECT_FALSE(info.name.empty());
  EXPECT_FALSE(info.model.empty());
  EXPECT_GE(info.copy_engines, 1);
  EXPECT_GT(info.memory_bytes, 0u);
}

TEST_P(DeviceConformance, AttachesThreadsOneByOneAndNests) {
  EXPECT_EQ(device_->Attach(), kOk);
  device_->Detach();
  const EventHandle event = Event();  // still attached
  std::thread([&] {
    ASSERT_EQ(device_->Attach(), kOk);
    EXPECT_EQ(device_->QueryEvent(event), kOk);
    device_->Detach();
  }).join();
  EXPECT_EQ(device_->QueryEvent(event), kOk);
}

TEST_P(DeviceConformance, CopiesPartsOfMemory) {
  const StreamHandle stream = Stream();
  std::byte* const host = Pinned(kBytes);
  for (size_t i = 0; i < kBytes; ++i) host[i] = static_cast<std::byte>(i * 7);
  Write(0xEE, stream);
  ASSERT_EQ(device_->CopyToDeviceAsync(memory_ + 13, host + 101, 333, stream), kOk);
  const std::byte* const seen = Read(stream);
  Synchronize(stream);
  Bytes expected = Filled(kBytes, 0xEE);
  std::copy_n(host + 101, 333, expected.begin() + 13);
  EXPECT_EQ(Bytes(seen, seen + kBytes), expected);
}

TEST_P(DeviceConformance, RunsAStreamInOrder) {
  const StreamHandle stream = Stream();
  Occupy(stream);
  Write(1, stream);
  const std::byte* const first = Read(stream);
  Write(2, stream);
  const std::byte* const second = Read(stream);
  Synchronize(stream);
  ExpectAll(first, 1);
  ExpectAll(second, 2);
}

TEST_P(DeviceConformance, SaysThatAnEventIsCompleteOnlyWhenTheLastByteArrived) {
  const StreamHandle stream = Stream();
  const EventHandle event = Event();
  Write(5, stream);
  Occupy(stream);
  const std::byte* const seen = Read(stream);
  Record(event, stream);
  // The queue may be empty before the last copy ends.
  std::error_code error = DeviceError::kNotReady;
  while (error == DeviceError::kNotReady) error = device_->QueryEvent(event);
  ASSERT_EQ(error, kOk);
  ExpectAll(seen, 5);
}

TEST_P(DeviceConformance, IsNotReadyWhileCapturedWorkRuns) {
  const StreamHandle stream = Stream();
  const EventHandle before = Event(), after = Event();
  Record(before, stream);
  Occupy(stream);
  Record(after, stream);
  EXPECT_EQ(device_->SynchronizeEvent(before), kOk);
  EXPECT_EQ(device_->QueryEvent(before), kOk);
  ExpectRunning(after);
  int64_t ns = 0;
  if (GetParam().asynchronous) {
    EXPECT_EQ(device_->ElapsedNs(before, after, ns), DeviceError::kNotReady);
  }
  EXPECT_EQ(device_->SynchronizeEvent(after), kOk);
  EXPECT_EQ(device_->QueryEvent(after), kOk);
  EXPECT_EQ(device_->ElapsedNs(before, after, ns), kOk);
  EXPECT_GT(ns, 0);
}

TEST_P(DeviceConformance, TakesANeverRecordedEventForComplete) {
  const StreamHandle stream = Stream(), busy = Stream();
  const EventHandle event = Event(), never = Event();
  EXPECT_EQ(device_->QueryEvent(event), kOk);
  EXPECT_EQ(device_->SynchronizeEvent(event), kOk);
  Wait(stream, event);
  Occupy(busy);
  Record(event, busy);  // after the wait: none of its business
  Synchronize(stream);
  ExpectRunning(event);
  EXPECT_EQ(device_->SynchronizeEvent(event), kOk);
  int64_t ns = 0;
  EXPECT_EQ(device_->ElapsedNs(event, never, ns), DeviceError::kInvalidValue);
}

TEST_P(DeviceConformance, HoldsAStreamBackUntilTheEvent) {
  const StreamHandle producer = Stream(), consumer = Stream();
  const EventHandle event = Event();
  Occupy(producer);
  Write(3, producer);
  Order(producer, event, consumer);
  ExpectReads(3, consumer);
}

TEST_P(DeviceConformance, DoesNotMakeAWaitLongerByALaterRecord) {
  const StreamHandle producer = Stream(), consumer = Stream();
  const EventHandle event = Event();
  Write(7, producer);
  Order(producer, event, consumer);
  Occupy(producer);
  Record(event, producer);
  ExpectReads(7, consumer);
  ExpectRunning(event);
}

TEST_P(DeviceConformance, DoesNotMakeAWaitShorterByALaterRecord) {
  const StreamHandle producer = Stream(), consumer = Stream(), idle = Stream();
  const EventHandle event = Event();
  Occupy(producer);
  Write(8, producer);
  Order(producer, event, consumer);
  Record(event, idle);
  EXPECT_EQ(device_->SynchronizeEvent(event), kOk);
  ExpectReads(8, consumer);
}

TEST_P(DeviceConformance, RunsOtherStreamsMeanwhile) {
  if (device_->info().copy_engines < 2) GTEST_SKIP() << "one copy engine: the directions take turns";
  const StreamHandle busy = Stream(), stream = Stream();
  const EventHandle event = Event();
  Write(4, stream);
  Synchronize(stream);
  Occupy(busy);
  Record(event, busy);
  ExpectReads(4, stream);
  ExpectRunning(event);
}

TEST_P(DeviceConformance, HasReadAPageableSourceWhenTheCallReturns) {
  const StreamHandle stream = Stream();
  Bytes source = Filled(kBytes, 1);
  ASSERT_EQ(device_->CopyToDeviceAsync(memory_, source.data(), kBytes, stream), kOk);
  std::ranges::fill(source, std::byte{2});
  ExpectReads(1, stream);
}

TEST_P(DeviceConformance, HasWrittenAPageableTargetWhenTheCallReturns) {
  const StreamHandle stream = Stream();
  Bytes target(kBytes);
  Write(6, stream);
  ASSERT_EQ(device_->CopyToHostAsync(target.data(), memory_, kBytes, stream), kOk);
  EXPECT_EQ(target, Filled(kBytes, 6));
}

TEST_P(DeviceConformance, LetsTheCallerWorkOnTheLegacyStream) {
  const StreamHandle stream = Stream();
  const EventHandle uploaded = Event(), released = Event();
  EXPECT_GT(stream, kLegacyStream);
  Occupy(stream);
  Write(1, stream);
  Order(stream, uploaded, kLegacyStream);
  const std::byte* const seen = Read(kLegacyStream);
  Order(kLegacyStream, released, stream);
  Write(2, stream);
  Synchronize(kLegacyStream);
  ExpectAll(seen, 1);
}

TEST_P(DeviceConformance, OrdersNoStreamOfItsOwnAgainstTheLegacyStream) {
  const StreamHandle stream = Stream();
  const EventHandle own = Event(), legacy = Event();
  Occupy(stream);
  Record(own, stream);
  Record(legacy, kLegacyStream);
  EXPECT_EQ(device_->SynchronizeEvent(legacy), kOk);
  Synchronize(kLegacyStream);
  ExpectRunning(own);
}

TEST_P(DeviceConformance, FinishesTheWorkOfADestroyedStream) {
  const StreamHandle stream = Stream();
  const EventHandle event = Event();
  Occupy(stream);
  Write(3, stream);
  const std::byte* const seen = Read(stream);
  Record(event, stream);
  streams_.pop_back();
  EXPECT_EQ(device_->DestroyStream(stream), kOk);
  EXPECT_EQ(device_->SynchronizeEvent(event), kOk);
  ExpectAll(seen, 3);
}

TEST_P(DeviceConformance, KeepsAWaitForADestroyedEvent) {
  const StreamHandle producer = Stream(), consumer = Stream();
  EventHandle event = 0;
  ASSERT_EQ(device_->CreateEvent(event), kOk);
  Occupy(producer);
  Write(9, producer);
  Order(producer, event, consumer);
  EXPECT_EQ(device_->DestroyEvent(event), kOk);
  ExpectReads(9, consumer);
}

TEST_P(DeviceConformance, TakesMoreWorkThanAStreamHolds) {
  const StreamHandle stream = Stream();
  const EventHandle event = Event();
  const std::byte* const source = Pinned(kBytes);
  for (int i = 0; i < 5'000; ++i) {
    ASSERT_EQ(device_->CopyToDeviceAsync(memory_, source, kBytes, stream), kOk);
    Record(event, stream);
  }
  Synchronize(stream);
  EXPECT_EQ(device_->QueryEvent(event), kOk);
}

TEST_P(DeviceConformance, CountsItsMemory) {
  constexpr size_t kMany = size_t{64} << 20;
  size_t before = 0, after = 0;
  ASSERT_EQ(device_->FreeMemory(before), kOk);
  void* memory = nullptr;
  ASSERT_EQ(device_->Allocate(kMany, memory), kOk);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(memory) % 256, 0u);
  ASSERT_EQ(device_->FreeMemory(after), kOk);
  EXPECT_LT(after, before);
  EXPECT_LE(before, device_->info().memory_bytes);
  EXPECT_EQ(device_->Free(memory), kOk);
}

TEST_P(DeviceConformance, RunsOutOfMemoryAndGoesOn) {
  void* memory = nullptr;
  EXPECT_EQ(device_->Allocate(device_->info().memory_bytes + 1, memory), DeviceError::kOutOfMemory);
  EXPECT_EQ(device_->Allocate(0, memory), DeviceError::kInvalidValue);
  EXPECT_EQ(device_->Free(nullptr), kOk);
  const StreamHandle stream = Stream();
  Write(1, stream);
  ExpectReads(1, stream);
}

TEST_P(DeviceConformance, RegistersHostMemoryOnce) {
  std::byte* const memory = Pinned(2 * kPage);
  EXPECT_EQ(device_->RegisterHost(memory, 2 * kPage), DeviceError::kInvalidValue);
  EXPECT_EQ(device_->RegisterHost(memory + kPage, kPage), DeviceError::kInvalidValue);
  EXPECT_EQ(device_->RegisterHost(nullptr, kPage), DeviceError::kInvalidValue);
  EXPECT_EQ(device_->UnregisterHost(memory), kOk);
  EXPECT_EQ(device_->RegisterHost(memory, 2 * kPage), kOk);
}

TEST_P(DeviceConformance, ServesManyThreads) {
  struct Place {
    std::byte *memory, *source, *target;
    StreamHandle up, down;
    EventHandle uploaded;
  };
  std::vector<Place> places;
  for (int i = 0; i < 4; ++i) {
    places.push_back({Allocate(kBytes), Pinned(kBytes), Pinned(kBytes), Stream(), Stream(), Event()});
  }
  std::vector<std::thread> threads;
  for (const Place& place : places) {
    threads.emplace_back([this, &place] {
      const DeviceScope scope(*device_);
      ASSERT_EQ(scope.error(), kOk);
      for (int round = 0; round < 50; ++round) {
        std::fill_n(place.source, kBytes, static_cast<std::byte>(round));
        ASSERT_EQ(device_->CopyToDeviceAsync(place.memory, place.source, kBytes, place.up), kOk);
        Record(place.uploaded, place.up);
        Wait(place.down, place.uploaded);
        ASSERT_EQ(device_->CopyToHostAsync(place.target, place.memory, kBytes, place.down), kOk);
        Synchronize(place.down);
        ASSERT_TRUE(std::equal(place.source, place.source + kBytes, place.target));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_P(DeviceConformance, FinishesWhatWasCopiedBefore) {
  if (!device_->can_finish()) GTEST_SKIP() << "no kernel for this device in this build";
  FinishLaunch launch = {.count = 4, .height = 5, .width = 16, .channels = 3, .std = {0.5f, 0.25f, 0.2f}};
  constexpr size_t kPixels = 4 * 5 * 16 * 3;
  constexpr size_t kOut = kPixels * sizeof(float);
  const StreamHandle copies = Stream(), kernels = Stream();
  const EventHandle uploaded = Event(), finished = Event();
  std::byte* const pixels = Allocate(kPixels + 4);
  std::byte* const out = Allocate(kOut);
  std::byte* const host = Pinned(kPixels + 4);
  std::byte* const seen = Pinned(kOut);
  for (size_t i = 0; i < kPixels + 4; ++i) host[i] = static_cast<std::byte>(i < kPixels ? i * 11 : i - kPixels);
  Occupy(copies);
  ASSERT_EQ(device_->CopyToDeviceAsync(pixels, host, kPixels + 4, copies), kOk);
  Order(copies, uploaded, kernels);
  launch.pixels = reinterpret_cast<const uint8_t*>(pixels);
  launch.flips = launch.pixels + kPixels;
  launch.out = out;
  ASSERT_EQ(device_->FinishAsync(launch, kernels), kOk);
  Order(kernels, finished, copies);
  ASSERT_EQ(device_->CopyToHostAsync(seen, out, kOut, copies), kOk);
  Synchronize(copies);
  Bytes expected(kOut);
  launch.pixels = reinterpret_cast<const uint8_t*>(host);
  launch.flips = launch.pixels + kPixels;
  launch.out = expected.data();
  FinishOnHost(launch);
  EXPECT_EQ(Bytes(seen, seen + kOut), expected);
}

}  // namespace stoker

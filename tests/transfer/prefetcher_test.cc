#include "transfer/prefetcher.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <functional>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include "tests/transfer/forwarding_device.h"
#include "transfer/sim_device.h"

namespace stoker {
namespace {

constexpr uint32_t kBatch = 4;
constexpr size_t kPixelBytes = 1024;
constexpr size_t kDeviceBytes = size_t{1} << 20;
constexpr std::chrono::hours kForever{1};
constexpr SimOptions kFast = {.bytes_per_second = 1e12, .latency_ns = 0, .memory_bytes = kDeviceBytes};
// A batch of 4 KiB takes about four milliseconds.
constexpr SimOptions kSlow = {.bytes_per_second = 1e6, .latency_ns = 0, .memory_bytes = kDeviceBytes};

using Bytes = std::vector<std::byte>;

SlotLayout Layout() {
  return SlotLayout(kBatch, {{"pixels", kPixelBytes, 0}, {"label", sizeof(int64_t), 0}, {"valid", 1, 0}});
}

Bytes PixelsOf(int64_t batch) { return Bytes(kBatch * kPixelBytes, static_cast<std::byte>(batch + 1)); }
// Read back on a stream of its own, so only what is there for everybody is seen.
Bytes PixelsIn(Device& device, const DeviceSlot& slot) {
  const DeviceScope scope(device);
  Bytes pixels(kBatch * kPixelBytes);
  StreamHandle stream = 0;
  EXPECT_FALSE(device.CreateStream(stream));
  EXPECT_FALSE(device.CopyToHostAsync(pixels.data(), slot.tensor, pixels.size(), stream));
  EXPECT_FALSE(device.SynchronizeStream(stream));
  EXPECT_FALSE(device.DestroyStream(stream));
  return pixels;
}

void ExpectHoldsNothing(Device& device, Ring& ring) {
  ASSERT_FALSE(device.Attach());  // no work was disturbed
  void* memory = nullptr;
  EXPECT_FALSE(device.Allocate(kDeviceBytes, memory));
  EXPECT_FALSE(device.RegisterHost(ring.arena().data(), ring.arena().size()));
}

class PrefetcherTest : public testing::Test {
 protected:
  void Start(const SimOptions& options, uint32_t device_slots) { Start(MakeSimDevice(options), device_slots); }
  void Start(std::unique_ptr<Device> device, uint32_t device_slots) {
    device_ = std::move(device);
    ASSERT_FALSE(device_->Attach());
    prefetcher_ =
        std::make_unique<Prefetcher>(*device_, ring_, Prefetcher::Options{.device_slots = device_slots}, SteadyNow);
    prefetcher_->Start();
  }
  // Fills the next host slot with its batch's bytes; false where none is free.
  bool Produce() {
    BatchSlot* const slot = ring_.TryLease(kBatch);
    if (slot == nullptr) return false;
    for (uint32_t i = 0; i < kBatch; ++i) {
      const SampleSlot sample(*slot, i);
      std::ranges::fill(sample.bytes(0), static_cast<std::byte>(slot->batch + 1));
      sample.Set(1, slot->batch * 100 + i);
      sample.Set(2, static_cast<uint8_t>(i));
    }
    return true;
  }
  DeviceSlot* Take(StreamHandle stream = kHostStream) {
    std::error_code error;
    DeviceSlot* const slot = prefetcher_->Take(stream, kForever, error);
    EXPECT_FALSE(error) << error.message();
    return slot;
  }
  StreamHandle Stream() {
    StreamHandle stream = 0;
    EXPECT_FALSE(device_->CreateStream(stream));
    return stream;
  }
  // Host memory that asynchronous copies may write.
  Bytes& Pinned(size_t bytes) {
    pinned_.push_back(std::make_unique<Bytes>(bytes));
    EXPECT_FALSE(device_->RegisterHost(pinned_.back()->data(), bytes));
    return *pinned_.back();
  }
  // Keeps the stream busy with a copy to the host that takes far longer than a batch's.
  void Occupy(StreamHandle stream) {
    constexpr size_t kLong = 32 * kBatch * kPixelBytes;
    void* memory = nullptr;
    ASSERT_FALSE(device_->Allocate(kLong, memory));
    ASSERT_FALSE(device_->CopyToHostAsync(Pinned(kLong).data(), memory, kLong, stream));
  }

  std::function<void()> on_free_ = [] {};
  std::vector<std::unique_ptr<Bytes>> pinned_;  // outlives the device, which may still write it
  Ring ring_{Layout(), 3, SteadyNow, [this] { on_free_(); }};
  std::unique_ptr<Device> device_;
  std::unique_ptr<Prefetcher> prefetcher_;
};

TEST_F(PrefetcherTest, BringsBatchesToTheHostInOrder) {
  Start(kFast, 2);
  EXPECT_TRUE(prefetcher_->pinned());
  for (int64_t batch = 0; batch < 50; ++batch) {
    while (Produce()) {
    }
    DeviceSlot* const slot = Take();
    EXPECT_EQ(slot->batch, batch);
    EXPECT_EQ(slot->count, kBatch);
    EXPECT_EQ(PixelsIn(*device_, *slot), PixelsOf(batch));
    EXPECT_EQ(prefetcher_->held_by_caller(), 1u);
    prefetcher_->Return(*slot, kHostStream);
    EXPECT_EQ(prefetcher_->held_by_caller(), 0u);
  }
}

TEST_F(PrefetcherTest, BringsBatchesToAConsumersStreamInOrder) {
  Start(kSlow, 2);
  const StreamHandle stream = Stream();
  std::vector<Bytes*> seen;  // one picture of each batch: reading it takes less time than the upload
  for (int64_t batch = 0; batch < 12; ++batch) {
    while (Produce()) {
    }
    DeviceSlot* const slot = Take(stream);
    seen.push_back(&Pinned(kPixelBytes));
    ASSERT_FALSE(device_->CopyToHostAsync(seen.back()->data(), slot->tensor, kPixelBytes, stream));
    prefetcher_->Return(*slot, stream);
  }
  ASSERT_FALSE(device_->SynchronizeStream(stream));
  for (size_t i = 0; i < seen.size(); ++i) EXPECT_EQ(*seen[i], Bytes(kPixelBytes, static_cast<std::byte>(i + 1)));
}

TEST_F(PrefetcherTest, KeepsTheSmallFieldsOnTheHost) {
  Start(kFast, 2);
  Produce();
  const DeviceSlot* const slot = Take();
  const auto& fields = ring_.layout().fields();
  int64_t labels[kBatch];
  std::memcpy(labels, slot->small_fields.data(), sizeof labels);
  const std::byte* const valid = slot->small_fields.data() + (fields[2].offset - fields[1].offset);
  for (uint32_t i = 0; i < kBatch; ++i) {
    EXPECT_EQ(labels[i], i);
    EXPECT_EQ(valid[i], static_cast<std::byte>(i));
  }
}

TEST_F(PrefetcherTest, GivesAHostSlotBackOnlyWhenItsCopyIsComplete) {
  std::atomic<DeviceSlot*> taken{nullptr};
  std::atomic<int> complete{-1};
  on_free_ = [&] {
    while (taken == nullptr) std::this_thread::yield();
    complete = PixelsIn(*device_, *taken) == PixelsOf(0) ? 1 : 0;
  };
  Start(kSlow, 1);
  const StreamHandle stream = Stream();
  Produce();
  taken = Take(stream);  // the copy was issued, and runs for some milliseconds
  while (complete < 0) std::this_thread::yield();
  EXPECT_EQ(complete, 1);
  prefetcher_->Stop();
}

TEST_F(PrefetcherTest, OverwritesNoDeviceSlotThatAConsumersStreamStillReads) {
  Start(kSlow, 1);
  const StreamHandle stream = Stream();
  Bytes& seen = Pinned(kBatch * kPixelBytes);
  Produce();
  Produce();
  DeviceSlot* slot = Take(stream);
  Occupy(stream);
  ASSERT_FALSE(device_->CopyToHostAsync(seen.data(), slot->tensor, seen.size(), stream));
  prefetcher_->Return(*slot, stream);
  slot = Take();  // the next batch, in the same device slot
  EXPECT_EQ(PixelsIn(*device_, *slot), PixelsOf(1));
  ASSERT_FALSE(device_->SynchronizeStream(stream));
  EXPECT_EQ(seen, PixelsOf(0));
}

TEST_F(PrefetcherTest, OverwritesNoDeviceSlotThatAStreamMadeToWaitStillReads) {
  Start(kSlow, 1);
  Produce();
  Produce();
  DeviceSlot* slot = Take();
  std::vector<Bytes*> seen;
  for (const StreamHandle stream : {Stream(), Stream()}) {
    ASSERT_FALSE(prefetcher_->WaitOn(*slot, stream));
    Occupy(stream);
    seen.push_back(&Pinned(kBatch * kPixelBytes));
    ASSERT_FALSE(device_->CopyToHostAsync(seen.back()->data(), slot->tensor, seen.back()->size(), stream));
  }
  prefetcher_->Return(*slot, kHostStream);  // as if by somebody who knows of no stream
  slot = Take();                            // the next batch, in the same device slot
  for (const Bytes* bytes : seen) EXPECT_EQ(*bytes, PixelsOf(0));
  EXPECT_EQ(PixelsIn(*device_, *slot), PixelsOf(1));
}

TEST_F(PrefetcherTest, EndsOnlyWhenAConsumersStreamHasReadWhatCameBack) {
  Start(kSlow, 1);
  const StreamHandle stream = Stream();
  Bytes& seen = Pinned(kBatch * kPixelBytes);
  Produce();
  DeviceSlot* const slot = Take(stream);
  Occupy(stream);
  ASSERT_FALSE(device_->CopyToHostAsync(seen.data(), slot->tensor, seen.size(), stream));
  prefetcher_->Return(*slot, stream);
  prefetcher_.reset();
  EXPECT_FALSE(device_->SynchronizeStream(stream));
  EXPECT_EQ(seen, PixelsOf(0));
}

TEST_F(PrefetcherTest, StampsTheCopyAndWhatTheDeviceSlotWaitedFor) {
  Start(kSlow, 1);
  int64_t end_before = 0;
  for (int64_t batch = 0; batch < 6; ++batch) {
    Produce();
    DeviceSlot* const slot = Take();
    const BatchStamps stamps = prefetcher_->StampsOf(*slot);
    EXPECT_GT(stamps.full_ns, 0);
    EXPECT_GE(stamps.copy_start_ns, stamps.full_ns);
    EXPECT_GE(stamps.copy_start_ns, end_before);  // one engine
    EXPECT_GT(stamps.copy_end_ns, stamps.copy_start_ns);
    EXPECT_EQ(stamps.device_slot_batch, batch - 1);
    EXPECT_EQ(stamps.device_slot_ns > 0, batch > 0);
    end_before = stamps.copy_end_ns;
    prefetcher_->Return(*slot, kHostStream);
  }
}

TEST_F(PrefetcherTest, SaysThatTimePassed) {
  Start(kFast, 2);
  std::error_code error;
  EXPECT_EQ(prefetcher_->Take(kHostStream, std::chrono::milliseconds(2), error), nullptr);
  EXPECT_FALSE(error);
  EXPECT_EQ(prefetcher_->held_by_caller(), 0u);
}

TEST_F(PrefetcherTest, ReportsAFailedCopyAndDoesNotHang) {
  SimOptions options = kFast;
  options.fail_copy_at = 2;
  Start(options, 2);
  for (int i = 0; i < 2; ++i) {
    Produce();
    prefetcher_->Return(*Take(), kHostStream);
  }
  while (Produce()) {
  }
  std::error_code error;
  EXPECT_EQ(prefetcher_->Take(kHostStream, kForever, error), nullptr);
  EXPECT_EQ(error, DeviceError::kLaunchFailed);
  EXPECT_EQ(prefetcher_->held_by_caller(), 0u);
}

TEST_F(PrefetcherTest, GivesUpACopyThatNeverEndsAndTheMemoryThatItReads) {
  SimOptions options = kFast;
  options.hang_copy_at = 0;
  device_ = MakeSimDevice(options);
  ASSERT_FALSE(device_->Attach());
  prefetcher_ = std::make_unique<Prefetcher>(
      *device_, ring_, Prefetcher::Options{.copy_deadline = std::chrono::milliseconds(20)}, SteadyNow);
  prefetcher_->Start();
  Produce();
  std::error_code error;
  EXPECT_EQ(prefetcher_->Take(kHostStream, kForever, error), nullptr);
  EXPECT_EQ(error, std::errc::timed_out);
  prefetcher_.reset();
  EXPECT_EQ(ring_.arena().data(), nullptr) << "memory under a copy was unmapped";
}

TEST_F(PrefetcherTest, HandsNothingOutToAStreamThatTheDeviceRefuses) {
  Start(kFast, 1);
  Produce();
  std::error_code error;
  EXPECT_EQ(prefetcher_->Take(StreamHandle{12345}, kForever, error), nullptr);
  EXPECT_EQ(error, DeviceError::kInvalidValue);
  EXPECT_EQ(prefetcher_->held_by_caller(), 0u);
  Produce();
  EXPECT_EQ(Take()->batch, 1);  // the device slot was not lost
}

TEST_F(PrefetcherTest, CopiesFromPageableMemoryWhereNothingCanBePinned) {
  Start(std::make_unique<UnpinnedDevice>(MakeSimDevice(kFast)), 2);
  EXPECT_FALSE(prefetcher_->pinned());
  for (int64_t batch = 0; batch < 10; ++batch) {
    Produce();
    DeviceSlot* const slot = Take();
    EXPECT_EQ(PixelsIn(*device_, *slot), PixelsOf(batch));
    prefetcher_->Return(*slot, kHostStream);
  }
}

TEST_F(PrefetcherTest, MayBeDestroyedAtAnyMoment) {
  for (uint32_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    Ring ring(Layout(), 3, SteadyNow, [] {});
    auto device = MakeSimDevice({.bytes_per_second = 1e8, .latency_ns = 1000, .memory_bytes = kDeviceBytes});
    ASSERT_FALSE(device->Attach());
    StreamHandle stream = 0;
    ASSERT_FALSE(device->CreateStream(stream));
    {
      Prefetcher prefetcher(*device, ring, {.device_slots = static_cast<uint32_t>(1 + random() % 3)}, SteadyNow);
      if (random() % 8 != 0) prefetcher.Start();
      for (uint32_t step = random() % 12; step > 0; --step) {
        if (BatchSlot* const slot = ring.TryLease(1)) SampleSlot(*slot, 0).Release();
        std::error_code error;
        const StreamHandle consumer = random() % 2 == 0 ? stream : kHostStream;
        DeviceSlot* const taken = prefetcher.Take(consumer, std::chrono::microseconds(random() % 100), error);
        if (taken != nullptr && random() % 2 == 0) prefetcher.Return(*taken, consumer);
      }
      if (random() % 2 == 0) ring.Stop();
      if (random() % 2 == 0) prefetcher.Stop();
    }
    ExpectHoldsNothing(*device, ring);
  }
}

}  // namespace
}  // namespace stoker

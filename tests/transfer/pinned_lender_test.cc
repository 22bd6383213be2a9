#include "transfer/pinned_lender.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <system_error>
#include <thread>
#include <vector>

#include "tests/transfer/forwarding_device.h"
#include "transfer/sim_device.h"

namespace stoker {
namespace {

constexpr uint32_t kBatch = 4;
constexpr size_t kPixelBytes = 1024;
constexpr std::chrono::hours kForever{1};
// A copy of a batch takes about four milliseconds.
constexpr SimOptions kSlow = {.bytes_per_second = 1e6, .latency_ns = 0, .memory_bytes = size_t{1} << 20};

using Bytes = std::vector<std::byte>;

class PinnedLenderTest : public testing::Test {
 protected:
  void Start(std::unique_ptr<Device> device) {
    device_ = std::move(device);
    ASSERT_FALSE(device_->Attach());
    ASSERT_FALSE(device_->CreateStream(stream_));
    void* memory = nullptr;
    ASSERT_FALSE(device_->Allocate(kBatch * kPixelBytes, memory));
    target_ = memory;
    lender_ = std::make_unique<PinnedLender>(*device_, ring_, SteadyNow);
    lender_->Start();
  }
  void TearDown() override {
    lender_.reset();
    if (device_ == nullptr) return;
    EXPECT_FALSE(device_->SynchronizeStream(stream_));
    EXPECT_FALSE(device_->Free(target_));
    EXPECT_FALSE(device_->DestroyStream(stream_));
    device_->Detach();
  }
  // A slot in which all bytes are `value`, as the caller gets it.
  BatchSlot* Lend(int value) {
    BatchSlot* const leased = ring_.TryLease(kBatch);
    if (leased == nullptr) return nullptr;
    std::fill_n(leased->data, kBatch * kPixelBytes, static_cast<std::byte>(value));
    for (uint32_t i = 0; i < kBatch; ++i) SampleSlot(*leased, i).Release();
    BatchSlot* const slot = ring_.TakeFull(kForever);
    ring_.Lend(*slot);
    return slot;
  }
  // The caller's own copy, which it does not wait for.
  void SendOff(const BatchSlot& slot) {
    ASSERT_FALSE(device_->CopyToDeviceAsync(target_, slot.data, kBatch * kPixelBytes, stream_));
  }
  Bytes Received() {
    Bytes bytes(kBatch * kPixelBytes);
    EXPECT_FALSE(device_->CopyToHostAsync(bytes.data(), target_, bytes.size(), stream_));
    EXPECT_FALSE(device_->SynchronizeStream(stream_));
    return bytes;
  }

  Ring ring_{SlotLayout(kBatch, {{"pixels", kPixelBytes, 0}}), 2, SteadyNow, [] {}, true};
  std::unique_ptr<Device> device_;
  StreamHandle stream_ = 0;
  void* target_ = nullptr;
  std::unique_ptr<PinnedLender> lender_;
};

TEST_F(PinnedLenderTest, KeepsASlotUntilTheCallersCopyHasReadIt) {
  Start(MakeSimDevice(kSlow));
  EXPECT_TRUE(lender_->pinned());
  BatchSlot* const first = Lend(1);
  BatchSlot* const second = Lend(2);
  SendOff(*first);
  lender_->Return(*first, stream_);  // dropped at once, while the copy runs
  BatchSlot* third = nullptr;
  while ((third = Lend(3)) == nullptr) std::this_thread::yield();
  EXPECT_EQ(third, first);
  EXPECT_EQ(Received(), Bytes(kBatch * kPixelBytes, std::byte{1}));
  lender_->Return(*second, kHostStream);
  lender_->Return(*third, kHostStream);
}

TEST_F(PinnedLenderTest, CountsASlotThatCameBackAsTheCallersNoMoreThoughACopyReadsIt) {
  Start(MakeSimDevice(kSlow));
  BatchSlot* const first = Lend(1);
  BatchSlot* const second = Lend(2);
  SendOff(*first);
  lender_->Return(*first, stream_);
  EXPECT_EQ(ring_.held_by_caller(), 1u);
  lender_->Return(*second, kHostStream);
}

TEST_F(PinnedLenderTest, GivesASlotThatNoStreamReadsBackAtOnce) {
  Start(MakeSimDevice(kSlow));
  BatchSlot* const slot = Lend(1);
  lender_->Return(*slot, kHostStream);
  EXPECT_EQ(ring_.TryLease(kBatch), slot);
}

TEST_F(PinnedLenderTest, GivesPageableSlotsBackAtOnce) {
  Start(std::make_unique<UnpinnedDevice>(MakeSimDevice(kSlow)));
  EXPECT_FALSE(lender_->pinned());
  BatchSlot* const slot = Lend(1);
  SendOff(*slot);  // the driver has read it when this returns
  lender_->Return(*slot, stream_);
  EXPECT_EQ(ring_.TryLease(kBatch), slot);
  EXPECT_EQ(Received(), Bytes(kBatch * kPixelBytes, std::byte{1}));
}

TEST_F(PinnedLenderTest, EndsOnlyWhenTheCallersCopiesHaveReadWhatCameBack) {
  Start(MakeSimDevice(kSlow));
  BatchSlot* const slot = Lend(1);
  SendOff(*slot);
  lender_->Return(*slot, stream_);
  lender_.reset();  // unregisters the memory
  std::fill_n(ring_.arena().data(), ring_.arena().size(), std::byte{9});
  EXPECT_EQ(Received(), Bytes(kBatch * kPixelBytes, std::byte{1}));
}

TEST_F(PinnedLenderTest, FreesTheSlotsOfADeviceThatFailed) {
  SimOptions options = kSlow;
  options.fail_copy_at = 0;
  options.checks = SimChecks::kCollect;
  auto device = std::make_unique<SimDevice>(options);
  Ring ring(
      SlotLayout(kBatch, {{"pixels", kPixelBytes, 0}}), 1, SteadyNow, [] {}, true);
  ASSERT_FALSE(device->Attach());
  StreamHandle stream = 0;
  void* memory = nullptr;
  ASSERT_FALSE(device->CreateStream(stream));
  ASSERT_FALSE(device->Allocate(kBatch * kPixelBytes, memory));
  {
    PinnedLender lender(*device, ring, SteadyNow);
    lender.Start();
    BatchSlot* const slot = ring.TryLease(1);
    SampleSlot(*slot, 0).Release();
    ASSERT_EQ(ring.TakeFull(kForever), slot);
    (void)device->CopyToDeviceAsync(memory, slot->data, kBatch * kPixelBytes, stream);
    (void)device->SynchronizeStream(stream);  // fails, and everything after it
    lender.Return(*slot, stream);
    BatchSlot* again = nullptr;
    while ((again = ring.TryLease(1)) == nullptr) std::this_thread::yield();
    EXPECT_EQ(again, slot);
  }
}

}  // namespace
}  // namespace stoker

#include "transfer/ring.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <random>
#include <thread>
#include <vector>

namespace stoker {
namespace {

constexpr std::chrono::nanoseconds kNoWait{0};
constexpr std::chrono::hours kForever{1};

std::atomic<int64_t> fake_ns{0};
int64_t FakeNow() noexcept { return fake_ns.load(); }

SlotLayout Layout(uint32_t batch_size) {
  return SlotLayout(batch_size, {{"pixels", 12, 0}, {"label", sizeof(int64_t), 0}, {"valid", 1, 0}});
}

class RingTest : public testing::Test {
 protected:
  RingTest() { fake_ns = 100; }
  static void Fill(BatchSlot& slot) {
    for (uint32_t i = 0; i < slot.count; ++i) SampleSlot(slot, i).Release();
  }

  std::atomic<int> freed_{0};
  Ring ring_{Layout(4), 3, FakeNow, [this] { ++freed_; }};
};

TEST(SlotLayout, PutsEachFieldOnACacheLineOfItsOwn) {
  const SlotLayout layout(5, {{"pixels", 13, 0}, {"label", 8, 0}, {"valid", 1, 0}});
  EXPECT_EQ(layout.fields()[0].offset, 0u);
  EXPECT_EQ(layout.fields()[1].offset, 128u);  // 65 bytes before it
  EXPECT_EQ(layout.fields()[2].offset, 192u);
  EXPECT_EQ(layout.bytes(), 256u);
}

TEST_F(RingTest, LeasesEverySlotOnceAndThenNone) {
  std::vector<BatchSlot*> slots;
  for (int i = 0; i < 3; ++i) slots.push_back(ring_.TryLease(4));
  EXPECT_EQ(ring_.TryLease(4), nullptr);
  EXPECT_EQ(ring_.leased_batches(), 3);
  std::sort(slots.begin(), slots.end());
  EXPECT_EQ(std::unique(slots.begin(), slots.end()), slots.end());
  for (const BatchSlot* slot : slots) {
    ASSERT_NE(slot, nullptr);
    EXPECT_GE(slot->data, ring_.arena().data());
    EXPECT_LE(slot->data + ring_.layout().bytes(), ring_.arena().data() + ring_.arena().size());
  }
}

TEST_F(RingTest, GivesSlotsInLeaseOrderWhateverOrderTheyFillIn) {
  std::mt19937 random(3);
  int64_t taken = 0;
  for (int round = 0; round < 50; ++round) {
    std::vector<BatchSlot*> slots;
    while (BatchSlot* slot = ring_.TryLease(1 + random() % 4)) slots.push_back(slot);
    std::shuffle(slots.begin(), slots.end(), random);
    for (BatchSlot* slot : slots) Fill(*slot);
    for (size_t i = 0; i < slots.size(); ++i) {
      BatchSlot* const slot = ring_.TryTakeFull();
      ASSERT_NE(slot, nullptr);
      EXPECT_EQ(slot->batch, taken++);
      ring_.Return(*slot, FakeNow());
    }
    EXPECT_EQ(ring_.TryTakeFull(), nullptr);
  }
}

TEST_F(RingTest, KeepsALaterFullSlotBackUntilTheEarlierOneIsFull) {
  BatchSlot* const first = ring_.TryLease(2);
  BatchSlot* const second = ring_.TryLease(2);
  Fill(*second);
  EXPECT_EQ(ring_.TryTakeFull(), nullptr);
  EXPECT_EQ(ring_.TakeFull(kNoWait), nullptr);
  EXPECT_EQ(ring_.empties(), 1u);
  SampleSlot(*first, 0).Release();
  EXPECT_EQ(ring_.TryTakeFull(), nullptr);
  SampleSlot(*first, 1).Release();
  EXPECT_EQ(ring_.TryTakeFull(), first);
  EXPECT_EQ(ring_.TryTakeFull(), second);
}

TEST_F(RingTest, StampsWhatFilledAndWhatFreedASlot) {
  BatchSlot* slot = ring_.TryLease(3);
  EXPECT_EQ(slot->freed_by_batch, -1);
  for (const uint32_t index : {2u, 0u, 1u}) {
    fake_ns += 10;
    SampleSlot(*slot, index).Release();
  }
  ASSERT_EQ(ring_.TryTakeFull(), slot);
  EXPECT_EQ(slot->stamps.full_ns, 130);
  EXPECT_EQ(slot->stamps.last_sample, 1u);
  ring_.Return(*slot, 777);
  BatchSlot* again = ring_.TryLease(2);
  ASSERT_EQ(again, slot);  // the one that came back last
  EXPECT_EQ(again->freed_by_batch, -1) << "the two others were free all the time";
  for (uint32_t i = 1; i < ring_.slots(); ++i) again = ring_.TryLease(2);
  EXPECT_EQ(again->freed_ns, 777);
  EXPECT_EQ(again->freed_by_batch, 0);
  EXPECT_EQ(again->batch, ring_.slots());
  EXPECT_EQ(again->count, 2u);
  EXPECT_EQ(again->stamps.full_ns, 0);
}

TEST_F(RingTest, TellsThatASlotBecameFree) {
  BatchSlot* const slot = ring_.TryLease(1);
  while (ring_.TryLease(1) != nullptr) {
  }
  Fill(*slot);
  ASSERT_EQ(ring_.TryTakeFull(), slot);
  EXPECT_EQ(freed_, 0);
  ring_.Return(*slot, 0);
  EXPECT_EQ(freed_, 1);
  EXPECT_EQ(ring_.TryLease(1), slot);
}

TEST_F(RingTest, CountsWhatTheCallerHolds) {
  std::vector<BatchSlot*> slots;
  for (int i = 0; i < 2; ++i) {
    Fill(*ring_.TryLease(1));
    slots.push_back(ring_.TryTakeFull());
  }
  ring_.Lend(*slots[0]);
  ring_.Lend(*slots[1]);
  EXPECT_EQ(ring_.held_by_caller(), 2u);
  ring_.Return(*slots[0], 0);
  EXPECT_EQ(ring_.held_by_caller(), 1u);
  Fill(*ring_.TryLease(1));
  ring_.Return(*ring_.TryTakeFull(), 0);  // never lent: counts for nobody
  EXPECT_EQ(ring_.held_by_caller(), 1u);
  ring_.Return(*slots[1], 0);
  EXPECT_EQ(ring_.held_by_caller(), 0u);
}

TEST_F(RingTest, GrowsForACallerThatKeepsBatchesAndShrinksAgain) {
  std::vector<BatchSlot*> kept;
  for (int i = 0; i < 20; ++i) {
    BatchSlot* slot = ring_.TryLease(4);
    ASSERT_NE(slot, nullptr) << "batch " << i;
    Fill(*slot);
    ASSERT_EQ(ring_.TryTakeFull(), slot);
    ring_.Lend(*slot);
    std::memset(slot->data, i, ring_.layout().bytes());  // memory of its own
    kept.push_back(slot);
    ring_.Extend();
    ring_.Extend();  // enough already: nothing happens
  }
  EXPECT_EQ(ring_.extra_slots(), 19u);  // two beside the twenty that are lent
  for (int i = 0; i < 20; ++i) EXPECT_EQ(kept[static_cast<size_t>(i)]->data[5], static_cast<std::byte>(i));
  for (BatchSlot* slot : kept) ring_.Return(*slot, 0);
  EXPECT_EQ(ring_.held_by_caller(), 0u);
  EXPECT_LE(ring_.extra_slots(), (Ring::kMaxIdle - 1) * ring_.slots());
  EXPECT_EQ(ring_.extra_slots_peak(), 19u);
}

TEST_F(RingTest, DoesNotGrowForACallerThatHoldsOneBatch) {
  BatchSlot* slot = ring_.TryLease(4);
  Fill(*slot);
  ring_.Lend(*ring_.TryTakeFull());
  ring_.Extend();
  EXPECT_EQ(ring_.extra_slots(), 0u);
}

TEST_F(RingTest, WakesAWaitingTakerWhenTheSlotIsFull) {
  BatchSlot* const slot = ring_.TryLease(2);
  BatchSlot* taken = nullptr;
  std::thread taker([&] { taken = ring_.TakeFull(kForever); });
  Fill(*slot);
  taker.join();
  EXPECT_EQ(taken, slot);
}

TEST_F(RingTest, StopWakesAWaitingTakerForGood) {
  BatchSlot* taken = ring_.TryLease(1);
  std::thread taker([&] { taken = ring_.TakeFull(kForever); });
  while (ring_.empties() == 0) std::this_thread::yield();  // it waits, or is about to
  ring_.Stop();
  taker.join();
  EXPECT_EQ(taken, nullptr);
  Fill(*ring_.TryLease(1));
  EXPECT_EQ(ring_.TakeFull(kForever), nullptr);
  EXPECT_EQ(ring_.TryTakeFull(), nullptr);
}

TEST_F(RingTest, SampleSlotsArePlacesInTheFields) {
  BatchSlot* const slot = ring_.TryLease(4);
  for (uint32_t i = 0; i < 4; ++i) {
    const SampleSlot sample(*slot, i);
    EXPECT_TRUE(sample);
    EXPECT_EQ(sample.index(), i);
    EXPECT_EQ(sample.bytes(0).size(), 12u);
    EXPECT_EQ(sample.bytes(0).data(), slot->data + 12 * i);
    sample.Set(1, int64_t{-5} - i);
    sample.Set(2, static_cast<uint8_t>(i));
  }
  int64_t labels[4];
  std::memcpy(labels, slot->data + ring_.layout().fields()[1].offset, sizeof labels);
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(labels[i], -5 - i);
    EXPECT_EQ(slot->data[ring_.layout().fields()[2].offset + static_cast<size_t>(i)], static_cast<std::byte>(i));
  }
}

TEST_F(RingTest, AMovedSampleSlotCountsOnce) {
  BatchSlot* const slot = ring_.TryLease(2);
  SampleSlot first(*slot, 0);
  SampleSlot second(std::move(first));
  EXPECT_FALSE(first);
  first.Release();
  EXPECT_EQ(slot->missing, 2u);
  SampleSlot third(*slot, 1);
  third = std::move(second);  // gives its own place back first
  EXPECT_EQ(slot->missing, 1u);
  EXPECT_EQ(third.index(), 0u);
  SampleSlot& same = third;
  third = std::move(same);
  EXPECT_EQ(slot->missing, 1u);
  third.Release();
  third.Release();
  EXPECT_EQ(slot->missing, 0u);
  EXPECT_EQ(ring_.TryTakeFull(), slot);
}

TEST(Ring, ShowsTheTakerEverythingThatSeveralThreadsWrote) {
  constexpr uint32_t kBatch = 64, kThreads = 5;
  constexpr int64_t kBatches = 300;
  Ring ring(Layout(kBatch), 3, SteadyNow, [] {});
  std::atomic<BatchSlot*> current{nullptr};
  std::atomic<uint32_t> next{kBatch};
  std::atomic<bool> done{false};
  std::vector<std::thread> writers;
  for (uint32_t t = 0; t < kThreads; ++t) {
    writers.emplace_back([&] {
      while (!done) {
        uint32_t index = next.load();
        if (index >= kBatch || !next.compare_exchange_weak(index, index + 1)) {
          std::this_thread::yield();
          continue;
        }
        const SampleSlot sample(*current.load(), index);
        sample.Set(1, sample.batch() * 1000 + index);
      }
    });
  }
  for (int64_t batch = 0; batch < kBatches; ++batch) {
    current = ring.TryLease(kBatch);
    next = 0;
    BatchSlot* const slot = ring.TakeFull(kForever);
    ASSERT_EQ(slot, current);
    std::vector<int64_t> labels(kBatch);
    std::memcpy(labels.data(), slot->data + ring.layout().fields()[1].offset, kBatch * sizeof(int64_t));
    for (uint32_t i = 0; i < kBatch; ++i) EXPECT_EQ(labels[i], batch * 1000 + i);
    ring.Return(*slot, 1);
  }
  done = true;
  for (std::thread& writer : writers) writer.join();
}

}  // namespace
}  // namespace stoker

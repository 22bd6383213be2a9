#include "loader/foreign_batches.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <thread>
#include <vector>

#include "loader/error.h"

namespace stoker {
namespace {

using Bytes = std::vector<std::byte>;

constexpr size_t kSmall = 1000;
constexpr size_t kLarge = 100'000;

// As many bytes as there are, each the batch's number.
bool PutBatch(ForeignBatches& batches, int number, size_t bytes) {
  const Bytes data(bytes, static_cast<std::byte>(number));
  const ForeignBatches::Piece pieces[] = {{data.data(), bytes / 2, 0}, {data.data(), bytes - bytes / 2, bytes / 2}};
  return batches.Put(pieces, bytes);
}

// The thread that pulls: batch number n has sizes[n] bytes.
std::thread Puller(ForeignBatches& batches, std::vector<size_t> sizes) {
  return std::thread([&batches, sizes = std::move(sizes)] {
    for (size_t i = 0; i < sizes.size(); ++i) {
      if (!PutBatch(batches, static_cast<int>(i), sizes[i])) break;
    }
    batches.End();
  });
}

Bytes First(const Batch& batch, size_t bytes) {
  Bytes all(batch.pixel_bytes());
  batch.CopyPixelsTo(all);
  all.resize(bytes);
  return all;
}

TEST(ForeignBatches, GivesWhatWasPutInOrderThroughEveryEpoch) {
  ForeignBatches batches("sim", 2);
  EXPECT_EQ(batches.slot_bytes(), 0u);
  const std::vector<size_t> sizes = {kSmall, kSmall, 1, 0, kLarge, kSmall, kLarge + 1, kLarge * 3, kSmall};
  for (int epoch = 0; epoch < 3; ++epoch) {
    batches.Begin();
    std::thread puller = Puller(batches, sizes);
    size_t number = 0;
    while (const auto batch = batches.Next(kHostStream)) {
      ASSERT_LT(number, sizes.size());
      EXPECT_EQ(First(*batch, sizes[number]), Bytes(sizes[number], static_cast<std::byte>(number)));
      ++number;
    }
    EXPECT_EQ(number, sizes.size());
    EXPECT_FALSE(batches.Next(kHostStream));
    puller.join();
  }
  EXPECT_GE(batches.slot_bytes(), kLarge * 3);
}

TEST(ForeignBatches, TakesNoMoreMemoryThanTheFirstBatchNeedsWhileAllAreLikeIt) {
  ForeignBatches batches("sim", 2);
  batches.Begin();
  std::thread puller = Puller(batches, std::vector<size_t>(20, kLarge));
  while (batches.Next(kHostStream)) {
  }
  puller.join();
  EXPECT_LT(batches.slot_bytes(), kLarge + 4096);
}

TEST(ForeignBatches, BeginsAnewAfterAnEpochThatWasLeft) {
  ForeignBatches batches("sim", 2);
  for (int epoch = 0; epoch < 3; ++epoch) {
    batches.Begin();
    std::thread puller = Puller(batches, std::vector<size_t>(100, kSmall));
    const auto batch = batches.Next(kHostStream);
    EXPECT_EQ(First(*batch, kSmall), Bytes(kSmall, std::byte{0}));
    batches.Leave();
    puller.join();  // it waits for room, which never comes
  }
}

TEST(ForeignBatches, EndsThePullersWaitForRoomOnceStopped) {
  ForeignBatches batches("sim", 1);
  batches.Begin();
  std::atomic<int> put{0};
  std::thread puller([&] {
    while (PutBatch(batches, 0, kSmall)) ++put;
  });
  while (put < 3) std::this_thread::yield();  // two are on the host, one is on the device: there is no more room
  std::this_thread::sleep_for(std::chrono::milliseconds(5));  // most likely it waits by now
  batches.Stop();
  puller.join();
  EXPECT_EQ(put, 3);
  EXPECT_THROW((void)batches.Next(kHostStream), Error);
}

TEST(ForeignBatches, LetsABatchOutliveIt) {
  auto batches = std::make_unique<ForeignBatches>("sim", 2);
  batches->Begin();
  std::thread puller = Puller(*batches, {kSmall});
  const auto batch = batches->Next(kHostStream);
  puller.join();
  batches.reset();
  EXPECT_EQ(First(*batch, kSmall), Bytes(kSmall, std::byte{0}));
}

TEST(ForeignBatches, TellsACallerThatHoldsAllBatches) {
  ForeignBatches batches("sim", 2);
  batches.Begin();
  std::thread puller = Puller(batches, std::vector<size_t>(10, kSmall));
  auto first = batches.Next(kHostStream);
  const auto second = batches.Next(kHostStream);
  EXPECT_THROW((void)batches.Next(kHostStream), Error);
  first.reset();
  EXPECT_TRUE(batches.Next(kHostStream));
  batches.Leave();
  puller.join();
}

TEST(ForeignBatches, HearsWhatItsCallerThrowsWhileItWaits) {
  ForeignBatches batches("sim", 2);
  batches.Begin();  // nobody puts anything
  struct Interrupt {};
  EXPECT_THROW((void)batches.Next(kHostStream, [] { throw Interrupt(); }), Interrupt);
}

TEST(ForeignBatches, RefusesDevicesToWhichNothingIsCopiedAndDepthsOutOfRange) {
  EXPECT_THROW(ForeignBatches("cpu", 2), std::invalid_argument);
  EXPECT_THROW(ForeignBatches("sim", 0), std::invalid_argument);
  EXPECT_THROW(ForeignBatches("sim", ForeignBatches::kMaxDepth + 1), std::invalid_argument);
}

// Virtual time: it goes on only where the test says so.
std::atomic<int64_t> now_ns{0};
int64_t Now() noexcept { return now_ns; }

TEST(ForeignBatches, BlamesTheLoaderThatIsSlow) {
  now_ns = 1'000;
  ForeignBatches batches("sim", 2, Now);
  batches.Begin();
  for (int i = 0; i < 8; ++i) {
    now_ns += 900'000'000;
    ASSERT_TRUE(PutBatch(batches, i, kSmall));
    EXPECT_TRUE(batches.Next(kHostStream));
    now_ns += 100'000'000;
  }
  const StallReport report = batches.Report();
  EXPECT_NE(report.verdict.find("the wrapped loader takes"), std::string::npos) << report.verdict;
  EXPECT_EQ(report.shares[static_cast<size_t>(Stage::kDecode)], 0);
  EXPECT_NEAR(std::accumulate(report.shares.begin(), report.shares.end(), 0.0), 1, 1e-9);
  EXPECT_EQ(report.batches, 8);
}

}  // namespace
}  // namespace stoker

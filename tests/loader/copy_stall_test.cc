// Whether a copy is hidden behind the step, and is named where it is not: the real prefetcher and counters on a
// simulated device, in a time that only this test moves.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "loader/stall_log.h"
#include "loader/stall_report.h"
#include "transfer/prefetcher.h"
#include "transfer/sim_device.h"

namespace stoker {
namespace {

constexpr size_t kBytes = 4096;                          // of a batch here ...
constexpr double kRealBytes = 64.0 * 3 * 224 * 224 * 4;  // ... that stands for a batch of 64 in float32
constexpr uint32_t kSlots = 4, kDeviceSlots = 3;
constexpr int64_t kWarmUp = 8, kBatches = 120;
constexpr int64_t kLatencyNs = 8000;

SimDevice* clock_device = nullptr;
int64_t DeviceNow() noexcept { return clock_device->now_ns(); }

// One decoder, one trainer that gives the device a step for each batch and never waits for it.
class Training {
 public:
  Training(double bytes_per_second, int64_t step_ns, int64_t decode_ns, uint32_t seed)
      : step_ns_(step_ns), decode_ns_(decode_ns), random_(seed) {
    SimOptions options = StrictSim(SimMode::kStepped);
    options.bytes_per_second = bytes_per_second * kBytes / kRealBytes;
    options.latency_ns = kLatencyNs;
    device_ = std::make_unique<SimDevice>(options);
    clock_device = device_.get();
    EXPECT_FALSE(device_->Attach());
    EXPECT_FALSE(device_->CreateStream(stream_));
    seen_.resize(static_cast<size_t>(options.bytes_per_second * static_cast<double>(step_ns) * 1.2e-9) + 1);
    EXPECT_FALSE(device_->RegisterHost(seen_.data(), seen_.size()));
    void* memory = nullptr;
    EXPECT_FALSE(device_->Allocate(seen_.size(), memory));
    weights_ = memory;
    ring_ = std::make_unique<Ring>(
        SlotLayout(1, {{"pixels", kBytes, 0}}), kSlots, DeviceNow, [] {}, true);
    prefetcher_ =
        std::make_unique<Prefetcher>(*device_, *ring_, Prefetcher::Options{.device_slots = kDeviceSlots}, DeviceNow);
  }
  ~Training() {
    EXPECT_FALSE(device_->SynchronizeStream(stream_));
    prefetcher_.reset();
    EXPECT_FALSE(device_->Free(weights_));
    EXPECT_FALSE(device_->UnregisterHost(seen_.data()));
    EXPECT_FALSE(device_->DestroyStream(stream_));
    device_->Detach();
  }
  Training(const Training&) = delete;
  Training& operator=(const Training&) = delete;

  StallTotals Run() {
    while (given_ < kWarmUp + kBatches) {
      if (given_ == kWarmUp && log_.Totals(DeviceNow()).batches == kWarmUp) {
        LogCopies();
        log_.Restart(DeviceNow());
      }
      const std::array<bool, 3> moved = {Decode(), Upload(), Step()};
      if (!std::ranges::count(moved, true)) Wait();
    }
    LogCopies();
    return log_.Totals(DeviceNow());
  }

 private:
  // About so long: a few percent more or less.
  int64_t About(int64_t ns) { return ns + static_cast<int64_t>(random_() % 1000) * ns / 20'000 - ns / 40; }

  bool Decode() {
    if (filling_ == nullptr) {
      filling_ = ring_->TryLease(1);
      if (filling_ == nullptr) return false;
      fill_start_ns_ = DeviceNow();
      fill_end_ns_ = fill_start_ns_ + About(decode_ns_);
      return true;
    }
    if (DeviceNow() < fill_end_ns_) return false;
    SampleRecord& record = log_.sample(filling_->batch);
    record = {};
    record.sequence = filling_->batch;
    record.submit_ns = record.arrive_ns = record.start_ns = fill_start_ns_;
    record.decoded_ns = record.end_ns = fill_end_ns_;
    if (filling_->freed_by_batch >= 0)
      record.before_read = {filling_->freed_ns, filling_->freed_by_batch, Cause::kCopy};
    // The read takes no time, and waits for the decoder as it waits for a slot.
    if (record.sequence > 0) record.before_read.Consider({last_decode_ns_, record.sequence - 1, Cause::kDecode});
    record.before_decode = {record.arrive_ns, record.sequence, Cause::kRead};
    last_decode_ns_ = fill_end_ns_;
    SampleSlot(*std::exchange(filling_, nullptr), 0).Release();
    return true;
  }

  bool Upload() { return prefetcher_->Step(); }

  bool Step() {
    if (!asked_) {
      LogCopies();
      log_.Request(DeviceNow());
    }
    asked_ = true;
    std::error_code error;
    DeviceSlot* const slot = prefetcher_->Take(stream_, std::chrono::nanoseconds(0), error);
    EXPECT_FALSE(error) << error.message();
    if (slot == nullptr) return false;
    BatchRecord record;
    record.batch = slot->batch;
    record.count = 1;
    record.stamps = prefetcher_->StampsOf(*slot);
    record.returned_ns = DeviceNow();
    record.to_stream = true;
    log_.HandOver(record);
    // The step, as work of that length on the trainer's stream.
    const double bytes = static_cast<double>(seen_.size()) * static_cast<double>(About(step_ns_)) /
                         (1.2 * static_cast<double>(step_ns_));
    EXPECT_FALSE(device_->CopyToHostAsync(seen_.data(), weights_, static_cast<size_t>(bytes), stream_));
    prefetcher_->Return(*slot, stream_);
    asked_ = false;
    ++given_;
    return true;
  }

  // To the next moment at which anything happens.
  void Wait() {
    int64_t next_ns = device_->NextEndNs();
    if (filling_ != nullptr && (next_ns < 0 || fill_end_ns_ < next_ns)) next_ns = fill_end_ns_;
    ASSERT_GT(next_ns, 0) << "nothing will ever happen";
    device_->AdvanceTo(next_ns);
  }

  void LogCopies() {
    for (Prefetcher::Copied copied; prefetcher_->TakeCopied(copied);) {
      log_.Copied(copied.batch, copied.stamps);
      if (copied.released_by_stream) log_.DeviceDone(copied.stamps.device_slot_batch, copied.stamps.device_slot_ns);
    }
    log_.DeviceStalled(prefetcher_->TakeDeviceStallNs());
  }

  const int64_t step_ns_, decode_ns_;
  std::mt19937 random_;
  std::unique_ptr<SimDevice> device_;
  std::unique_ptr<Ring> ring_;
  std::unique_ptr<Prefetcher> prefetcher_;
  StallLog log_{1, kSlots + kDeviceSlots + 1};
  StreamHandle stream_ = 0;
  std::vector<std::byte> seen_;
  void* weights_ = nullptr;
  BatchSlot* filling_ = nullptr;
  int64_t fill_start_ns_ = 0, fill_end_ns_ = 0, last_decode_ns_ = 0;
  bool asked_ = false;
  int64_t given_ = 0;
};

StallReport Judged(const StallTotals& totals) {
  StallReport report;
  Judge(totals, {}, report);
  return report;
}

struct Link {
  const char* name;
  double bytes_per_second;
  int64_t copy_ns() const { return kLatencyNs + static_cast<int64_t>(kRealBytes * 1e9 / bytes_per_second); }
};

class CopyStall : public testing::TestWithParam<Link> {
 protected:
  // A number of the run's own between the two.
  static double Between(uint32_t run, double low, double high) { return low + (high - low) * (run % 10) / 9; }
};

TEST_P(CopyStall, IsHiddenWhereverTheStepTakesLonger) {
  for (uint32_t run = 0; run < 100; ++run) {
    SCOPED_TRACE(run);
    const auto step_ns = static_cast<int64_t>(static_cast<double>(GetParam().copy_ns()) * Between(run, 1.06, 4));
    const StallTotals totals = Training(GetParam().bytes_per_second, step_ns, step_ns / 2, run).Run();
    EXPECT_LT(static_cast<double>(totals.device_stall_ns), 0.01 * static_cast<double>(totals.batches * step_ns));
    const StallReport report = Judged(totals);
    EXPECT_LT(report.stall_share, 0.05) << report.verdict;
    EXPECT_EQ(report.verdict.find("not loader-bound; consumer-bound"), 0u) << report.verdict;
  }
}

TEST_P(CopyStall, IsNamedWhereverTheStepTakesLess) {
  for (uint32_t run = 0; run < 100; ++run) {
    SCOPED_TRACE(run);
    const double copy_ns = static_cast<double>(GetParam().copy_ns());
    const auto step_ns = static_cast<int64_t>(copy_ns * Between(run, 0.1, 0.85));
    const auto decode_ns = static_cast<int64_t>(copy_ns * Between(run / 10, 0.1, 0.85));
    const StallTotals totals = Training(GetParam().bytes_per_second, step_ns, decode_ns, run).Run();
    const StallReport report = Judged(totals);
    EXPECT_NE(report.verdict.find("copy-bound"), std::string::npos) << report.verdict;
    EXPECT_GT(report.stall_share, 0.1) << report.verdict;
  }
}

TEST_P(CopyStall, IsNotBlamedForASlowDecode) {
  for (uint32_t run = 0; run < 100; ++run) {
    SCOPED_TRACE(run);
    const double copy_ns = static_cast<double>(GetParam().copy_ns());
    const auto step_ns = static_cast<int64_t>(copy_ns * Between(run, 0.3, 2));
    const auto decode_ns = static_cast<int64_t>(copy_ns * Between(run / 10, 3, 6));
    const StallReport report = Judged(Training(GetParam().bytes_per_second, step_ns, decode_ns, run).Run());
    EXPECT_NE(report.verdict.find("highly loader-bound"), std::string::npos) << report.verdict;
    EXPECT_GT(report.shares[static_cast<size_t>(Stage::kDecode)], 0.5) << report.verdict;
  }
}

INSTANTIATE_TEST_SUITE_P(, CopyStall,
                         testing::Values(Link{"Pcie4", kPcie4BytesPerSecond}, Link{"Pcie5", kPcie5BytesPerSecond}),
                         [](const auto& link) { return link.param.name; });

}  // namespace
}  // namespace stoker

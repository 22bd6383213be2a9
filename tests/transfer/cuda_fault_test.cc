// Every entry point of the driver fails once, early or late, while a small pipeline runs on it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tests/fake_cuda/controls.h"
#include "transfer/cuda_device.h"
#include "transfer/cuda_driver.h"
#include "transfer/prefetcher.h"

namespace stoker {
namespace {

constexpr uint32_t kBatch = 2;
constexpr size_t kPixelBytes = 8 * 8 * 3;
constexpr int64_t kBatches = 9;
// What goes wrong while this batch is used is told before the last one: a prefetcher hands out first what it has.
constexpr int64_t kEarly = kBatches - 4;
constexpr std::chrono::hours kForever{1};

// The results: the next call may succeed; no later one will; none of any device will.
constexpr int kRefused = 2;
constexpr int kDeviceFails = 719;
constexpr int kDriverGoesAway = 4;

std::byte PixelOf(int64_t batch) { return static_cast<std::byte>(batch + 1); }

// What became of a run: nothing but the batches, or words about what went wrong.
struct Outcome {
  int64_t batches = 0;  // that came, with the right bytes
  std::string words;
  uint64_t early_calls = 0;  // of the entry point, until kEarly or the end
};

DeviceFinish Finish() {
  DeviceFinish finish;
  finish.launch.height = 8;
  finish.launch.width = 8;
  finish.tensor_bytes = kBatch * kPixelBytes * sizeof(float);
  finish.flips_field = 1;
  return finish;
}

class Pipeline {
 public:
  explicit Pipeline(const CudaDriver& driver) : device_(MakeCudaDevice(driver, "cuda")) {
    Prefetcher::Options options;
    if (device_->can_finish()) options.finish = Finish();
    finishes_ = options.finish.has_value();
    prefetcher_.emplace(*device_, ring_, options, SteadyNow);
    prefetcher_->Start();
  }

  void Run(Outcome& outcome, const char* entry) {
    const DeviceScope scope(*device_);
    Check(scope.error(), "attach");
    StreamHandle stream = 0;
    Check(device_->CreateStream(stream), "stream");
    try {
      for (; outcome.batches < kBatches; ++outcome.batches) {
        Take(outcome.batches, stream);
        if (outcome.batches == kEarly) outcome.early_calls = FakeCudaCalls(entry);
      }
    } catch (...) {
      Leave(stream);
      throw;
    }
    Leave(stream);
  }

 private:
  static void Check(std::error_code error, const char* what) {
    if (error) throw std::system_error(error, what);
  }

  void Take(int64_t batch, StreamHandle stream) {
    while (Produce()) {
    }
    std::error_code error;
    DeviceSlot* const slot = prefetcher_->Take(stream, kForever, error);
    Check(error, "take");
    ASSERT_NE(slot, nullptr);
    // Pageable: the call returns when they are there.
    std::vector<std::byte> seen((finishes_ ? sizeof(float) : 1) * kPixelBytes);
    error = device_->CopyToHostAsync(seen.data(), slot->tensor, seen.size(), stream);
    if (!error) error = device_->SynchronizeStream(stream);
    prefetcher_->Return(*slot, stream);
    Check(error, "read");
    if (finishes_) {
      std::vector<float> values(kPixelBytes);
      std::memcpy(values.data(), seen.data(), seen.size());
      EXPECT_THAT(values, testing::Each(static_cast<float>(PixelOf(batch)) / 255.0f));
    } else {
      EXPECT_THAT(seen, testing::Each(PixelOf(batch)));
    }
  }

  bool Produce() {
    BatchSlot* const slot = ring_.TryLease(kBatch);
    if (slot == nullptr) return false;
    for (uint32_t i = 0; i < kBatch; ++i) {
      const SampleSlot sample(*slot, i);
      std::ranges::fill(sample.bytes(0), PixelOf(slot->batch));
      sample.Set(1, uint8_t{0});
    }
    return true;
  }

  // A consumer ends its stream when its work is done, and only after the batches that it read went back.
  void Leave(StreamHandle stream) {
    prefetcher_.reset();
    (void)device_->SynchronizeStream(stream);
    (void)device_->DestroyStream(stream);
  }

  const std::unique_ptr<Device> device_;
  Ring ring_{SlotLayout(kBatch, {{"pixels", kPixelBytes, 0}, {"flips", 1, 0}}), 3, SteadyNow, [] {}};
  bool finishes_ = false;
  std::optional<Prefetcher> prefetcher_;
};

// Of a run in which `entry` is looked at.
Outcome OutcomeOf(const std::string& options, const char* entry) {
  ConfigureFakeCuda(options);
  Outcome outcome;
  try {
    const CudaDriver driver("libcuda.so.1");
    Pipeline(driver).Run(outcome, entry);
  } catch (const std::exception& error) {
    outcome.words = error.what();
    outcome.early_calls = FakeCudaCalls(entry);
  }
  return outcome;
}

// Calls that may be refused once without a word: there is something in place of what they ask for, or nobody needs it.
// The second attribute is the NUMA node, the first context pushed that to load the kernel in, a time a measurement.
const std::set<std::string> kMayBeRefused = {"cuDeviceGetPCIBusId", "cuDeviceGetAttribute:2", "cuModuleLoadData",
                                             "cuModuleGetFunction", "cuMemHostRegister",      "cuCtxPushCurrent:1",
                                             "cuCtxPopCurrent",     "cuEventElapsedTime"};
// A failed device does not keep a driver from telling these.
const std::set<std::string> kWords = {"cuGetErrorName", "cuGetErrorString"};

class CudaFaultTest : public testing::TestWithParam<const char*> {};

TEST_P(CudaFaultTest, EndsInWordsAndLeavesNothing) {
  const std::string entry = GetParam();
  for (const int result : {kRefused, kDeviceFails, kDriverGoesAway}) {
    // Nothing is asked for that could be refused: it tells of failures, and then no work runs any more.
    if (result == kRefused && entry == "cuEventQuery") continue;
    for (const int call : {1, 2, 3, 5, 9, 17, 33}) {
      const std::string nth = entry + ":" + std::to_string(call);
      const std::string fault = "fail=" + nth + ":" + std::to_string(result);
      SCOPED_TRACE(fault);
      const Outcome outcome = OutcomeOf(fault, entry.c_str());
      const bool happened = FakeCudaCalls(entry.c_str()) >= static_cast<uint64_t>(call);
      const bool early = static_cast<uint64_t>(call) <= outcome.early_calls;
      EXPECT_EQ(FakeCudaViolations(), "");
      EXPECT_EQ(outcome.words.empty(), outcome.batches == kBatches) << outcome.words;
      const bool matters =
          result == kRefused ? !kMayBeRefused.contains(entry) && !kMayBeRefused.contains(nth) : !kWords.contains(entry);
      if (early && matters) {
        EXPECT_NE(outcome.words, "") << "nobody was told";
      }
      if (!happened) {
        EXPECT_EQ(outcome.words, "");
        break;
      }
    }
  }
  ConfigureFakeCuda();
  EXPECT_EQ(FakeCudaViolations(), "");
}

constexpr const char* kEntries[] = {
#define STOKER_CUDA_NAME(name, member, parameters) #name,
    STOKER_CUDA_API(STOKER_CUDA_NAME)
#undef STOKER_CUDA_NAME
};
INSTANTIATE_TEST_SUITE_P(Of, CudaFaultTest, testing::ValuesIn(kEntries),
                         [](const testing::TestParamInfo<const char*>& entry) { return std::string(entry.param); });

TEST(CudaFaults, NoneBringsEveryBatch) {
  const Outcome outcome = OutcomeOf("", "cuInit");
  EXPECT_EQ(outcome.words, "");
  EXPECT_EQ(outcome.batches, kBatches);
  EXPECT_EQ(FakeCudaViolations(), "");
}

}  // namespace
}  // namespace stoker

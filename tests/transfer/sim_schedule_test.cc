// When the simulated device does what: the promises of each SimMode, and the time of kernels.
#include "transfer/sim_schedule.h"

#include <algorithm>
#include <set>
#include <string>

#include "tests/transfer/sim_device_fixture.h"

namespace stoker {
namespace {

class SimScheduleTest : public SimDeviceTest {
 protected:
  // One byte each way, so that a test can tell by the host's bytes what has run.
  void Prepare(const SimOptions& options) {
    Start(options);
    Pin(source_);
    Pin(out_);
    for (size_t i = 0; i < source_.size(); ++i) source_[i] = static_cast<std::byte>(i + 1);
    memory_ = Allocate(source_.size());
  }
  void Upload(size_t i, StreamHandle stream) {
    ASSERT_FALSE(device_->CopyToDeviceAsync(memory_ + i, source_.data() + i, 1, stream));
  }
  void Download(size_t i, StreamHandle stream) {
    ASSERT_FALSE(device_->CopyToHostAsync(out_.data() + i, memory_ + i, 1, stream));
  }

  Bytes source_ = Bytes(8), out_ = Bytes(8);
  std::byte* memory_ = nullptr;
};

TEST_F(SimScheduleTest, LazyReadsAtTheLastMoment) {
  Prepare({.mode = SimMode::kLazy});
  const StreamHandle stream = Stream();
  Upload(0, stream);
  Download(0, stream);
  source_[0] = std::byte{99};  // the bug that it is there to show
  EXPECT_EQ(out_[0], std::byte{0});
  EXPECT_FALSE(device_->SynchronizeStream(stream));
  EXPECT_EQ(out_[0], std::byte{99});
}

TEST_F(SimScheduleTest, LazyRunsWhatIsAskedForAndNoMore) {
  Prepare({.mode = SimMode::kLazy});
  const StreamHandle first = Stream(), second = Stream(), other = Stream();
  const EventHandle event = Event();
  Upload(0, first);
  Download(0, first);
  EXPECT_FALSE(device_->RecordEvent(event, first));
  Upload(1, first);
  Download(1, first);
  Upload(2, other);
  Download(2, other);
  EXPECT_FALSE(device_->StreamWaitEvent(second, event));
  Upload(3, second);
  Download(3, second);
  EXPECT_FALSE(device_->SynchronizeStream(second));
  EXPECT_EQ(out_, Bytes({source_[0], {}, {}, source_[3], {}, {}, {}, {}}));
  device_.reset();
  EXPECT_TRUE(std::equal(out_.begin(), out_.begin() + 4, source_.begin())) << "the rest runs in the end";
}

TEST_F(SimScheduleTest, LazyIsReadyAtTheLastOfItsQueries) {
  Prepare({.mode = SimMode::kLazy, .lazy_queries = 4});
  const StreamHandle stream = Stream();
  const EventHandle event = Event();
  for (int round = 0; round < 2; ++round) {
    Upload(0, stream);
    EXPECT_FALSE(device_->RecordEvent(event, stream));
    for (int i = 1; i < 4; ++i) EXPECT_EQ(device_->QueryEvent(event), DeviceError::kNotReady);
    EXPECT_FALSE(device_->QueryEvent(event));
  }
}

TEST_F(SimScheduleTest, EagerHasDoneItWhenTheCallReturns) {
  Prepare({.mode = SimMode::kEager});
  const StreamHandle stream = Stream();
  Upload(0, stream);
  Download(0, stream);
  EXPECT_EQ(out_[0], source_[0]);
}

// Which of two streams overwrites the other's byte.
TEST_F(SimScheduleTest, RandomGoesByItsSeed) {
  std::set<std::string> outcomes;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    std::string repeated[2];
    for (std::string& outcome : repeated) {
      Prepare({.mode = SimMode::kRandom, .seed = seed});
      const StreamHandle streams[] = {Stream(), Stream()};
      for (int round = 0; round < 8; ++round) {
        ASSERT_FALSE(device_->CopyToDeviceAsync(memory_, source_.data() + round, 1, streams[round % 2]));
        ASSERT_FALSE(device_->CopyToHostAsync(out_.data() + round, memory_, 1, streams[round % 2]));
      }
      for (const StreamHandle stream : streams) EXPECT_FALSE(device_->SynchronizeStream(stream));
      outcome.assign(reinterpret_cast<const char*>(out_.data()), out_.size());
    }
    EXPECT_EQ(repeated[0], repeated[1]) << seed;
    outcomes.insert(repeated[0]);
  }
  EXPECT_GT(outcomes.size(), 5u);
}

TEST_F(SimScheduleTest, KernelsTakeTheTimeOfTheirBytesAndRunBesideCopies) {
  constexpr size_t kPixels = 1000;
  Start({.bytes_per_second = 1, .latency_ns = 0, .memory_bytes_per_second = 1e9});
  const StreamHandle busy = Stream(), stream = Stream();
  const EventHandle start = Event(), end = Event(), copied = Event();
  const FinishLaunch launch = {.pixels = reinterpret_cast<const uint8_t*>(Allocate(kPixels)),
                               .out = Allocate(kPixels * 4),
                               .count = 10,
                               .height = 10,
                               .width = 10,
                               .channels = 1};
  Occupy(busy);
  EXPECT_FALSE(device_->RecordEvent(copied, busy));
  EXPECT_FALSE(device_->RecordEvent(start, stream));
  EXPECT_FALSE(device_->FinishAsync(launch, stream));
  EXPECT_FALSE(device_->RecordEvent(end, stream));
  EXPECT_FALSE(device_->SynchronizeStream(stream));
  EXPECT_EQ(device_->QueryEvent(copied), DeviceError::kNotReady);
  int64_t ns = 0;
  EXPECT_FALSE(device_->ElapsedNs(start, end, ns));
  EXPECT_GE(ns, 5'000);
}

TEST_F(SimScheduleTest, RefusesLaunchesThatAreNone) {
  Prepare({});
  const StreamHandle stream = Stream();
  const FinishLaunch good = {.pixels = reinterpret_cast<const uint8_t*>(memory_),
                             .out = Allocate(4),
                             .count = 1,
                             .height = 1,
                             .width = 1,
                             .channels = 1};
  EXPECT_FALSE(device_->FinishAsync(good, stream));
  const auto refuses = [&](auto change) {
    FinishLaunch bad = good;
    change(bad);
    return device_->FinishAsync(bad, stream) == DeviceError::kInvalidValue;
  };
  EXPECT_TRUE(refuses([](FinishLaunch& launch) { launch.count = 0; }));
  EXPECT_TRUE(refuses([](FinishLaunch& launch) { launch.count = INT64_MAX; }));
  EXPECT_TRUE(refuses([](FinishLaunch& launch) { launch.width = 2; })) << "more than was allocated";
  EXPECT_TRUE(refuses([](FinishLaunch& launch) { launch.channels = 2; }));
  EXPECT_TRUE(refuses([](FinishLaunch& launch) { launch.out = nullptr; }));
  EXPECT_TRUE(refuses([&](FinishLaunch& launch) { launch.flips = reinterpret_cast<const uint8_t*>(&launch); }));
  EXPECT_EQ(device_->FinishAsync(good, stream + 1000), DeviceError::kInvalidValue);
}

}  // namespace
}  // namespace stoker

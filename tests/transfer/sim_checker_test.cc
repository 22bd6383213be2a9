// Each rule of SimChecker: a program that breaks it is found in every mode, and the same program put right is not.
#include "transfer/sim_checker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstring>
#include <ostream>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "transfer/sim_device.h"

namespace stoker {
namespace {

constexpr size_t kBytes = 48;

// A device that collects violations, with short words for programs. The errors of calls are of no interest here.
struct Rig {
  explicit Rig(SimMode mode) : device(Options(mode)) {
    EXPECT_FALSE(device.Attach());
    for (void** const block : {&memory, &out}) EXPECT_FALSE(device.Allocate(kBytes, *block));
    for (StreamHandle* const stream : {&a, &b, &c}) EXPECT_FALSE(device.CreateStream(*stream));
    EXPECT_FALSE(device.CreateEvent(event));
    EXPECT_FALSE(device.RegisterHost(source, sizeof source));
    EXPECT_FALSE(device.RegisterHost(target, sizeof target));
  }
  ~Rig() { device.Detach(); }

  static SimOptions Options(SimMode mode) {
    SimOptions options = StrictSim(mode, 7);
    options.checks = SimChecks::kCollect;
    return options;
  }

  void Upload(StreamHandle stream) { (void)device.CopyToDeviceAsync(memory, source, kBytes, stream); }
  void Download(StreamHandle stream) { (void)device.CopyToHostAsync(target, memory, kBytes, stream); }
  // From 12 bytes of `memory` to 48 of `out`.
  void Finish(StreamHandle stream) {
    const FinishLaunch launch = {
        .pixels = static_cast<const uint8_t*>(memory), .out = out, .count = 1, .height = 1, .width = 4};
    (void)device.FinishAsync(launch, stream);
  }
  void Record(StreamHandle stream) { (void)device.RecordEvent(event, stream); }
  void Wait(StreamHandle stream) { (void)device.StreamWaitEvent(stream, event); }
  void Order(StreamHandle first, StreamHandle second) {
    Record(first);
    Wait(second);
  }
  void Synchronize(StreamHandle stream) { (void)device.SynchronizeStream(stream); }
  // In a wrong program a race with the engine thread, and meant to be.
  __attribute__((no_sanitize("thread"))) void Rewrite() {
    ++value;
    for (volatile std::byte& byte : source) byte = static_cast<std::byte>(value);
  }

  std::byte source[kBytes] = {};
  std::byte target[kBytes] = {};
  int value = 0;
  void* memory = nullptr;
  void* out = nullptr;
  StreamHandle a = 0, b = 0, c = 0;
  EventHandle event = 0;
  SimDevice device;
};

struct Rule {
  const char* name;
  void (*program)(Rig& rig, bool right);
  const char* words;  // of the violation

  friend std::ostream& operator<<(std::ostream& out, const Rule& rule) { return out << rule.name; }
};

const Rule kRules[] = {
    {"ReuseOfASource",
     [](Rig& rig, bool right) {
       rig.Upload(rig.a);
       if (right) rig.Synchronize(rig.a);
       rig.Rewrite();
       rig.Upload(rig.a);
     },
     "the host changed the source of a copy to the device (operation 1 of stream"},
    {"ReuseOfASourceThatIsNeverCopiedAgain",
     [](Rig& rig, bool right) {
       rig.Upload(rig.a);
       rig.Record(rig.a);
       if (!right) rig.Rewrite();
       while (rig.device.QueryEvent(rig.event)) {
       }
       if (right) rig.Rewrite();
     },
     "the host changed the source"},
    {"QueryOfTheWrongEvent",
     [](Rig& rig, bool right) {
       rig.Upload(rig.a);
       rig.Record(right ? rig.a : rig.b);
       while (rig.device.QueryEvent(rig.event)) {
       }
       rig.Rewrite();
       rig.Upload(rig.a);
     },
     "the host changed the source"},
    {"ReadingOnAnotherStream",
     [](Rig& rig, bool right) {
       rig.Upload(rig.a);
       if (right) rig.Order(rig.a, rig.b);
       rig.Download(rig.b);
     },
     "no order between copy to the device (operation 1 of stream"},
    {"WaitingForAnEventThatIsRecordedLater",
     [](Rig& rig, bool right) {
       rig.Upload(rig.a);
       if (right) rig.Record(rig.a);
       rig.Wait(rig.b);
       if (!right) rig.Record(rig.a);
       rig.Download(rig.b);
     },
     "no order"},
    {"RecordingBeforeTheWork",
     [](Rig& rig, bool right) {
       if (!right) rig.Record(rig.a);
       rig.Upload(rig.a);
       if (right) rig.Record(rig.a);
       rig.Wait(rig.b);
       rig.Download(rig.b);
     },
     "no order"},
    {"OverwritingWhatAConsumerReads",
     [](Rig& rig, bool right) {
       rig.Upload(rig.a);
       rig.Order(rig.a, rig.b);
       rig.Download(rig.b);
       if (right) rig.Order(rig.b, rig.a);
       rig.Upload(rig.a);
     },
     "which reads, and copy to the device"},
    {"AKernelThatDoesNotWaitForItsInput",
     [](Rig& rig, bool right) {
       rig.Upload(rig.a);
       if (right) rig.Order(rig.a, rig.b);
       rig.Finish(rig.b);
     },
     "and kernel"},
    {"KernelsThatWriteTheSame",  // and somebody who read between them does not hide the first
     [](Rig& rig, bool right) {
       rig.Finish(rig.a);
       rig.Order(rig.a, rig.b);
       (void)rig.device.CopyToHostAsync(rig.target, rig.out, kBytes, rig.b);
       if (right) rig.Order(rig.b, rig.c);
       rig.Finish(rig.c);
     },
     "no order between kernel"},
    {"CopiesToTheSameHostMemory",
     [](Rig& rig, bool right) {
       rig.Download(rig.a);
       if (right) rig.Synchronize(rig.a);  // the host orders streams, too
       rig.Download(rig.b);
     },
     "no order between copy to the host"},
    {"TakingAPageableCopyForDone",
     [](Rig& rig, bool right) {
       const std::vector<std::byte> pageable(kBytes);
       (void)rig.device.CopyToDeviceAsync(rig.memory, pageable.data(), kBytes, rig.a);
       if (right) rig.Synchronize(rig.a);
       rig.Download(rig.b);
     },
     "no order"},
    {"FreeingTooEarly",
     [](Rig& rig, bool right) {
       rig.Upload(rig.a);
       if (right) rig.Synchronize(rig.a);
       (void)rig.device.Free(rig.memory);
     },
     "Free of memory that a copy to the device"},
    {"UnregisteringTooEarly",
     [](Rig& rig, bool right) {
       rig.Download(rig.a);
       if (right) rig.Synchronize(rig.a);
       (void)rig.device.UnregisterHost(rig.target);
     },
     "UnregisterHost of memory that a copy to the host"},
    {"FreeingTwice",
     [](Rig& rig, bool right) {
       (void)rig.device.Free(rig.memory);
       (void)rig.device.Free(right ? nullptr : rig.memory);
     },
     "Free of memory that is not there"},
    {"UnregisteringTwice",
     [](Rig& rig, bool right) {
       (void)rig.device.UnregisterHost(rig.target);
       if (!right) (void)rig.device.UnregisterHost(rig.target);
     },
     "UnregisterHost of memory that is not there"},
    {"CallingFromAThreadThatIsNotAttached",
     [](Rig& rig, bool right) {
       std::thread([&] {
         if (right) (void)rig.device.Attach();
         rig.Record(rig.a);
         if (right) rig.device.Detach();
       }).join();
     },
     "RecordEvent by a thread that is not attached"},
    {"DetachingTooOften",
     [](Rig& rig, bool right) {
       if (right) (void)rig.device.Attach();
       rig.device.Detach();
       if (right) return;
       rig.device.Detach();
       (void)rig.device.Attach();
     },
     "Detach by a thread that is not attached"},
    {"CopyingOnTheLegacyStream",
     [](Rig& rig, bool right) { right ? rig.Download(kLegacyStream) : rig.Upload(kLegacyStream); },
     "on the legacy stream"},
    {"FinishingOnTheLegacyStream",
     [](Rig& rig, bool right) { right ? rig.Record(kLegacyStream) : rig.Finish(kLegacyStream); },
     "a kernel on the legacy stream"},
    {"WorkingOnAtShutdown",
     [](Rig& rig, bool right) {
       rig.device.FailCall(SimCall::kAny, 1, DeviceError::kShuttingDown);
       rig.Upload(rig.a);
       rig.Synchronize(rig.a);
       right ? (void)rig.device.Free(rig.memory) : rig.Upload(rig.a);
     },
     "CopyToDeviceAsync after the device said that it is shutting down"},
};

class SimCheckerTest : public testing::TestWithParam<std::tuple<Rule, SimMode>> {};

TEST_P(SimCheckerTest, FindsIt) {
  const auto [rule, mode] = GetParam();
  Rig rig(mode);
  rule.program(rig, false);
  for (const StreamHandle stream : {rig.a, rig.b, rig.c}) rig.Synchronize(stream);
  EXPECT_THAT(rig.device.violations(), testing::Contains(testing::HasSubstr(rule.words)));
}

TEST_P(SimCheckerTest, FindsNothingWhereItIsPutRight) {
  const auto [rule, mode] = GetParam();
  Rig rig(mode);
  rule.program(rig, true);
  for (const StreamHandle stream : {rig.a, rig.b, rig.c}) rig.Synchronize(stream);
  EXPECT_THAT(rig.device.violations(), testing::IsEmpty());
}

constexpr SimMode kModes[] = {SimMode::kModelled, SimMode::kLazy, SimMode::kEager, SimMode::kRandom};

std::string NameOfRule(const testing::TestParamInfo<std::tuple<Rule, SimMode>>& info) {
  constexpr const char* kNames[] = {"Modelled", "Lazy", "Eager", "Random"};
  return std::get<0>(info.param).name + std::string(kNames[static_cast<int>(std::get<1>(info.param))]);
}

INSTANTIATE_TEST_SUITE_P(Rules, SimCheckerTest, testing::Combine(testing::ValuesIn(kRules), testing::ValuesIn(kModes)),
                         NameOfRule);

TEST(SimChecker, LetsTheDeviceItselfWriteASource) {
  for (const SimMode mode : kModes) {
    for (const bool before : {true, false}) {
      Rig rig(mode);
      if (!before) rig.Upload(rig.a);
      (void)rig.device.CopyToHostAsync(rig.source, rig.out, kBytes, rig.a);  // never written, so poison
      if (before) rig.Upload(rig.a);
      rig.Synchronize(rig.a);
      EXPECT_THAT(rig.device.violations(), testing::IsEmpty());
    }
  }
}

TEST(SimChecker, FindsASourceThatWasAnotherOnlyWhenItWasRead) {
  Rig rig(SimMode::kRandom);
  rig.Upload(rig.a);
  rig.Rewrite();
  for (int i = 0; i < 100; ++i) (void)rig.device.QueryEvent(rig.event);  // time passes
  std::memset(rig.source, 0, kBytes);
  rig.Synchronize(rig.a);
  EXPECT_THAT(rig.device.violations(), testing::Contains(testing::HasSubstr("before it was read")));
}

TEST(SimChecker, NamesTheSeed) {
  Rig rig(SimMode::kRandom);
  rig.Upload(kLegacyStream);
  EXPECT_THAT(rig.device.violations(), testing::Contains(testing::HasSubstr("(seed 7)")));
}

TEST(SimChecker, FindsNothingWhereItIsOff) {
  SimDevice device({.mode = SimMode::kEager});
  StreamHandle stream = 0;
  EXPECT_EQ(device.CreateStream(stream), DeviceError::kNotAttached);
  EXPECT_THAT(device.violations(), testing::IsEmpty());
}

// Makes one of each with a device that ends the program over what is not given back.
void Leak(bool memory, bool registration, bool stream, bool event) {
  static std::byte host[kBytes];
  SimDevice device(StrictSim(SimMode::kEager));
  void* block = nullptr;
  StreamHandle stream_handle = 0;
  EventHandle event_handle = 0;
  (void)device.Attach();
  (void)device.Allocate(kBytes, block);
  (void)device.RegisterHost(host, kBytes);
  (void)device.CreateStream(stream_handle);
  (void)device.CreateEvent(event_handle);
  if (!memory) (void)device.Free(block);
  if (!registration) (void)device.UnregisterHost(host);
  if (!stream) (void)device.DestroyStream(stream_handle);
  if (!event) (void)device.DestroyEvent(event_handle);
  device.Detach();
}

TEST(SimCheckerDeathTest, EndsTheProgramOverWhatIsNotGivenBack) {
  Leak(false, false, false, false);
  EXPECT_DEATH(Leak(true, false, false, false), "never freed: 48 bytes of device memory");
  EXPECT_DEATH(Leak(false, true, false, false), "never unregistered: 48 bytes of host memory");
  EXPECT_DEATH(Leak(false, false, true, false), "never destroyed: 1 stream");
  EXPECT_DEATH(Leak(false, false, false, true), "never destroyed: 1 event");
}

}  // namespace
}  // namespace stoker

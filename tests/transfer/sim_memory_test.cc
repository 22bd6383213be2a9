// What the simulated device refuses, and the memory that it keeps track of.
#include "transfer/sim_memory.h"

#include <algorithm>

#include "tests/transfer/sim_device_fixture.h"

namespace stoker {
namespace {

using SimMemoryTest = SimDeviceTest;

TEST_F(SimMemoryTest, RefusesWhatItDoesNotKnow) {
  Start();
  Bytes host(64);
  std::byte* const memory = Allocate(64);
  const StreamHandle stream = Stream(), gone = Stream();
  const EventHandle event = Event(), gone_event = Event();
  EXPECT_FALSE(device_->DestroyStream(gone));
  EXPECT_FALSE(device_->DestroyEvent(gone_event));
  const auto invalid = make_error_code(DeviceError::kInvalidValue);
  for (const StreamHandle bad : {gone, StreamHandle{event}, kHostStream, StreamHandle{999}}) {
    EXPECT_EQ(device_->DestroyStream(bad), invalid);
    EXPECT_EQ(device_->SynchronizeStream(bad), invalid);
    EXPECT_EQ(device_->StreamWaitEvent(bad, event), invalid);
    EXPECT_EQ(device_->RecordEvent(event, bad), invalid);
    EXPECT_EQ(device_->CopyToDeviceAsync(memory, host.data(), 64, bad), invalid);
  }
  for (const EventHandle bad : {gone_event, EventHandle{stream}, EventHandle{0}}) {
    EXPECT_EQ(device_->DestroyEvent(bad), invalid);
    EXPECT_EQ(device_->QueryEvent(bad), invalid);
    EXPECT_EQ(device_->SynchronizeEvent(bad), invalid);
    EXPECT_EQ(device_->StreamWaitEvent(stream, bad), invalid);
    EXPECT_EQ(device_->RecordEvent(bad, stream), invalid);
  }
}

TEST_F(SimMemoryTest, RefusesMemoryThatIsNotItsOwn) {
  Start();
  Bytes host(64);
  std::byte* const memory = Allocate(64);
  const StreamHandle stream = Stream();
  const auto invalid = make_error_code(DeviceError::kInvalidValue);
  EXPECT_EQ(device_->CopyToDeviceAsync(memory + 1, host.data(), 64, stream), invalid) << "one byte too far";
  EXPECT_EQ(device_->CopyToDeviceAsync(host.data(), host.data(), 64, stream), invalid);
  EXPECT_EQ(device_->CopyToDeviceAsync(memory, memory, 64, stream), invalid);
  EXPECT_EQ(device_->CopyToDeviceAsync(memory, nullptr, 64, stream), invalid);
  EXPECT_EQ(device_->CopyToHostAsync(host.data(), memory, SIZE_MAX, stream), invalid);
  EXPECT_EQ(device_->Free(memory + 1), invalid);
  EXPECT_FALSE(device_->Free(memory));
  EXPECT_EQ(device_->Free(memory), invalid);
  EXPECT_EQ(device_->CopyToDeviceAsync(memory, host.data(), 64, stream), invalid);
}

TEST_F(SimMemoryTest, TracksRegisteredRanges) {
  Start();
  Bytes host(192);
  const auto invalid = make_error_code(DeviceError::kInvalidValue);
  EXPECT_FALSE(device_->RegisterHost(host.data() + 64, 64));
  EXPECT_EQ(device_->RegisterHost(host.data() + 64, 64), invalid);
  EXPECT_EQ(device_->RegisterHost(host.data(), 65), invalid);
  EXPECT_EQ(device_->RegisterHost(host.data() + 127, 2), invalid);
  EXPECT_EQ(device_->RegisterHost(host.data(), 0), invalid);
  EXPECT_EQ(device_->RegisterHost(nullptr, 64), invalid);
  EXPECT_FALSE(device_->RegisterHost(host.data(), 64)) << "neighbours do not overlap";
  EXPECT_EQ(device_->UnregisterHost(host.data() + 1), invalid);
  EXPECT_FALSE(device_->UnregisterHost(host.data()));
  EXPECT_EQ(device_->UnregisterHost(host.data()), invalid);
  std::byte* const memory = Allocate(64);
  EXPECT_EQ(device_->CopyToDeviceAsync(memory, host.data() + 32, 64, Stream()), invalid) << "registered only in part";
}

TEST_F(SimMemoryTest, RunsOutOfMemory) {
  Start({.memory_bytes = 1000});
  void* memory = nullptr;
  EXPECT_EQ(device_->Allocate(1001, memory), DeviceError::kOutOfMemory);
  EXPECT_EQ(device_->Allocate(0, memory), DeviceError::kInvalidValue);
  std::byte* const block = Allocate(600);
  EXPECT_EQ(device_->Allocate(401, memory), DeviceError::kOutOfMemory);
  EXPECT_FALSE(device_->Free(block));
  EXPECT_FALSE(device_->Allocate(1000, memory));
}

TEST_F(SimMemoryTest, KeepsReturningTheErrorOfAFailedCopy) {
  Start({.fail_copy_at = 1});
  Bytes source = Filled(64, 1);
  Pin(source);
  std::byte* const memory = Allocate(64);
  const StreamHandle stream = Stream();
  const EventHandle event = Event();
  const auto failed = make_error_code(DeviceError::kLaunchFailed);
  EXPECT_FALSE(device_->CopyToDeviceAsync(memory, source.data(), 64, stream));
  EXPECT_FALSE(device_->SynchronizeStream(stream));
  (void)device_->CopyToDeviceAsync(memory, source.data(), 64, stream);  // fails later: nobody knows yet
  EXPECT_EQ(device_->SynchronizeStream(stream), failed);
  EXPECT_EQ(device_->CopyToDeviceAsync(memory, source.data(), 64, stream), failed);
  EXPECT_EQ(device_->RecordEvent(event, stream), failed);
  EXPECT_EQ(device_->QueryEvent(event), failed);
  EXPECT_EQ(device_->Free(memory), failed);
  EXPECT_EQ(device_->Attach(), failed);
}

TEST_F(SimMemoryTest, DoesNotTouchMemoryThatWentAway) {
  for (const bool free_device_memory : {true, false}) {
    Bytes out = Filled(kShort, 9);
    Start(kSlow);
    Pin(out);
    std::byte* const memory = Allocate(kShort);
    const StreamHandle stream = Stream();
    Occupy(stream);
    EXPECT_FALSE(device_->CopyToHostAsync(out.data(), memory, kShort, stream));
    EXPECT_FALSE(free_device_memory ? device_->Free(memory) : device_->UnregisterHost(out.data()));
    device_.reset();
    EXPECT_EQ(out, Filled(kShort, 9));
    long_source_.clear();  // registered with this device only
  }
}

TEST_F(SimMemoryTest, SaysHowMuchIsFree) {
  Start({.memory_bytes = 1000});
  size_t bytes = 0;
  EXPECT_FALSE(device_->FreeMemory(bytes));
  EXPECT_EQ(bytes, 1000u);
  std::byte* const block = Allocate(600);
  EXPECT_FALSE(device_->FreeMemory(bytes));
  EXPECT_EQ(bytes, 400u);
  EXPECT_FALSE(device_->Free(block));
  EXPECT_FALSE(device_->FreeMemory(bytes));
  EXPECT_EQ(bytes, 1000u);
}

TEST_F(SimMemoryTest, LetsTheHostReadAndWriteWhereItMay) {
  Start();
  std::byte* const memory = Allocate(64);
  memory[0] = std::byte{1};
  EXPECT_EQ(memory[0], std::byte{1});
  EXPECT_EQ(memory[63], std::byte{0xCD}) << "fresh memory is poisoned";
}

using SimMemoryDeathTest = SimDeviceTest;

TEST_F(SimMemoryDeathTest, FaultsWhereTheHostMayNot) {
  Start({.mode = SimMode::kEager, .host_may_access = false});
  volatile std::byte* const memory = Allocate(64);
  EXPECT_DEATH((void)memory[0], "");
  EXPECT_DEATH(memory[63] = std::byte{1}, "");
}

TEST_F(SimMemoryTest, RefusesToRegisterItsOwnMemory) {
  Start();
  EXPECT_EQ(device_->RegisterHost(Allocate(64), 64), DeviceError::kInvalidValue);
}

}  // namespace
}  // namespace stoker

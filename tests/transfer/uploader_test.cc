#include "transfer/uploader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <system_error>

#include "transfer/sim_device.h"

namespace stoker {
namespace {

constexpr size_t kDeviceBytes = size_t{1} << 20;

SimOptions Small() {
  SimOptions options = StrictSim(SimMode::kEager);
  options.memory_bytes = kDeviceBytes;
  return options;
}

TEST(Uploader, SaysHowManyBytesTheDeviceHasNoRoomForAndKeepsNone) {
  SimDevice device(Small());  // which ends the program where anything is left
  const DeviceScope scope(device);
  Ring ring(
      SlotLayout(4, {{"pixels", 1024, 0}, {"label", sizeof(int64_t), 0}}), 3, SteadyNow, [] {}, true);
  try {
    const Uploader uploader(device, ring, static_cast<uint32_t>(kDeviceBytes / ring.layout().bytes() + 1), {});
    FAIL() << "made slots out of nothing";
  } catch (const std::system_error& error) {
    EXPECT_EQ(error.code(), DeviceError::kOutOfMemory);
    EXPECT_THAT(error.what(), testing::HasSubstr(std::to_string(ring.layout().bytes()) + " bytes"));
  }
  size_t free_bytes = 0;
  EXPECT_FALSE(device.FreeMemory(free_bytes));
  EXPECT_EQ(free_bytes, kDeviceBytes);
}

TEST(Uploader, BelievesAnErrorOfAWorkThatRunsOnlyWhenItLasts) {
  SimOptions options = Small();
  options.hang_copy_at = 0;
  options.checks = SimChecks::kCollect;
  SimDevice device(options);
  const DeviceScope scope(device);
  Ring ring(
      SlotLayout(1, {{"pixels", 1024, 0}}), 1, SteadyNow, [] {}, true);
  Uploader uploader(device, ring, 1, {});
  BatchSlot* const host = ring.TryLease(1);
  ASSERT_FALSE(uploader.Upload(*host, *uploader.slots()[0]));
  device.FailCall(SimCall::kQueryEvent, 0, DeviceError::kInvalidValue);
  EXPECT_FALSE(uploader.WaitUntilIdle(std::chrono::milliseconds(5))) << "the copy runs still";
  device.EndHang();
  EXPECT_TRUE(uploader.WaitUntilIdle(std::chrono::hours(1)));
}

}  // namespace
}  // namespace stoker

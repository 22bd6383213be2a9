// What the entry points of the fake driver have in common.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "tests/fake_cuda/fake_driver.h"

// An exported symbol; everything else stays inside.
#define FAKE_CUDA extern "C" __attribute__((visibility("default")))

namespace stoker {

// The contexts that this thread has pushed, the current one last.
std::vector<FakeDevice*>& PushedDevices();

// The driver's result for what the simulated device says.
CuResult ResultOf(std::error_code error);

// A call that needs no context: `body` runs unless it is told to fail.
template <typename Body>
CuResult Call(const char* entry, Body body) {
  FakeDriver& driver = FakeDriver::Get();
  if (const CuResult result = driver.Enter(entry); result != CuResult::kSuccess) return result;
  if (const CuResult result = driver.Initialised(); result != CuResult::kSuccess) return result;
  return body(driver);
}

// What a call in a context works with.
struct InContext {
  FakeDriver& driver;
  FakeDevice& device;
  SimDevice& sim;

  // Handles of ours are the simulated device's and the number of the device, so that another one's are found out.
  uint64_t HandleOf(uint64_t sim_handle) const { return sim_handle | (device.index + uint64_t{1}) << 48; }
  // 0 for one of another device, which the simulated device knows as nobody's.
  uint64_t SimHandleOf(uint64_t handle) const {
    return handle >> 48 == device.index + uint64_t{1} ? handle & ((uint64_t{1} << 48) - 1) : 0;
  }
  EventHandle EventOf(CuEvent event) const { return SimHandleOf(reinterpret_cast<uint64_t>(event)); }
  StreamHandle StreamOf(CuStream stream) const {
    const auto handle = reinterpret_cast<uint64_t>(stream);
    if (handle == 0) driver.Violation("work on stream 0, which is everybody's");
    // The thread's default stream is ordered with the legacy one.
    if (handle == 1 || handle == 2) return kLegacyStream;
    return SimHandleOf(handle);
  }
};

// A call in the thread's current context.
template <typename Body>
CuResult CallInContext(const char* entry, Body body) {
  return Call(entry, [&](FakeDriver& driver) -> CuResult {
    if (PushedDevices().empty()) return CuResult::kInvalidContext;
    FakeDevice& device = *PushedDevices().back();
    const std::shared_ptr<SimDevice> sim = driver.SimOf(device);
    if (sim == nullptr) return CuResult::kContextIsDestroyed;
    const DeviceScope scope(*sim);
    if (scope.error()) return ResultOf(scope.error());
    return body(InContext{driver, device, *sim});
  });
}

}  // namespace stoker

#include "tests/fake_cuda/fake_driver.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>

namespace stoker {
namespace {

// A device has failed, or the driver is going away: nothing works any more. Other results are of one call.
bool Stays(CuResult result) {
  return result == CuResult::kDeinitialized || result == CuResult::kLaunchFailed || result == CuResult{700} ||
         result == CuResult{999};
}

// The process that uses the driver; set once, before exit handlers can run.
pid_t owner = 0;

void EndWithViolations() {
  if (getpid() != owner) return;  // a child of fork(), whose copies of the locks may never be let go
  const std::string violations = FakeDriver::Get().TakeViolations();
  if (violations.empty()) return;
  (void)std::fprintf(stderr, "the fake CUDA driver was misused:\n%s", violations.c_str());
  std::abort();
}

}  // namespace

FakeDriver& FakeDriver::Get() {
  // Never destroyed, as a driver's state is not: calls may come after static objects are gone.
  static auto* const driver = new FakeDriver;
  return *driver;
}

FakeDriver::FakeDriver() {
  const char* const options = std::getenv("STOKER_FAKE_CUDA");
  Configure(options == nullptr ? "" : options);
  owner = getpid();
  (void)std::atexit(EndWithViolations);
}

void FakeDriver::Configure(std::string_view options) {
  MutexLock lock(mutex_);
  for (const auto& device : devices_) {
    if (device->owed > 0) {
      violations_ += "device " + std::to_string(device->index) + ": its primary context was never released\n";
    }
    if (device->sim != nullptr) EndContext(*device);
    device->retains = device->owed = 0;
  }
  options_ = ParseFakeOptions(options);
  calls_.clear();
  broken_ = CuResult::kSuccess;
  while (devices_.size() < static_cast<size_t>(options_.devices)) {
    devices_.push_back(std::make_unique<FakeDevice>());
    devices_.back()->index = static_cast<int>(devices_.size()) - 1;
  }
}

FakeOptions FakeDriver::options() const {
  MutexLock lock(mutex_);
  return options_;
}

CuResult FakeDriver::Enter(std::string_view entry) {
  MutexLock lock(mutex_);
  const std::string name = PlainName(entry);
  const uint64_t call = ++calls_[name];
  // A driver tells what errors are called, and its own version, in any state.
  const bool tells = name != "cuGetErrorName" && name != "cuGetErrorString" && name != "cuDriverGetVersion";
  if (tells && broken_ != CuResult::kSuccess) return broken_;
  for (const FakeFault& fault : options_.faults) {
    if (fault.entry != name || fault.at != call) continue;
    if (tells && Stays(fault.result)) Break(fault.result);
    return fault.result;
  }
  return CuResult::kSuccess;
}

void FakeDriver::Break(CuResult result) {
  broken_ = result;
  for (const auto& device : devices_) {
    if (device->sim == nullptr) continue;
    CollectFrom(*device);
    device->sim->FailCall(SimCall::kFreeMemory, 0, DeviceError::kLaunchFailed);
    const DeviceScope scope(*device->sim);
    size_t bytes = 0;
    (void)device->sim->FreeMemory(bytes);
  }
}

uint64_t FakeDriver::calls(std::string_view entry) const {
  MutexLock lock(mutex_);
  const auto count = calls_.find(PlainName(entry));
  return count == calls_.end() ? 0 : count->second;
}

CuResult FakeDriver::Initialised() const {
  MutexLock lock(mutex_);
  return initialised_ ? CuResult::kSuccess : CuResult::kNotInitialized;
}

void FakeDriver::Initialise() {
  MutexLock lock(mutex_);
  initialised_ = true;
}

CuResult FakeDriver::Retain(int index, CuContext& context) {
  MutexLock lock(mutex_);
  if (index < 0 || index >= options_.devices) return CuResult::kInvalidDevice;
  FakeDevice& device = *devices_[index];
  if (device.retains++ == 0) {
    device.sim = std::make_shared<SimDevice>(options_.sim);
    device.seen_violations = 0;
  }
  ++device.owed;
  context = reinterpret_cast<CuContext>(&device);
  return CuResult::kSuccess;
}

void FakeDriver::GivesBack(int index) {
  MutexLock lock(mutex_);
  if (index >= 0 && index < options_.devices) --devices_[index]->owed;
}

CuResult FakeDriver::Release(int index) {
  MutexLock lock(mutex_);
  if (index < 0 || index >= options_.devices) return CuResult::kInvalidDevice;
  FakeDevice& device = *devices_[index];
  if (device.retains == 0) {
    violations_ += "device " + std::to_string(index) + ": its primary context was released once too often\n";
    return CuResult::kInvalidContext;
  }
  if (--device.retains == 0) EndContext(device);
  return CuResult::kSuccess;
}

void FakeDriver::EndContext(FakeDevice& device) {
  CollectFrom(device);
  device.sim = nullptr;
  for (const auto& [kind, handle] : device.live) {
    if (broken_ != CuResult::kSuccess) break;  // nothing could be given back
    violations_ += "device " + std::to_string(device.index) + ": its context ended with a " + kind + " left, " +
                   std::to_string(handle) + "\n";
  }
  device.live.clear();
}

int FakeDriver::retains(int index) const {
  MutexLock lock(mutex_);
  return devices_.at(index)->retains;
}

FakeDevice* FakeDriver::Find(CuContext context) {
  MutexLock lock(mutex_);
  for (const auto& device : devices_) {
    if (reinterpret_cast<CuContext>(device.get()) == context) return device.get();
  }
  return nullptr;
}

std::shared_ptr<SimDevice> FakeDriver::SimOf(const FakeDevice& device) {
  MutexLock lock(mutex_);
  return device.sim;
}

void FakeDriver::Made(FakeDevice& device, const char* kind, uint64_t handle) {
  MutexLock lock(mutex_);
  device.live.emplace(kind, handle);
}

bool FakeDriver::GivenBack(FakeDevice& device, const char* kind, uint64_t handle) {
  MutexLock lock(mutex_);
  return device.live.erase({kind, handle}) > 0;
}

bool FakeDriver::IsLive(const FakeDevice& device, const char* kind, uint64_t handle) const {
  MutexLock lock(mutex_);
  return device.live.contains({kind, handle});
}

void FakeDriver::Violation(const std::string& words) {
  MutexLock lock(mutex_);
  violations_ += words + "\n";
}

void FakeDriver::CollectFrom(FakeDevice& device) {
  const std::vector<std::string> violations = device.sim->violations();
  for (; device.seen_violations < violations.size(); ++device.seen_violations) {
    violations_ += "device " + std::to_string(device.index) + ": " + violations[device.seen_violations] + "\n";
  }
}

std::string FakeDriver::TakeViolations() {
  MutexLock lock(mutex_);
  for (const auto& device : devices_) {
    if (device->sim != nullptr) CollectFrom(*device);
  }
  return std::exchange(violations_, "");
}

}  // namespace stoker

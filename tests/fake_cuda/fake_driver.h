// The state behind the fake libcuda.so.1: devices that are simulated, and how strict it is.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/fake_cuda/fake_options.h"
#include "transfer/cuda_api.h"
#include "transfer/mutex.h"
#include "transfer/sim_device.h"

namespace stoker {

// A device and its primary context, which is what a CuContext points at. While nobody retains the context there is no
// simulated device.
struct FakeDevice {
  int index = 0;
  int retains = 0;
  int owed = 0;  // retains that nobody has tried to give back
  std::shared_ptr<SimDevice> sim;
  size_t seen_violations = 0;  // of the simulated device: those that were noted
  // What was made in the context and not given back: its kind and handle.
  std::set<std::pair<std::string, uint64_t>> live;
};

// Threads: thread-safe. One for the process, from the first call to its end, when violations that nobody took are
// printed and end the program.
class FakeDriver {
 public:
  static FakeDriver& Get();

  // Starts anew: all devices gone, all counts 0. The text is that of ParseFakeOptions.
  void Configure(std::string_view options) EXCLUDES(mutex_);

  FakeOptions options() const EXCLUDES(mutex_);

  // Counts a call; the result that it fails with whatever it asks for, or kSuccess. The results of an asynchronous
  // failure and of a driver that goes away stay: all later calls of all functions that could tell return them.
  CuResult Enter(std::string_view entry) EXCLUDES(mutex_);
  uint64_t calls(std::string_view entry) const EXCLUDES(mutex_);
  // What functions that need cuInit return before it.
  CuResult Initialised() const EXCLUDES(mutex_);
  void Initialise() EXCLUDES(mutex_);

  CuResult Retain(int index, CuContext& context) EXCLUDES(mutex_);
  // Counts an attempt to release, which may then fail: what a driver does not take back is no leak of its caller's.
  void GivesBack(int index) EXCLUDES(mutex_);
  CuResult Release(int index) EXCLUDES(mutex_);
  int retains(int index) const EXCLUDES(mutex_);
  // Null for what is no context. The device of a context stays where it is for the life of the process.
  FakeDevice* Find(CuContext context) EXCLUDES(mutex_);
  // Null where the device's context is retained by nobody.
  std::shared_ptr<SimDevice> SimOf(const FakeDevice& device) EXCLUDES(mutex_);

  // The books of what a context must have got back at its end.
  void Made(FakeDevice& device, const char* kind, uint64_t handle) EXCLUDES(mutex_);
  // Whether it was there.
  bool GivenBack(FakeDevice& device, const char* kind, uint64_t handle) EXCLUDES(mutex_);
  bool IsLive(const FakeDevice& device, const char* kind, uint64_t handle) const EXCLUDES(mutex_);

  void Violation(const std::string& words) EXCLUDES(mutex_);
  // All violations so far, one a line; they count as dealt with.
  std::string TakeViolations() EXCLUDES(mutex_);

 private:
  FakeDriver();

  void EndContext(FakeDevice& device) REQUIRES(mutex_);
  void CollectFrom(FakeDevice& device) REQUIRES(mutex_);
  // Drops all work of all contexts.
  void Break(CuResult result) REQUIRES(mutex_);

  mutable Mutex mutex_;
  FakeOptions options_ GUARDED_BY(mutex_);
  bool initialised_ GUARDED_BY(mutex_) = false;
  CuResult broken_ GUARDED_BY(mutex_) = CuResult::kSuccess;
  std::vector<std::unique_ptr<FakeDevice>> devices_ GUARDED_BY(mutex_);
  std::map<std::string, uint64_t, std::less<>> calls_ GUARDED_BY(mutex_);
  std::string violations_ GUARDED_BY(mutex_);
};

}  // namespace stoker

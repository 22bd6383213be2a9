#include "transfer/cuda_driver.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "tests/fake_cuda/controls.h"

namespace stoker {
namespace {

using testing::HasSubstr;

constexpr const char* kFake = "libcuda.so.1";

struct EntryPoint {
  const char* name;
  void* function;
};

// All of a table, in the order of STOKER_CUDA_API.
std::vector<EntryPoint> EntryPointsOf(const CudaApi& api) {
#define STOKER_CUDA_ENTRY_POINT(name, member, parameters) {#name, reinterpret_cast<void*>(api.member)},
  return {STOKER_CUDA_API(STOKER_CUDA_ENTRY_POINT)};
#undef STOKER_CUDA_ENTRY_POINT
}

TEST(CudaDriver, FindsEveryEntryPoint) {
  ConfigureFakeCuda();
  const CudaDriver driver(kFake);
  EXPECT_EQ(driver.refusal(), "");
  for (const EntryPoint& entry : EntryPointsOf(driver.api())) EXPECT_NE(entry.function, nullptr) << entry.name;
}

TEST(CudaDriver, TakesNoFunctionOfAnOlderAbi) {
  ConfigureFakeCuda();
  const CudaDriver driver(kFake);
  void* const library = dlopen(kFake, RTLD_NOW | RTLD_LOCAL);
  int changed = 0;
  for (const EntryPoint& entry : EntryPointsOf(driver.api())) {
    void* const newer = dlsym(library, (std::string(entry.name) + "_v2").c_str());
    EXPECT_EQ(entry.function, newer != nullptr ? newer : dlsym(library, entry.name)) << entry.name;
    changed += newer != nullptr;
  }
  EXPECT_GT(changed, 10);
}

TEST(CudaDriver, NamesTheLibraryThatIsNotThere) {
  const CudaDriver driver("libcuda_of_another_machine.so.1");
  EXPECT_THAT(driver.refusal(), HasSubstr("libcuda_of_another_machine.so.1"));
  EXPECT_THAT(driver.refusal(), HasSubstr("install the NVIDIA driver"));
}

TEST(CudaDriver, NamesTheEntryPointThatIsMissing) {
  for (const EntryPoint& entry : EntryPointsOf({})) {
    ConfigureFakeCuda(std::string("lack=") + entry.name);
    const CudaDriver driver(kFake);
    EXPECT_THAT(driver.refusal(), HasSubstr(std::string("lacks ") + entry.name + ":"));
    EXPECT_EQ(FakeCudaCalls("cuInit"), 0u) << entry.name;
  }
}

TEST(CudaDriver, SaysThatADriverIsTooOld) {
  ConfigureFakeCuda("version=11080");
  const CudaDriver driver(kFake);
  EXPECT_THAT(driver.refusal(), HasSubstr("its CUDA 11.8 is too old, 12.0 is needed"));
}

TEST(CudaDriver, SaysThatALibraryIsNoDriver) {
  const CudaDriver driver("libc.so.6");
  EXPECT_THAT(driver.refusal(), HasSubstr("reinstall the NVIDIA driver"));
}

TEST(CudaDriver, SaysWhyItCannotBeInitialised) {
  ConfigureFakeCuda("devices=0");
  EXPECT_THAT(CudaDriver(kFake).refusal(), HasSubstr("CUDA_ERROR_NO_DEVICE: no CUDA-capable device is detected"));
  ConfigureFakeCuda("fail=cuInit:1:999");
  EXPECT_THAT(CudaDriver(kFake).refusal(), HasSubstr("CUDA_ERROR_UNKNOWN: unknown error"));
  ConfigureFakeCuda("fail=cuDriverGetVersion:1:999");
  EXPECT_THAT(CudaDriver(kFake).refusal(), HasSubstr("does not tell its version"));
}

TEST(CudaDriver, IsLoadedOnceByWhoeverComesFirst) {
  ConfigureFakeCuda();
  std::vector<const CudaDriver*> seen(8);
  std::vector<std::thread> threads;
  for (const CudaDriver*& driver : seen) threads.emplace_back([&driver] { driver = &CudaDriver::Get(); });
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(seen, testing::Each(&CudaDriver::Get()));
  EXPECT_LE(FakeCudaCalls("cuInit"), 1u);  // none where an earlier test of this process was first
  EXPECT_EQ(CudaDriver::Get().refusal(), "");
}

TEST(CudaResult, IsADeviceErrorOfTheSameMeaning) {
  EXPECT_FALSE(make_error_code(CuResult::kSuccess));
  EXPECT_EQ(make_error_code(CuResult::kInvalidValue), DeviceError::kInvalidValue);
  EXPECT_EQ(make_error_code(CuResult::kInvalidHandle), DeviceError::kInvalidValue);
  EXPECT_EQ(make_error_code(CuResult::kHostMemoryNotRegistered), DeviceError::kInvalidValue);
  EXPECT_EQ(make_error_code(CuResult::kHostMemoryAlreadyRegistered), DeviceError::kInvalidValue);
  EXPECT_EQ(make_error_code(CuResult::kOutOfMemory), DeviceError::kOutOfMemory);
  EXPECT_EQ(make_error_code(CuResult::kNotReady), DeviceError::kNotReady);
  EXPECT_EQ(make_error_code(CuResult::kInvalidContext), DeviceError::kNotAttached);
  EXPECT_EQ(make_error_code(CuResult::kLaunchFailed), DeviceError::kLaunchFailed);
  EXPECT_EQ(make_error_code(CuResult::kDeinitialized), DeviceError::kShuttingDown);
}

TEST(CudaResult, OtherwiseKeepsTheDriversWords) {
  ConfigureFakeCuda();
  const std::error_code error = make_error_code(CuResult{700});
  EXPECT_EQ(error.category(), cuda_category());
  EXPECT_STREQ(error.category().name(), "cuda");
  EXPECT_EQ(error.message(), "CUDA_ERROR_ILLEGAL_ADDRESS: an illegal memory access was encountered");
  EXPECT_EQ(make_error_code(CuResult{12345}).message(), "CUDA error 12345") << "one that the driver does not know";
  EXPECT_EQ(CudaErrorWords({}, CuResult{700}), "CUDA error 700") << "no driver to ask";
}

}  // namespace
}  // namespace stoker

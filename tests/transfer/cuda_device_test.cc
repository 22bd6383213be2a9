#include "transfer/cuda_device.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

#include "tests/fake_cuda/controls.h"
#include "tests/transfer/device_conformance.h"
#include "transfer/cuda_driver.h"

namespace stoker {
namespace {

constexpr size_t kGiB = size_t{1} << 30;

using Bytes = std::vector<std::byte>;

// Address space of which only the pages that are written exist.
class Reserved {
 public:
  explicit Reserved(size_t bytes)
      : bytes_(bytes),
        data_(mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)) {
    if (data_ == MAP_FAILED) throw std::bad_alloc();
  }
  ~Reserved() { munmap(data_, bytes_); }
  Reserved(const Reserved&) = delete;
  Reserved& operator=(const Reserved&) = delete;

  std::byte* data() const { return static_cast<std::byte*>(data_); }

 private:
  const size_t bytes_;
  void* const data_;
};

class CudaDeviceTest : public testing::Test {
 protected:
  void SetUp() override { ConfigureFakeCuda(); }
  void TearDown() override { EXPECT_EQ(FakeCudaViolations(), ""); }

  const CudaApi& api() { return CudaDriver::Get().api(); }
  // The context that is current on this thread; null where there is none.
  CuContext Current() {
    CuContext context = nullptr;
    if (api().ctx_pop_current(&context) != CuResult::kSuccess) return nullptr;
    EXPECT_EQ(api().ctx_push_current(context), CuResult::kSuccess);
    return context;
  }
};

TEST_F(CudaDeviceTest, CountsTheDevices) {
  EXPECT_EQ(CudaDeviceCount(), 2);
  ConfigureFakeCuda("devices=5");
  EXPECT_EQ(CudaDeviceCount(), 5);
  ConfigureFakeCuda("fail=cuDeviceGetCount:1:999");
  EXPECT_EQ(CudaDeviceCount(), 0);
  ConfigureFakeCuda();
}

TEST_F(CudaDeviceTest, SharesThePrimaryContextAndLeavesItToTheOthers) {
  CuContext of_torch = nullptr;
  ASSERT_EQ(CudaDriver::Get().refusal(), "");
  ASSERT_EQ(api().device_primary_ctx_retain(&of_torch, 0), CuResult::kSuccess);
  {
    const auto device = MakeCudaDevice("cuda:0");
    EXPECT_EQ(FakeCudaRetains(0), 2);
    const DeviceScope scope(*device);
    EXPECT_EQ(Current(), of_torch);
  }
  EXPECT_EQ(FakeCudaRetains(0), 1);
  EXPECT_EQ(FakeCudaRetains(1), 0);
  EXPECT_EQ(api().device_primary_ctx_release(0), CuResult::kSuccess);
}

TEST_F(CudaDeviceTest, LeavesTheThreadsContextAsItWas) {
  const auto first = MakeCudaDevice("cuda:0");
  EXPECT_EQ(Current(), nullptr);
  const DeviceScope outer(*first);
  const CuContext current = Current();
  {
    const auto second = MakeCudaDevice("cuda:1");
    EXPECT_EQ(Current(), current);
    const DeviceScope inner(*second);
    EXPECT_NE(Current(), current);
  }
  EXPECT_EQ(Current(), current);
  size_t bytes = 0;
  EXPECT_FALSE(first->FreeMemory(bytes));
}

TEST_F(CudaDeviceTest, RefusesAThreadThatDidNotAttachWithoutAskingTheDriver) {
  const auto device = MakeCudaDevice("cuda");
  const auto other = MakeCudaDevice("cuda:1");
  const DeviceScope scope(*other);
  StreamHandle stream = 0;
  void* memory = nullptr;
  EXPECT_EQ(device->CreateStream(stream), DeviceError::kNotAttached);
  EXPECT_EQ(device->Allocate(64, memory), DeviceError::kNotAttached);
  EXPECT_EQ(device->UnregisterHost(memory), DeviceError::kNotAttached);
  EXPECT_EQ(FakeCudaCalls("cuStreamCreate") + FakeCudaCalls("cuMemAlloc"), 0u);
  std::thread([&] { EXPECT_EQ(other->CreateStream(stream), DeviceError::kNotAttached); }).join();
}

TEST_F(CudaDeviceTest, NeverTakesTheAbsenceOfAHandleForTheLegacyStream) {
  const auto device = MakeCudaDevice("cuda");
  const DeviceScope scope(*device);
  EventHandle event = 0;
  ASSERT_FALSE(device->CreateEvent(event));
  void* memory = nullptr;
  ASSERT_FALSE(device->Allocate(4, memory));
  int host = 0;
  EXPECT_EQ(device->RecordEvent(event, kHostStream), DeviceError::kInvalidValue);
  EXPECT_EQ(device->StreamWaitEvent(kHostStream, event), DeviceError::kInvalidValue);
  EXPECT_EQ(device->SynchronizeStream(kHostStream), DeviceError::kInvalidValue);
  EXPECT_EQ(device->DestroyStream(kHostStream), DeviceError::kInvalidValue);
  EXPECT_EQ(device->CopyToDeviceAsync(memory, &host, sizeof host, kHostStream), DeviceError::kInvalidValue);
  EXPECT_EQ(device->CopyToHostAsync(&host, memory, sizeof host, kHostStream), DeviceError::kInvalidValue);
  EXPECT_EQ(device->DestroyEvent(0), DeviceError::kInvalidValue);
  EXPECT_FALSE(device->Free(memory));
  EXPECT_FALSE(device->DestroyEvent(event));
}

TEST_F(CudaDeviceTest, WorksOnTwoDevicesAtOnce) {
  std::vector<std::unique_ptr<Device>> devices;
  devices.push_back(MakeCudaDevice("cuda:0"));
  devices.push_back(MakeCudaDevice("GPU-0f1f2f01"));
  std::vector<std::thread> threads;
  for (size_t i = 0; i < devices.size(); ++i) {
    threads.emplace_back([device = devices[i].get(), i] {
      const DeviceScope scope(*device);
      EXPECT_EQ(device->info().cuda_index, static_cast<int>(i));
      const Bytes source(4096, static_cast<std::byte>(i + 1));
      Bytes seen(source.size());
      void* memory = nullptr;
      StreamHandle stream = 0;
      ASSERT_FALSE(device->CreateStream(stream));
      ASSERT_FALSE(device->Allocate(source.size(), memory));
      EXPECT_FALSE(device->CopyToDeviceAsync(memory, source.data(), source.size(), stream));
      EXPECT_FALSE(device->CopyToHostAsync(seen.data(), memory, seen.size(), stream));
      EXPECT_FALSE(device->SynchronizeStream(stream));
      EXPECT_EQ(seen, source);
      EXPECT_FALSE(device->Free(memory));
      EXPECT_FALSE(device->DestroyStream(stream));
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_F(CudaDeviceTest, KnowsNothingOfAnotherDevicesHandles) {
  const auto first = MakeCudaDevice("cuda:0");
  const auto second = MakeCudaDevice("cuda:1");
  StreamHandle stream = 0;
  EventHandle event = 0;
  const DeviceScope outer(*first);
  ASSERT_FALSE(first->CreateStream(stream));
  {
    const DeviceScope inner(*second);
    ASSERT_FALSE(second->CreateEvent(event));
    EXPECT_EQ(second->RecordEvent(event, stream), DeviceError::kInvalidValue);
    EXPECT_FALSE(second->DestroyEvent(event));
  }
  EXPECT_FALSE(first->DestroyStream(stream));
}

TEST_F(CudaDeviceTest, RegistersMemoryInPiecesAndCopiesAcrossTheirSeams) {
  const Reserved host(2 * kGiB + 4096);
  const auto device = MakeCudaDevice("cuda");
  const DeviceScope scope(*device);
  ASSERT_FALSE(device->RegisterHost(host.data(), 2 * kGiB + 4096));
  EXPECT_EQ(FakeCudaCalls("cuMemHostRegister"), 3u);

  constexpr size_t kBytes = 8192;
  std::byte* const across = host.data() + 2 * kGiB - kBytes / 2;
  for (size_t i = 0; i < kBytes; ++i) across[i] = static_cast<std::byte>(i / 3);
  const Bytes expected(across, across + kBytes);
  void* memory = nullptr;
  StreamHandle stream = 0;
  ASSERT_FALSE(device->Allocate(kBytes, memory));
  ASSERT_FALSE(device->CreateStream(stream));
  EXPECT_FALSE(device->CopyToDeviceAsync(memory, across, kBytes, stream));
  EXPECT_FALSE(device->SynchronizeStream(stream));
  std::fill_n(across, kBytes, std::byte{0});
  EXPECT_FALSE(device->CopyToHostAsync(across, memory, kBytes, stream));
  EXPECT_FALSE(device->SynchronizeStream(stream));
  EXPECT_EQ(Bytes(across, across + kBytes), expected);
  EXPECT_EQ(FakeCudaCalls("cuMemcpyHtoDAsync"), 2u);
  EXPECT_EQ(FakeCudaCalls("cuMemcpyDtoHAsync"), 2u);

  EXPECT_FALSE(device->UnregisterHost(host.data()));
  EXPECT_EQ(FakeCudaCalls("cuMemHostUnregister"), 3u);
  EXPECT_EQ(device->UnregisterHost(host.data()), DeviceError::kInvalidValue);
  EXPECT_FALSE(device->Free(memory));
  EXPECT_FALSE(device->DestroyStream(stream));
}

TEST_F(CudaDeviceTest, RegistersAllPiecesOrNone) {
  ConfigureFakeCuda("fail=cuMemHostRegister:3:2");
  const Reserved host(3 * kGiB);
  const auto device = MakeCudaDevice("cuda");
  const DeviceScope scope(*device);
  EXPECT_EQ(device->RegisterHost(host.data(), 3 * kGiB), DeviceError::kOutOfMemory);
  EXPECT_EQ(FakeCudaCalls("cuMemHostUnregister"), 2u);
  EXPECT_EQ(device->UnregisterHost(host.data()), DeviceError::kInvalidValue);
  EXPECT_FALSE(device->RegisterHost(host.data(), 3 * kGiB)) << "nothing was left registered";
  EXPECT_FALSE(device->UnregisterHost(host.data()));
}

TEST_F(CudaDeviceTest, UnregistersTheRestOfThePiecesWhereOneFails) {
  ConfigureFakeCuda("fail=cuMemHostUnregister:1:713");
  const Reserved host(2 * kGiB);
  const auto device = MakeCudaDevice("cuda");
  const DeviceScope scope(*device);
  ASSERT_FALSE(device->RegisterHost(host.data(), 2 * kGiB));
  EXPECT_EQ(device->UnregisterHost(host.data()), DeviceError::kInvalidValue);
  EXPECT_EQ(FakeCudaCalls("cuMemHostUnregister"), 2u);
}

TEST_F(CudaDeviceTest, TellsTimesInNanoseconds) {
  ConfigureFakeCuda("mode=modelled,bytes_per_second=1e8,latency_ns=0");
  const auto device = MakeCudaDevice("cuda");
  const DeviceScope scope(*device);
  Bytes host(100'000);
  void* memory = nullptr;
  StreamHandle stream = 0;
  EventHandle start = 0, end = 0;
  ASSERT_FALSE(device->Allocate(host.size(), memory));
  ASSERT_FALSE(device->CreateStream(stream));
  ASSERT_FALSE(device->CreateEvent(start));
  ASSERT_FALSE(device->CreateEvent(end));
  EXPECT_FALSE(device->RegisterHost(host.data(), host.size()));
  EXPECT_FALSE(device->RecordEvent(start, stream));
  EXPECT_FALSE(device->CopyToDeviceAsync(memory, host.data(), host.size(), stream));
  EXPECT_FALSE(device->RecordEvent(end, stream));
  EXPECT_FALSE(device->SynchronizeEvent(end));
  int64_t ns = 0;
  EXPECT_FALSE(device->ElapsedNs(start, end, ns));
  EXPECT_GE(ns, 999'000);  // a millisecond, but for what a float cannot hold
  EXPECT_FALSE(device->UnregisterHost(host.data()));
  EXPECT_FALSE(device->DestroyEvent(start));
  EXPECT_FALSE(device->DestroyEvent(end));
  EXPECT_FALSE(device->DestroyStream(stream));
  EXPECT_FALSE(device->Free(memory));
}

TEST_F(CudaDeviceTest, CannotFinishWhereItsKernelDoesNotLoad) {
  for (const char* entry : {"cuModuleLoadData", "cuModuleGetFunction"}) {
    ConfigureFakeCuda(std::string("fail=") + entry + ":1:200");
    const auto device = MakeCudaDevice("cuda");
    EXPECT_FALSE(device->can_finish()) << entry;
    const DeviceScope scope(*device);
    EXPECT_EQ(device->FinishAsync({}, kLegacyStream), DeviceError::kInvalidValue) << entry;
  }
}

TEST_F(CudaDeviceTest, IsQuietWhenTheDriverGoesAwayFirst) {
  ConfigureFakeCuda("fail=cuEventQuery:1:4");
  const auto device = MakeCudaDevice("cuda");
  const DeviceScope scope(*device);
  EventHandle event = 0;
  ASSERT_FALSE(device->CreateEvent(event));
  EXPECT_EQ(device->QueryEvent(event), DeviceError::kShuttingDown);
  EXPECT_EQ(device->DestroyEvent(event), DeviceError::kShuttingDown);
}

// With ctest over the fake driver; run by hand on a machine with a GPU, the same over its own:
//   bin/cuda_test --gtest_filter='*DeviceConformance*'
DeviceUnderTest Cuda() {
  const std::string mode = std::getenv("STOKER_FAKE_CUDA") == nullptr ? "" : std::getenv("STOKER_FAKE_CUDA");
  DeviceUnderTest device = {.name = "Cuda", .make = [mode] {
                              if (!mode.empty()) ConfigureFakeCuda();
                              return MakeCudaDevice("cuda");
                            }};
  if (!mode.empty()) device.long_copy_bytes = size_t{1} << 16;
  device.asynchronous = mode.find("mode=eager") == std::string::npos;
  return device;
}

INSTANTIATE_TEST_SUITE_P(Of, DeviceConformance, testing::Values(Cuda()), NameOfDevice);

}  // namespace
}  // namespace stoker

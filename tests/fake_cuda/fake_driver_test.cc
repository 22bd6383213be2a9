// That the fake driver is as strict as it must be: a test that passes on it has something to say.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>
#include <string>
#include <thread>

#include "tests/fake_cuda/controls.h"
#include "tests/fake_cuda/fake_options.h"
#include "transfer/cuda_driver.h"

namespace stoker {
namespace {

using testing::HasSubstr;

// The driver by itself, without a device of ours around it.
class FakeDriverTest : public testing::Test {
 protected:
  void SetUp() override {
    ConfigureFakeCuda();
    ASSERT_EQ(CudaDriver::Get().refusal(), "");
  }
  void TearDown() override { EXPECT_EQ(FakeCudaViolations(), "") << "that was not all"; }

  CuContext Enter(CuDevice device) {
    CuContext context = nullptr;
    EXPECT_EQ(api_.device_primary_ctx_retain(&context, device), CuResult::kSuccess);
    EXPECT_EQ(api_.ctx_push_current(context), CuResult::kSuccess);
    return context;
  }
  void Leave(CuDevice device) {
    CuContext context = nullptr;
    EXPECT_EQ(api_.ctx_pop_current(&context), CuResult::kSuccess);
    EXPECT_EQ(api_.device_primary_ctx_release(device), CuResult::kSuccess);
  }

  const CudaApi& api_ = CudaDriver::Get().api();
};

TEST_F(FakeDriverTest, EndsWhoeverCallsAFunctionByItsPlainName) {
  for (const char* name : {"cuMemcpyHtoDAsync", "cuMemAlloc", "cuStreamDestroy", "cuGetProcAddress"}) {
    auto* const trap = FakeCudaControl<void()>(name);
    EXPECT_EXIT(trap(), testing::KilledBySignal(SIGABRT), std::string(name) + " was called by its plain name");
  }
}

TEST_F(FakeDriverTest, EndsAProgramWhoseMisuseNobodyAskedFor) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // a program of its own: a child of fork() leaves the driver alone
  const auto misuse = [this] {
    Enter(0);
    CuEvent event = nullptr;
    (void)api_.event_create(&event, kCuEventBlockingSync);
    (void)api_.event_record(event, nullptr);
    std::exit(0);  // NOLINT: what is tested
  };
  EXPECT_EXIT(misuse(), testing::KilledBySignal(SIGABRT), "work on stream 0, which is everybody's");
}

TEST_F(FakeDriverTest, AsksForACurrentContext) {
  size_t bytes = 0;
  CuDevicePointer memory = 0;
  CuStream stream = nullptr;
  EXPECT_EQ(api_.mem_alloc(&memory, 64), CuResult::kInvalidContext);
  EXPECT_EQ(api_.stream_create(&stream, kCuStreamNonBlocking), CuResult::kInvalidContext);
  const CuContext context = Enter(0);
  EXPECT_EQ(api_.mem_get_info(&bytes, &bytes), CuResult::kSuccess);
  std::thread([&] { EXPECT_EQ(api_.mem_get_info(&bytes, &bytes), CuResult::kInvalidContext); }).join();
  EXPECT_EQ(api_.device_primary_ctx_release(0), CuResult::kSuccess);
  EXPECT_EQ(api_.mem_get_info(&bytes, &bytes), CuResult::kContextIsDestroyed);
  CuContext popped = nullptr;
  EXPECT_EQ(api_.ctx_pop_current(&popped), CuResult::kSuccess);
  EXPECT_EQ(popped, context);
  EXPECT_EQ(api_.ctx_pop_current(&popped), CuResult::kInvalidContext);
}

TEST_F(FakeDriverTest, KnowsNoHandleOfAnotherDevice) {
  Enter(0);
  CuStream stream = nullptr;
  ASSERT_EQ(api_.stream_create(&stream, kCuStreamNonBlocking), CuResult::kSuccess);
  Enter(1);
  EXPECT_EQ(api_.stream_synchronize(stream), CuResult::kInvalidValue);
  Leave(1);
  EXPECT_EQ(api_.stream_synchronize(stream), CuResult::kSuccess);
  EXPECT_EQ(api_.stream_destroy(stream), CuResult::kSuccess);
  Leave(0);
}

TEST_F(FakeDriverTest, NamesWhatAContextDidNotGetBack) {
  Enter(1);
  CuDevicePointer memory = 0;
  CuStream stream = nullptr;
  CuEvent event = nullptr;
  EXPECT_EQ(api_.mem_alloc(&memory, 64), CuResult::kSuccess);
  EXPECT_EQ(api_.stream_create(&stream, kCuStreamNonBlocking), CuResult::kSuccess);
  EXPECT_EQ(api_.event_create(&event, kCuEventBlockingSync), CuResult::kSuccess);
  Leave(1);
  const std::string violations = FakeCudaViolations();
  for (const char* kind : {"block of memory", "stream", "event"}) {
    EXPECT_THAT(violations, HasSubstr(std::string("device 1: its context ended with a ") + kind + " left"));
  }
}

TEST_F(FakeDriverTest, CountsTheHoldersOfAContext) {
  CuContext context = nullptr;
  EXPECT_EQ(api_.device_primary_ctx_retain(&context, 0), CuResult::kSuccess);
  ConfigureFakeCuda();
  EXPECT_THAT(FakeCudaViolations(), HasSubstr("device 0: its primary context was never released"));
  EXPECT_EQ(api_.device_primary_ctx_release(0), CuResult::kInvalidContext);
  EXPECT_THAT(FakeCudaViolations(), HasSubstr("device 0: its primary context was released once too often"));
}

TEST_F(FakeDriverTest, SeesStreamsEventsAndMemoryOfTheWrongKind) {
  Enter(0);
  CuStream stream = nullptr;
  CuEvent event = nullptr;
  alignas(4096) static char memory[4096];
  EXPECT_EQ(api_.stream_create(&stream, 0), CuResult::kSuccess);
  EXPECT_THAT(FakeCudaViolations(), HasSubstr("a stream that waits for the legacy stream"));
  EXPECT_EQ(api_.event_create(&event, 2), CuResult::kSuccess);
  EXPECT_THAT(FakeCudaViolations(), HasSubstr("an event without times"));
  EXPECT_EQ(api_.mem_host_register(memory, sizeof memory, 0), CuResult::kSuccess);
  EXPECT_THAT(FakeCudaViolations(), HasSubstr("host memory registered for one context only"));
  EXPECT_EQ(api_.mem_host_unregister(memory), CuResult::kSuccess);
  EXPECT_EQ(api_.mem_host_unregister(memory), CuResult::kHostMemoryNotRegistered);
  EXPECT_THAT(FakeCudaViolations(), HasSubstr("UnregisterHost of memory that is not there"));
  EXPECT_EQ(api_.event_destroy(event), CuResult::kSuccess);
  EXPECT_EQ(api_.stream_destroy(stream), CuResult::kSuccess);
  Leave(0);
}

TEST_F(FakeDriverTest, FailsTheCallsThatItIsToldTo) {
  ConfigureFakeCuda("fail=cuMemAlloc_v2:2:2,fail=cuEventQuery:1:719");
  Enter(0);
  CuDevicePointer memory = 0;
  EXPECT_EQ(api_.mem_alloc(&memory, 64), CuResult::kSuccess);
  EXPECT_EQ(api_.mem_free(memory), CuResult::kSuccess);
  EXPECT_EQ(api_.mem_alloc(&memory, 64), CuResult::kOutOfMemory);
  EXPECT_EQ(api_.mem_alloc(&memory, 64), CuResult::kSuccess);
  EXPECT_EQ(FakeCudaCalls("cuMemAlloc"), 3u);
  EXPECT_EQ(api_.event_query(nullptr), CuResult::kLaunchFailed);
  EXPECT_EQ(api_.mem_free(memory), CuResult::kLaunchFailed) << "a failed device stays so";
  ConfigureFakeCuda();
  EXPECT_THAT(FakeCudaViolations(), HasSubstr("never released"));
}

TEST(FakeOptions, AreUnderstoodOrRefused) {
  const FakeOptions options = ParseFakeOptions(
      "devices=3,version=12040,mode=random,seed=7,lack=cuEventRecord,fail=cuMemAlloc_v2:2:700,bytes_per_second=24e9,"
      "latency_ns=5,memory_bytes=4096,fail_copy_at=2");
  EXPECT_EQ(options.devices, 3);
  EXPECT_EQ(options.version, 12040);
  EXPECT_EQ(options.lack, std::set<std::string>{"cuEventRecord"});
  ASSERT_EQ(options.faults.size(), 1u);
  EXPECT_EQ(options.faults[0].entry, "cuMemAlloc");
  EXPECT_EQ(options.faults[0].at, 2u);
  EXPECT_EQ(options.faults[0].result, CuResult{700});
  EXPECT_EQ(options.sim.mode, SimMode::kRandom);
  EXPECT_EQ(options.sim.seed, 7u);
  EXPECT_EQ(options.sim.bytes_per_second, 24e9);
  EXPECT_EQ(options.sim.latency_ns, 5);
  EXPECT_EQ(options.sim.memory_bytes, 4096u);
  EXPECT_EQ(options.sim.fail_copy_at, 2);
  for (const char* text : {"device=1", "mode=fast", "fail=cuInit", "fail=cuInit:1", "seed=x", "lazy"}) {
    EXPECT_THAT([&] { ParseFakeOptions(text); }, testing::ThrowsMessage<std::invalid_argument>(HasSubstr(text)));
  }
}

}  // namespace
}  // namespace stoker

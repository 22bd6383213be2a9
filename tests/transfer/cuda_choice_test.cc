#include "transfer/cuda_choice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <system_error>

#include "tests/fake_cuda/controls.h"

namespace stoker {
namespace {

using testing::AllOf;
using testing::HasSubstr;

DeviceInfo Choose(std::string_view which) { return ChooseCudaDevice(CudaDriver("libcuda.so.1"), which); }

// What the choice throws, as the very type that is promised.
template <typename Error>
std::string ErrorOf(std::string_view which) {
  try {
    Choose(which);
  } catch (const Error& error) {
    return error.what();
  } catch (const std::exception& error) {
    ADD_FAILURE() << "of another type: " << error.what();
    return "";
  }
  ADD_FAILURE() << which << " was found";
  return "";
}

TEST(ChooseCudaDevice, TellsWhatTheDeviceIs) {
  ConfigureFakeCuda("memory_bytes=123456789");
  const DeviceInfo info = Choose("cuda:1");
  EXPECT_EQ(info.name, "cuda:1");
  EXPECT_EQ(info.cuda_index, 1);
  EXPECT_EQ(info.model, "Fake GPU 1");
  EXPECT_EQ(info.uuid, "GPU-0f1f2f01-4f5f-6f7f-8f9f-afbfcfdfefff");
  EXPECT_EQ(info.pci_address, "fa4e:a1:00.0");
  EXPECT_EQ(info.numa_node, 1);
  EXPECT_EQ(info.copy_engines, 2);
  EXPECT_EQ(info.memory_bytes, 123456789u);
}

TEST(ChooseCudaDevice, TakesTheFirstWithoutAnIndex) {
  ConfigureFakeCuda();
  EXPECT_EQ(Choose("cuda").name, "cuda:0");
  EXPECT_EQ(Choose("cuda:0").name, "cuda:0");
}

TEST(ChooseCudaDevice, FindsADeviceByItsUuidAndByTheBeginningOfIt) {
  ConfigureFakeCuda("devices=3");
  EXPECT_EQ(Choose("GPU-0f1f2f02-4f5f-6f7f-8f9f-afbfcfdfefff").name, "cuda:2");
  EXPECT_EQ(Choose("GPU-0f1f2f01").name, "cuda:1");
  EXPECT_EQ(Choose("GPU-0F1F2F00-4f").name, "cuda:0");
  ConfigureFakeCuda("devices=1");
  EXPECT_EQ(Choose("GPU-0f").name, "cuda:0");
}

TEST(ChooseCudaDevice, SaysThatAUuidMeansSeveral) {
  ConfigureFakeCuda();
  EXPECT_THAT(ErrorOf<std::invalid_argument>("GPU-0f1f2f0"),
              AllOf(HasSubstr("'GPU-0f1f2f0' means several"), HasSubstr("GPU-0f1f2f00-"), HasSubstr("GPU-0f1f2f01-")));
}

TEST(ChooseCudaDevice, SaysWhatThereIsWhereTheDeviceIsNotThere) {
  ConfigureFakeCuda();
  for (const char* which : {"cuda:2", "cuda:123456", "GPU-ffff"}) {
    EXPECT_THAT(
        ErrorOf<std::runtime_error>(which),
        AllOf(HasSubstr("no device '" + std::string(which) + "'"), HasSubstr("cuda:0 (Fake GPU 0, GPU-0f1f2f00-"),
              HasSubstr("cuda:1 (Fake GPU 1, GPU-0f1f2f01-"), HasSubstr("CUDA_VISIBLE_DEVICES")));
  }
}

TEST(ChooseCudaDevice, RefusesWhatIsNoName) {
  ConfigureFakeCuda();
  for (const char* which :
       {"", "cuda:", "cuda:-1", "cuda:1x", "cuda: 1", "cudas", "sim", "gpu-0f1f2f01", "cuda:9999999999"}) {
    EXPECT_THAT(ErrorOf<std::invalid_argument>(which), HasSubstr("device '" + std::string(which) + "'")) << which;
  }
  EXPECT_EQ(FakeCudaCalls("cuDeviceGetCount"), 0u);
}

TEST(ChooseCudaDevice, SaysWhatIsWrongWithTheDriver) {
  EXPECT_THAT(
      [] { ChooseCudaDevice(CudaDriver("libcuda_of_another_machine.so.1"), "cuda"); },
      testing::ThrowsMessage<std::runtime_error>(AllOf(HasSubstr("no device 'cuda'"), HasSubstr("libcuda_of_another"),
                                                       HasSubstr("install the NVIDIA driver"))));
}

TEST(ChooseCudaDevice, KeepsTheDriversErrorOfWhatEveryDeviceTells) {
  for (const char* entry : {"cuDeviceGetCount", "cuDeviceGet", "cuDeviceGetName", "cuDeviceGetUuid", "cuDeviceTotalMem",
                            "cuDeviceGetAttribute"}) {
    ConfigureFakeCuda("fail=" + std::string(entry) + ":1:101");
    try {
      Choose("cuda");
      ADD_FAILURE() << entry;
    } catch (const std::system_error& error) {
      EXPECT_EQ(error.code().value(), 101) << entry;
      EXPECT_THAT(error.what(), HasSubstr("CUDA_ERROR_INVALID_DEVICE: invalid device ordinal")) << entry;
    }
  }
}

TEST(ChooseCudaDevice, DoesWithoutKnowingTheBusAndTheNode) {
  ConfigureFakeCuda(
      "fail=cuDeviceGetPCIBusId:1:801,fail=cuDeviceGetAttribute:2:1");  // an old driver, a virtual machine
  const DeviceInfo info = Choose("cuda");
  EXPECT_EQ(info.pci_address, "");
  EXPECT_EQ(info.numa_node, -1);
}

}  // namespace
}  // namespace stoker

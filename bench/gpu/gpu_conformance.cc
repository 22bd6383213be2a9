// The conformance suite of the device seam on the first GPU of this machine, whatever its driver. Exit status 77: there
// is none, and stderr says why.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <system_error>

#include "tests/transfer/device_conformance.h"
#include "transfer/cuda_device.h"

namespace stoker {
namespace {

constexpr int kCannotRun = 77;

DeviceUnderTest Gpu() {
  DeviceUnderTest device = {.name = "Cuda", .make = [] { return MakeCudaDevice("cuda"); }};
  // The fake driver's copies end when it says, however short they are.
  if (std::getenv("STOKER_FAKE_CUDA") != nullptr) device.long_copy_bytes = size_t{1} << 16;
  return device;
}

INSTANTIATE_TEST_SUITE_P(Of, DeviceConformance, testing::Values(Gpu()), NameOfDevice);

int Main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  try {
    (void)MakeCudaDevice("cuda");
  } catch (const std::system_error& error) {  // there is one, and it does not work
    (void)std::fprintf(stderr, "%s\n", error.what());
    return 1;
  } catch (const std::runtime_error& error) {
    (void)std::fprintf(stderr, "%s\n", error.what());
    return kCannotRun;
  }
  return RUN_ALL_TESTS();
}

}  // namespace
}  // namespace stoker

int main(int argc, char** argv) { return stoker::Main(argc, argv); }

// How the fake driver is looked up, what is there only as a trap, and the controls for tests.
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "tests/fake_cuda/entry_point.h"
#include "tests/fake_cuda/fake_cuda.h"

using namespace stoker;  // NOLINT: what follows has C's names

// A driver still exports the first ABI of functions that have changed. Linked or looked up by their plain names they
// take 32-bit sizes and pointers: whoever calls them is lost.
#define FAKE_CUDA_CHANGED(X)          \
  X(cuCtxPopCurrent, 4000)            \
  X(cuCtxPushCurrent, 4000)           \
  X(cuDeviceGetUuid, 11040)           \
  X(cuDevicePrimaryCtxRelease, 11000) \
  X(cuDeviceTotalMem, 3020)           \
  X(cuEventDestroy, 4000)             \
  X(cuMemAlloc, 3020)                 \
  X(cuMemFree, 3020)                  \
  X(cuMemGetInfo, 3020)               \
  X(cuMemHostRegister, 6050)          \
  X(cuMemcpyDtoHAsync, 3020)          \
  X(cuMemcpyHtoDAsync, 3020)          \
  X(cuStreamDestroy, 4000)

#define FAKE_CUDA_SAME(X)     \
  X(cuInit)                   \
  X(cuDriverGetVersion)       \
  X(cuGetErrorName)           \
  X(cuGetErrorString)         \
  X(cuDeviceGetCount)         \
  X(cuDeviceGet)              \
  X(cuDeviceGetName)          \
  X(cuDeviceGetPCIBusId)      \
  X(cuDeviceGetAttribute)     \
  X(cuDevicePrimaryCtxRetain) \
  X(cuMemHostUnregister)      \
  X(cuStreamCreate)           \
  X(cuStreamSynchronize)      \
  X(cuStreamWaitEvent)        \
  X(cuEventCreate)            \
  X(cuEventRecord)            \
  X(cuEventQuery)             \
  X(cuEventSynchronize)       \
  X(cuEventElapsedTime)       \
  X(cuModuleLoadData)         \
  X(cuModuleUnload)           \
  X(cuModuleGetFunction)      \
  X(cuLaunchKernel)

namespace {

[[noreturn]] void EndBecauseOf(const char* obsolete) {
  (void)std::fprintf(stderr, "%s was called by its plain name: that is its first, 32-bit ABI\n", obsolete);
  std::abort();
}

}  // namespace

#define FAKE_CUDA_TRAP(name, level) \
  FAKE_CUDA void name() { EndBecauseOf(#name); }
FAKE_CUDA_CHANGED(FAKE_CUDA_TRAP)
FAKE_CUDA_TRAP(cuGetProcAddress, 12000)
#undef FAKE_CUDA_TRAP

#define FAKE_CUDA_DECLARE_CHANGED(name, level) extern "C" void name##_v2();
#define FAKE_CUDA_DECLARE_SAME(name) extern "C" void name();
FAKE_CUDA_CHANGED(FAKE_CUDA_DECLARE_CHANGED)
FAKE_CUDA_SAME(FAKE_CUDA_DECLARE_SAME)
#undef FAKE_CUDA_DECLARE_CHANGED
#undef FAKE_CUDA_DECLARE_SAME

namespace {

struct Symbol {
  const char* name;
  int level;  // since which `function` is what is meant ...
  void (*function)();
  void (*before)();  // ... and what it was until then
};
constexpr Symbol kSymbols[] = {
#define FAKE_CUDA_CHANGED_SYMBOL(name, level) {#name, level, name##_v2, name},
#define FAKE_CUDA_SAME_SYMBOL(name) {#name, 0, name, nullptr},
    FAKE_CUDA_CHANGED(FAKE_CUDA_CHANGED_SYMBOL) FAKE_CUDA_SAME(FAKE_CUDA_SAME_SYMBOL)
#undef FAKE_CUDA_CHANGED_SYMBOL
#undef FAKE_CUDA_SAME_SYMBOL
};

}  // namespace

FAKE_CUDA CuResult cuGetProcAddress_v2(const char* symbol, void** function, int level, uint64_t flags,
                                       CuSymbolStatus* status) {
  const FakeOptions options = FakeDriver::Get().options();
  *function = nullptr;
  if (flags != kCuLegacyStreamFunctions) FakeDriver::Get().Violation("functions whose stream 0 is not the legacy one");
  *status = CuSymbolStatus::kNotFound;
  for (const Symbol& one : kSymbols) {
    if (std::strcmp(one.name, symbol) != 0 || options.lack.contains(one.name)) continue;
    *function = reinterpret_cast<void*>(level >= one.level ? one.function : one.before);
    *status = CuSymbolStatus::kFound;
    return CuResult::kSuccess;
  }
  return CuResult::kNotFound;
}

FAKE_CUDA void fakeCudaConfigure(const char* options) {
  FakeDriver::Get().Configure(options);
  PushedDevices().clear();
}

FAKE_CUDA uint64_t fakeCudaCalls(const char* entry) { return FakeDriver::Get().calls(entry); }

FAKE_CUDA int fakeCudaRetains(int device) { return FakeDriver::Get().retains(device); }

FAKE_CUDA const char* fakeCudaViolations() {
  thread_local std::string violations;
  violations = FakeDriver::Get().TakeViolations();
  return violations.c_str();
}

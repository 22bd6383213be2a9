// The part of CUDA's driver API that is used, declared here: building needs no toolkit, and one binary serves machines
// with and without a GPU. Source: the CUDA driver API reference, level 12.0.
#pragma once

#include <cstddef>
#include <cstdint>
#include <system_error>

namespace stoker {

using CuContext = struct CuContextObject*;
using CuStream = struct CuStreamObject*;
using CuEvent = struct CuEventObject*;
using CuModule = struct CuModuleObject*;
using CuFunction = struct CuFunctionObject*;
using CuDevice = int;
using CuDevicePointer = unsigned long long;  // NOLINT: the driver's own type
struct CuUuid {
  char bytes[16];
};

// The results that are told apart; a driver returns many more.
enum class CuResult : int {
  kSuccess = 0,
  kInvalidValue = 1,
  kOutOfMemory = 2,
  kNotInitialized = 3,
  kDeinitialized = 4,
  kNoDevice = 100,
  kInvalidDevice = 101,
  kInvalidImage = 200,
  kInvalidContext = 201,
  kInvalidHandle = 400,
  kNotFound = 500,
  kNotReady = 600,
  kContextIsDestroyed = 709,
  kHostMemoryAlreadyRegistered = 712,
  kHostMemoryNotRegistered = 713,
  kLaunchFailed = 719,
};

enum class CuDeviceAttribute : int {
  kAsyncEngineCount = 40,
  kHostNumaId = 134,  // since 12.2
};

inline constexpr unsigned kCuMemHostRegisterPortable = 1;
inline constexpr unsigned kCuStreamNonBlocking = 1;
inline constexpr unsigned kCuEventBlockingSync = 1;  // whoever waits sleeps instead of spinning; with times

// Asks cuGetProcAddress for the ABI of this level, and for functions whose stream 0 is the legacy one.
inline constexpr int kCuApiLevel = 12'000;
inline constexpr uint64_t kCuLegacyStreamFunctions = 1;
enum class CuSymbolStatus : int { kFound = 0, kNotFound = 1, kVersionNotSufficient = 2 };
using CuGetProcAddress = CuResult(const char* symbol, void** function, int level, uint64_t flags,
                                  CuSymbolStatus* status);

// Every entry point that is used, once: X(name in the driver, our name, parameters); all return a CuResult.
#define STOKER_CUDA_API(X)                                                                                       \
  X(cuInit, init, (unsigned flags))                                                                              \
  X(cuDriverGetVersion, driver_get_version, (int* version))                                                      \
  X(cuGetErrorName, get_error_name, (CuResult result, const char** name))                                        \
  X(cuGetErrorString, get_error_string, (CuResult result, const char** words))                                   \
  X(cuDeviceGetCount, device_get_count, (int* count))                                                            \
  X(cuDeviceGet, device_get, (CuDevice * device, int index))                                                     \
  X(cuDeviceGetName, device_get_name, (char* name, int size, CuDevice device))                                   \
  X(cuDeviceGetUuid, device_get_uuid, (CuUuid * uuid, CuDevice device))                                          \
  X(cuDeviceGetPCIBusId, device_get_pci_bus_id, (char* address, int size, CuDevice device))                      \
  X(cuDeviceGetAttribute, device_get_attribute, (int* value, CuDeviceAttribute attribute, CuDevice device))      \
  X(cuDeviceTotalMem, device_total_mem, (size_t * bytes, CuDevice device))                                       \
  X(cuDevicePrimaryCtxRetain, device_primary_ctx_retain, (CuContext * context, CuDevice device))                 \
  X(cuDevicePrimaryCtxRelease, device_primary_ctx_release, (CuDevice device))                                    \
  X(cuCtxPushCurrent, ctx_push_current, (CuContext context))                                                     \
  X(cuCtxPopCurrent, ctx_pop_current, (CuContext * context))                                                     \
  X(cuMemGetInfo, mem_get_info, (size_t * free_bytes, size_t * total_bytes))                                     \
  X(cuMemAlloc, mem_alloc, (CuDevicePointer * memory, size_t bytes))                                             \
  X(cuMemFree, mem_free, (CuDevicePointer memory))                                                               \
  X(cuMemHostRegister, mem_host_register, (void* memory, size_t bytes, unsigned flags))                          \
  X(cuMemHostUnregister, mem_host_unregister, (void* memory))                                                    \
  X(cuStreamCreate, stream_create, (CuStream * stream, unsigned flags))                                          \
  X(cuStreamDestroy, stream_destroy, (CuStream stream))                                                          \
  X(cuStreamSynchronize, stream_synchronize, (CuStream stream))                                                  \
  X(cuStreamWaitEvent, stream_wait_event, (CuStream stream, CuEvent event, unsigned flags))                      \
  X(cuEventCreate, event_create, (CuEvent * event, unsigned flags))                                              \
  X(cuEventDestroy, event_destroy, (CuEvent event))                                                              \
  X(cuEventRecord, event_record, (CuEvent event, CuStream stream))                                               \
  X(cuEventQuery, event_query, (CuEvent event))                                                                  \
  X(cuEventSynchronize, event_synchronize, (CuEvent event))                                                      \
  X(cuEventElapsedTime, event_elapsed_time, (float* milliseconds, CuEvent start, CuEvent end))                   \
  X(cuMemcpyHtoDAsync, memcpy_htod_async, (CuDevicePointer to, const void* from, size_t bytes, CuStream stream)) \
  X(cuMemcpyDtoHAsync, memcpy_dtoh_async, (void* to, CuDevicePointer from, size_t bytes, CuStream stream))       \
  X(cuModuleLoadData, module_load_data, (CuModule * module, const void* image))                                  \
  X(cuModuleUnload, module_unload, (CuModule module))                                                            \
  X(cuModuleGetFunction, module_get_function, (CuFunction * function, CuModule module, const char* name))        \
  X(cuLaunchKernel, launch_kernel,                                                                               \
    (CuFunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y, \
     unsigned block_z, unsigned shared_bytes, CuStream stream, void** parameters, void** extra))

// The entry points of one driver; a call costs one indirection.
struct CudaApi {
#define STOKER_CUDA_MEMBER(name, member, parameters) \
  CuResult(*member) parameters = nullptr;  // NOLINT(bugprone-macro-parentheses): a parameter list
  STOKER_CUDA_API(STOKER_CUDA_MEMBER)
#undef STOKER_CUDA_MEMBER
};

}  // namespace stoker

#include "transfer/cuda_api.h"

#include <gtest/gtest.h>

#if __has_include(<cuda.h>)
#include <cuda.h>

#include <type_traits>

#include "transfer/device.h"

namespace stoker {
namespace {

// The toolkit's types, as cuda_api.h declares them.
template <typename T>
struct Ours {
  using Type = T;
};
template <typename T>
struct Ours<T*> {
  using Type = typename Ours<T>::Type*;
};
template <typename T>
struct Ours<const T> {
  using Type = const typename Ours<T>::Type;
};
template <typename R, typename... P>
struct Ours<R(P...)> {
  using Type = typename Ours<R>::Type(typename Ours<P>::Type...);
};
#define STOKER_SAME_TYPE(theirs, ours)                                                 \
  template <>                                                                          \
  struct Ours<theirs> {                                                                \
    static_assert(sizeof(theirs) == sizeof(ours) && alignof(theirs) == alignof(ours)); \
    using Type = ours;                                                                 \
  };
STOKER_SAME_TYPE(CUresult, CuResult)
STOKER_SAME_TYPE(CUdevice_attribute, CuDeviceAttribute)
STOKER_SAME_TYPE(CUdriverProcAddressQueryResult, CuSymbolStatus)
STOKER_SAME_TYPE(CUuuid, CuUuid)
STOKER_SAME_TYPE(CUcontext, CuContext)
STOKER_SAME_TYPE(CUstream, CuStream)
STOKER_SAME_TYPE(CUevent, CuEvent)
STOKER_SAME_TYPE(CUmodule, CuModule)
STOKER_SAME_TYPE(CUfunction, CuFunction)

// The toolkit's macros turn a name into that of its current ABI, which is what is meant.
#define STOKER_SAME_SIGNATURE(name, member, parameters) \
  static_assert(std::is_same_v<Ours<decltype(::name)>::Type, CuResult parameters>);
STOKER_CUDA_API(STOKER_SAME_SIGNATURE)
static_assert(std::is_same_v<Ours<decltype(::cuGetProcAddress_v2)>::Type, CuGetProcAddress>);

#define STOKER_SAME_VALUE(theirs, ours) static_assert(static_cast<int64_t>(theirs) == static_cast<int64_t>(ours));
STOKER_SAME_VALUE(CUDA_SUCCESS, CuResult::kSuccess)
STOKER_SAME_VALUE(CUDA_ERROR_INVALID_VALUE, CuResult::kInvalidValue)
STOKER_SAME_VALUE(CUDA_ERROR_OUT_OF_MEMORY, CuResult::kOutOfMemory)
STOKER_SAME_VALUE(CUDA_ERROR_NOT_INITIALIZED, CuResult::kNotInitialized)
STOKER_SAME_VALUE(CUDA_ERROR_DEINITIALIZED, CuResult::kDeinitialized)
STOKER_SAME_VALUE(CUDA_ERROR_NO_DEVICE, CuResult::kNoDevice)
STOKER_SAME_VALUE(CUDA_ERROR_INVALID_DEVICE, CuResult::kInvalidDevice)
STOKER_SAME_VALUE(CUDA_ERROR_INVALID_IMAGE, CuResult::kInvalidImage)
STOKER_SAME_VALUE(CUDA_ERROR_INVALID_CONTEXT, CuResult::kInvalidContext)
STOKER_SAME_VALUE(CUDA_ERROR_INVALID_HANDLE, CuResult::kInvalidHandle)
STOKER_SAME_VALUE(CUDA_ERROR_NOT_FOUND, CuResult::kNotFound)
STOKER_SAME_VALUE(CUDA_ERROR_NOT_READY, CuResult::kNotReady)
STOKER_SAME_VALUE(CUDA_ERROR_CONTEXT_IS_DESTROYED, CuResult::kContextIsDestroyed)
STOKER_SAME_VALUE(CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED, CuResult::kHostMemoryAlreadyRegistered)
STOKER_SAME_VALUE(CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED, CuResult::kHostMemoryNotRegistered)
STOKER_SAME_VALUE(CUDA_ERROR_LAUNCH_FAILED, CuResult::kLaunchFailed)
STOKER_SAME_VALUE(CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT, CuDeviceAttribute::kAsyncEngineCount)
STOKER_SAME_VALUE(CU_DEVICE_ATTRIBUTE_HOST_NUMA_ID, CuDeviceAttribute::kHostNumaId)
STOKER_SAME_VALUE(CU_MEMHOSTREGISTER_PORTABLE, kCuMemHostRegisterPortable)
STOKER_SAME_VALUE(CU_STREAM_NON_BLOCKING, kCuStreamNonBlocking)
STOKER_SAME_VALUE(CU_EVENT_BLOCKING_SYNC, kCuEventBlockingSync)
STOKER_SAME_VALUE(CU_GET_PROC_ADDRESS_LEGACY_STREAM, kCuLegacyStreamFunctions)
STOKER_SAME_VALUE(CU_GET_PROC_ADDRESS_SUCCESS, CuSymbolStatus::kFound)
STOKER_SAME_VALUE(CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND, CuSymbolStatus::kNotFound)
STOKER_SAME_VALUE(CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT, CuSymbolStatus::kVersionNotSufficient)

TEST(CudaApi, IsWhatTheToolkitDeclares) {
  // The compiler has held both against each other; streams by number are pointers, which it cannot compare.
  EXPECT_EQ(reinterpret_cast<StreamHandle>(CU_STREAM_LEGACY), kLegacyStream);
}

}  // namespace
}  // namespace stoker
#else
TEST(CudaApi, IsWhatTheToolkitDeclares) { GTEST_SKIP() << "no cuda.h was found: nothing to compare with"; }
#endif

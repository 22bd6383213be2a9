// The kernel of FinishLaunch: compiled into a fat binary that cuda_finish_image.cc carries.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#define STOKER_DEVICE __device__ __forceinline__
#include "transfer/finish_kernel_body.h"

namespace stoker {
namespace {

template <class To, class From>
__device__ __forceinline__ To BitsOf(From from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  memcpy(&to, &from, sizeof(to));
  return to;
}

struct CudaDevice {
  // The bits of 2^23 + v end in v. One permutation and one subtraction; a conversion would take longer than both.
  static __device__ __forceinline__ float ByteOf(uint32_t word, int i) {
    return __uint_as_float(__byte_perm(word, 0x4b000000u, 0x7440u | static_cast<uint32_t>(i))) - 8388608.0f;
  }
  struct Half {
    using Bits = uint16_t;
    static __device__ __forceinline__ Bits Round(float value) { return BitsOf<Bits>(__float2half_rn(value)); }
    static __device__ __forceinline__ uint32_t RoundPair(float low, float high) {
      return BitsOf<uint32_t>(__floats2half2_rn(low, high));
    }
  };
  struct Bfloat16 {
    using Bits = uint16_t;
    static __device__ __forceinline__ Bits Round(float value) { return BitsOf<Bits>(__float2bfloat16_rn(value)); }
    static __device__ __forceinline__ uint32_t RoundPair(float low, float high) {
      return BitsOf<uint32_t>(__floats2bfloat162_rn(low, high));
    }
  };
};

}  // namespace
}  // namespace stoker

extern "C" __global__ void __launch_bounds__(stoker::finish_kernel::kThreads)
    stoker_finish(const __grid_constant__ stoker::FinishLaunch launch) {
  stoker::finish_kernel::RunThread<stoker::CudaDevice>(launch, blockIdx.x, threadIdx.x);
}

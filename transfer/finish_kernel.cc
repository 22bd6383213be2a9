#include "transfer/finish_kernel.h"

#include <bit>
#include <cassert>
#include <cmath>
#include <limits>

#include "transfer/finish_kernel_body.h"

namespace stoker {
namespace {

template <uint16_t (*kRound)(float)>
struct Rounded {
  using Bits = uint16_t;
  static Bits Round(float value) { return kRound(value); }
  static uint32_t RoundPair(float low, float high) { return kRound(low) | uint32_t{kRound(high)} << 16; }
};

uint16_t RoundToHalf(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  const uint32_t sign = bits >> 16 & 0x8000u;
  const float magnitude = std::fabs(value);
  if (std::isnan(value)) return static_cast<uint16_t>(sign | 0x7e00u);
  if (magnitude >= 65520.0f) return static_cast<uint16_t>(sign | 0x7c00u);  // halfway between the largest and 65536
  if (magnitude < 0x1p-14f) {
    // Subnormal: adding 0.5, whose last bit is 2^-24, rounds to the multiples of that.
    return static_cast<uint16_t>(sign | (std::bit_cast<uint32_t>(magnitude + 0.5f) - std::bit_cast<uint32_t>(0.5f)));
  }
  const uint32_t rest = std::bit_cast<uint32_t>(magnitude) - (112u << 23);  // exponent bias 127 -> 15
  return static_cast<uint16_t>(sign | (rest + 0xfffu + (rest >> 13 & 1u)) >> 13);
}

uint16_t RoundToBfloat16(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  return static_cast<uint16_t>((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}

struct Host {
  static float ByteOf(uint32_t word, int i) { return static_cast<float>(word >> 8 * i & 255u); }
  using Half = Rounded<RoundToHalf>;
  using Bfloat16 = Rounded<RoundToBfloat16>;
};

}  // namespace

FinishGrid GridOf(const FinishLaunch& launch) noexcept {
  assert(launch.channels == 1 || launch.channels == 3);
  assert(launch.width >= 1 && launch.width <= 65535 && launch.height >= 1 && launch.height <= 65535);
  assert(launch.count >= 0);
  const int64_t blocks = launch.count * finish_kernel::BlocksPerSample(launch, finish_kernel::PixelsPerThread(launch));
  assert(blocks <= std::numeric_limits<int32_t>::max());
  return {static_cast<uint32_t>(blocks), finish_kernel::kThreads};
}

void FinishOnHost(const FinishLaunch& launch) noexcept {
  const FinishGrid grid = GridOf(launch);
  for (uint32_t block = 0; block < grid.blocks; ++block) {
    for (uint32_t thread = 0; thread < grid.threads; ++thread) {
      finish_kernel::RunThread<Host>(launch, block, thread);
    }
  }
}

}  // namespace stoker

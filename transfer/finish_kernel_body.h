// What one thread of the kernel does. nvcc compiles it for devices, the host's compiler for FinishOnHost: the same
// indices and the same arithmetic, which neither may contract. What each does best in its own way is the template
// parameter `Machine`:
//   float ByteOf(uint32_t word, int i)    byte `i` of a word, 0 the lowest, as a number
//   Half, Bfloat16                        uint16_t Round(float), to nearest even;
//                                         uint32_t RoundPair(float low, float high), the first in the low bits
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>

#include "transfer/finish_launch.h"

#ifndef STOKER_DEVICE
#define STOKER_DEVICE inline
#endif

namespace stoker::finish_kernel {

inline constexpr uint32_t kThreads = 128;  // a block: 224 x 224 pixels are 49 blocks of eight each, none half empty

// 1 / 255 as the sum of two floats: v * kInverse255 + v * kInverse255Rest with one fused rounding is v / 255 rounded,
// for every byte v.
inline constexpr float kInverse255 = static_cast<float>(1.0 / 255);
inline constexpr float kInverse255Rest = static_cast<float>(1.0 / 255 - kInverse255);

struct Float32 {
  using Bits = float;
  static STOKER_DEVICE float Round(float value) { return value; }
};

STOKER_DEVICE float Multiplied(const FinishLaunch& launch, float v, int channel) {
  const float centered = std::fmaf(v, kInverse255, v * kInverse255Rest) - launch.mean[channel];
  return std::fmaf(centered, launch.inverse[channel], centered * launch.inverse_rest[channel]);
}

STOKER_DEVICE float Divided(const FinishLaunch& launch, float v, int channel) {
  return (v / 255.0f - launch.mean[channel]) / launch.std[channel];
}

// How many neighbours in a row a thread writes: those of one 16-byte store a channel, or one where rows or memory do
// not line up with that. Dividing, which hardly any mean and std need, goes by single pixels too.
STOKER_DEVICE uint32_t PixelsPerThread(const FinishLaunch& launch) {
  const uint32_t pixels = launch.type == FinishType::kFloat32 ? 4 : 8;
  const bool aligned = static_cast<uint32_t>(launch.width) % pixels == 0 &&
                       reinterpret_cast<uintptr_t>(launch.pixels) % pixels == 0 &&
                       reinterpret_cast<uintptr_t>(launch.out) % 16 == 0;
  return launch.multiply && aligned ? pixels : 1;
}

// No more than 65535 x 65535, so that a sample's pixels are counted in 32 bits.
STOKER_DEVICE uint32_t PixelsPerSample(const FinishLaunch& launch) {
  return static_cast<uint32_t>(launch.width) * static_cast<uint32_t>(launch.height);
}

// A block's threads are all of one sample.
STOKER_DEVICE uint32_t BlocksPerSample(const FinishLaunch& launch, uint32_t pixels_per_thread) {
  return (PixelsPerSample(launch) / pixels_per_thread + kThreads - 1) / kThreads;
}

// The bytes of a thread's pixels, in words as they lie in memory, the first lowest.
template <int kPixels, int kChannels>
struct Group {
  static_assert(kPixels % 4 == 0);
  uint32_t words[kPixels * kChannels / 4];

  static STOKER_DEVICE Group Load(const uint8_t* from) {
    Group group;
    std::memcpy(&group, __builtin_assume_aligned(static_cast<const void*>(from), kPixels), sizeof(group));
    return group;
  }
  // The pixels from right to left.
  STOKER_DEVICE Group Turned() const {
    Group turned = {};
    for (int i = 0; i < kPixels * kChannels; ++i) {
      const int from = (kPixels - 1 - i / kChannels) * kChannels + i % kChannels;
      turned.words[i / 4] |= (words[from / 4] >> from % 4 * 8 & 255u) << i % 4 * 8;
    }
    return turned;
  }
  template <class Machine>
  STOKER_DEVICE float At(int i) const {
    return Machine::ByteOf(words[i / 4], i % 4);
  }
};

template <int kChannels>
struct Group<1, kChannels> {
  uint8_t bytes[kChannels];

  static STOKER_DEVICE Group Load(const uint8_t* from) {
    Group group;
    for (int i = 0; i < kChannels; ++i) group.bytes[i] = from[i];
    return group;
  }
  STOKER_DEVICE Group Turned() const { return *this; }
  template <class Machine>
  STOKER_DEVICE float At(int i) const {
    return Machine::ByteOf(bytes[i], 0);
  }
};

// Writes kCount elements, which fill 16 bytes unless it is one.
template <class Element, int kCount>
STOKER_DEVICE void Store(const float (&values)[kCount], typename Element::Bits* out) {
  if constexpr (kCount == 1) {
    *out = Element::Round(values[0]);
  } else if constexpr (sizeof(typename Element::Bits) == 4) {
    std::memcpy(__builtin_assume_aligned(static_cast<void*>(out), 16), values, 16);
  } else {
    uint32_t words[4];
    for (int i = 0; i < 4; ++i) words[i] = Element::RoundPair(values[2 * i], values[2 * i + 1]);
    std::memcpy(__builtin_assume_aligned(static_cast<void*>(out), 16), words, 16);
  }
}

// Where in a sample the kPixels pixels come from that go, turned, to `pixel` and those behind it.
template <int kPixels>
STOKER_DEVICE uint32_t SourcePixel(const FinishLaunch& launch, uint32_t flips, uint32_t pixel) {
  const auto width = static_cast<uint32_t>(launch.width);
  const uint32_t y = pixel / width;
  const uint32_t x = pixel - y * width;
  const uint32_t from_x = (flips & kFlipHorizontal) != 0 ? width - kPixels - x : x;
  const uint32_t from_y = (flips & kFlipVertical) != 0 ? static_cast<uint32_t>(launch.height) - 1 - y : y;
  return from_y * width + from_x;
}

// Writes the elements of a thread's pixels as kChannels runs: one a plane, or one behind the other.
template <class Machine, class Element, int kPixels, int kChannels, bool kPlanar>
STOKER_DEVICE void RunShape(const FinishLaunch& launch, uint32_t block, uint32_t thread) {
  const uint32_t sample_pixels = PixelsPerSample(launch);
  const uint32_t blocks = BlocksPerSample(launch, kPixels);
  const uint32_t sample = block / blocks;
  const uint32_t pixel = ((block - sample * blocks) * kThreads + thread) * kPixels;
  if (pixel >= sample_pixels) return;

  const uint64_t first = uint64_t{sample} * sample_pixels * kChannels;  // byte, and element
  const uint32_t flips = launch.flips == nullptr ? 0u : launch.flips[sample];
  const uint32_t from = flips == 0 ? pixel : SourcePixel<kPixels>(launch, flips, pixel);
  auto group = Group<kPixels, kChannels>::Load(launch.pixels + first + uint64_t{from} * kChannels);
  if ((flips & kFlipHorizontal) != 0) group = group.Turned();

  auto* out =
      static_cast<typename Element::Bits*>(launch.out) + first + (kPlanar ? pixel : uint64_t{pixel} * kChannels);
  for (int run = 0; run < kChannels; ++run) {
    float values[kPixels];
    for (int i = 0; i < kPixels; ++i) {
      const int at = kPlanar ? i * kChannels + run : run * kPixels + i;
      const float v = group.template At<Machine>(at);
      const int channel = at % kChannels;
      const float value = kPixels > 1 || launch.multiply ? Multiplied(launch, v, channel) : Divided(launch, v, channel);
      values[i] = (flips & kBlank) != 0 ? 0.0f : value;
    }
    Store<Element>(values, out);
    out += kPlanar ? sample_pixels : kPixels;
  }
}

template <class Machine, class Element, int kPixels>
STOKER_DEVICE void RunPixels(const FinishLaunch& launch, uint32_t block, uint32_t thread) {
  if (launch.channels == 1) {
    RunShape<Machine, Element, kPixels, 1, true>(launch, block, thread);
  } else if (launch.nchw) {
    RunShape<Machine, Element, kPixels, 3, true>(launch, block, thread);
  } else {
    RunShape<Machine, Element, kPixels, 3, false>(launch, block, thread);
  }
}

template <class Machine, class Element>
STOKER_DEVICE void RunElement(const FinishLaunch& launch, uint32_t block, uint32_t thread) {
  if (PixelsPerThread(launch) == 1) {
    RunPixels<Machine, Element, 1>(launch, block, thread);
  } else {
    RunPixels<Machine, Element, 16 / sizeof(typename Element::Bits)>(launch, block, thread);
  }
}

// Thread `thread` of block `block`; the branches are the same for all threads of a launch.
template <class Machine>
STOKER_DEVICE void RunThread(const FinishLaunch& launch, uint32_t block, uint32_t thread) {
  if (launch.type == FinishType::kFloat16) {
    RunElement<Machine, typename Machine::Half>(launch, block, thread);
  } else if (launch.type == FinishType::kBfloat16) {
    RunElement<Machine, typename Machine::Bfloat16>(launch, block, thread);
  } else {
    RunElement<Machine, Float32>(launch, block, thread);
  }
}

}  // namespace stoker::finish_kernel

// The last step on the device: bytes that crossed the bus become the tensor that the model wants.
#pragma once

#include <cstdint>

namespace stoker {

enum class FinishType : uint8_t { kFloat16, kBfloat16, kFloat32 };

inline constexpr uint8_t kFlipHorizontal = 1;
inline constexpr uint8_t kFlipVertical = 2;
inline constexpr uint8_t kBlank = 4;  // every element of the sample is 0, whatever its pixels are

// One launch over a batch. A plain struct that a kernel takes by value; every pointer is into device memory.
// An element is (v / 255 - mean[c]) / std[c], each operation rounded to float32, then rounded to the type to nearest
// even: the bits that the host's Finisher writes.
struct FinishLaunch {
  const uint8_t* pixels = nullptr;  // count x height x width x channels
  const uint8_t* flips = nullptr;   // one a sample, kFlip* together; null: none is turned
  void* out = nullptr;              // count x channels x height x width, or as `pixels` lie where `nchw` is false
  int64_t count = 0;
  int32_t height = 0;
  int32_t width = 0;
  int32_t channels = 3;  // 1 or 3
  FinishType type = FinishType::kFloat32;
  bool nchw = true;
  // Where dividing equals multiplying by a reciprocal in two parts (inverse + inverse_rest) for all 256 values of every
  // channel, that is done instead: five operations in place of two divisions.
  bool multiply = false;
  float mean[3] = {0, 0, 0};
  float std[3] = {1, 1, 1};
  float inverse[3] = {1, 1, 1};
  float inverse_rest[3] = {0, 0, 0};
};

}  // namespace stoker

// The shape and element type of one sample's pixels in a batch.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "decode/image.h"

namespace stoker {

enum class ElementType : uint8_t { kUint8, kFloat16, kBfloat16, kFloat32 };
enum class Layout : uint8_t { kNchw, kNhwc };

size_t ElementBytes(ElementType) noexcept;           // 1, 2, 2, 4
std::string_view ElementName(ElementType) noexcept;  // "uint8", "float16", "bfloat16", "float32"
std::string_view LayoutName(Layout) noexcept;        // "nchw", "nhwc"

// Everything a worker must know to write one sample. Values: uint8 keeps 0..255; the float types hold
// (v / 255 - mean[c]) / std[c], each operation rounded to float32 as torchvision's ToTensor and Normalize round.
struct SampleSpec {
  ImageSize size;
  int32_t channels = 3;
  ElementType element = ElementType::kUint8;
  Layout layout = Layout::kNchw;
  std::array<float, 3> mean = {0, 0, 0};
  std::array<float, 3> std = {1, 1, 1};

  size_t bytes() const noexcept {
    return static_cast<size_t>(size.width) * static_cast<size_t>(size.height) * static_cast<size_t>(channels) *
           ElementBytes(element);
  }
};

}  // namespace stoker

#include "augment/spec.h"

namespace stoker {

size_t ElementBytes(ElementType element) noexcept {
  switch (element) {
    case ElementType::kUint8:
      return 1;
    case ElementType::kFloat16:
    case ElementType::kBfloat16:
      return 2;
    case ElementType::kFloat32:
      break;
  }
  return 4;
}

std::string_view ElementName(ElementType element) noexcept {
  switch (element) {
    case ElementType::kUint8:
      return "uint8";
    case ElementType::kFloat16:
      return "float16";
    case ElementType::kBfloat16:
      return "bfloat16";
    case ElementType::kFloat32:
      break;
  }
  return "float32";
}

std::string_view LayoutName(Layout layout) noexcept { return layout == Layout::kNchw ? "nchw" : "nhwc"; }

}  // namespace stoker

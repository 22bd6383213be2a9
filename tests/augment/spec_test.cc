#include "augment/spec.h"

#include <gtest/gtest.h>

namespace stoker {
namespace {

TEST(SampleSpec, BytesAreSideTimesSideTimesChannelsTimesElement) {
  SampleSpec spec;
  spec.size = {7, 5};
  EXPECT_EQ(spec.bytes(), 105u);
  spec.element = ElementType::kBfloat16;
  EXPECT_EQ(spec.bytes(), 210u);
  spec.element = ElementType::kFloat32;
  spec.channels = 1;
  EXPECT_EQ(spec.bytes(), 140u);
}

TEST(SampleSpec, NamesAreNumPys) {
  EXPECT_EQ(ElementName(ElementType::kUint8), "uint8");
  EXPECT_EQ(ElementName(ElementType::kFloat16), "float16");
  EXPECT_EQ(ElementName(ElementType::kBfloat16), "bfloat16");
  EXPECT_EQ(ElementName(ElementType::kFloat32), "float32");
  EXPECT_EQ(LayoutName(Layout::kNchw), "nchw");
  EXPECT_EQ(LayoutName(Layout::kNhwc), "nhwc");
}

}  // namespace
}  // namespace stoker

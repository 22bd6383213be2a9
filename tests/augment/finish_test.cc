#include "augment/finish.h"

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <tuple>
#include <vector>

#include "augment/recipe.h"
#include "tests/augment/oracle.h"
#include "tests/augment/targets.h"

namespace stoker {
namespace {

float HalfValue(uint16_t bits) {
  const int exponent = bits >> 10 & 31;
  const int mantissa = bits & 1023;
  const float magnitude = exponent == 0 ? std::ldexp(static_cast<float>(mantissa), -24)
                                        : std::ldexp(static_cast<float>(1024 + mantissa), exponent - 25);
  return bits & 0x8000 ? -magnitude : magnitude;
}

// Every half and every point midway between two halves, with its neighbours.
TEST(HalfBits, RoundsToNearestEven) {
  for (uint16_t bits = 0; bits < 0x7bff; ++bits) {
    const float low = HalfValue(bits);
    const float high = HalfValue(static_cast<uint16_t>(bits + 1));
    const float middle = (low + high) / 2;  // exact
    ASSERT_EQ(HalfBits(low), bits);
    ASSERT_EQ(HalfBits(std::nextafter(middle, 0.0f)), bits);
    ASSERT_EQ(HalfBits(std::nextafter(middle, 1e9f)), bits + 1);
    ASSERT_EQ(HalfBits(middle), bits % 2 == 0 ? bits : bits + 1);
    ASSERT_EQ(HalfBits(-middle), (bits % 2 == 0 ? bits : bits + 1) | 0x8000);
  }
  EXPECT_EQ(HalfBits(65519.0f), 0x7bff);
  EXPECT_EQ(HalfBits(65520.0f), 0x7c00);
  EXPECT_EQ(HalfBits(-1e30f), 0xfc00);
}

TEST(Bfloat16Bits, RoundsToNearestEven) {
  const auto rounded = [](uint32_t bits) { return Bfloat16Bits(std::bit_cast<float>(bits)); };
  EXPECT_EQ(rounded(0x3f808000), 0x3f80);  // a tie, even below
  EXPECT_EQ(rounded(0x3f818000), 0x3f82);  // a tie, even above
  EXPECT_EQ(rounded(0x3f808001), 0x3f81);
  EXPECT_EQ(rounded(0x3f807fff), 0x3f80);
  EXPECT_EQ(rounded(0xbf818000), 0xbf82);
  EXPECT_EQ(rounded(0x7f7fffff), 0x7f80);
}

std::vector<uint8_t> EveryByte() {
  std::vector<uint8_t> values(256 * 3);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<uint8_t>(i / 3);
  return values;
}

// The spec's formula is torchvision's, each operation rounded to float32: all values, all targets, no tolerance.
TEST(Finisher, EqualsTorchvisionsArithmetic) {
  struct Case {
    std::array<float, 3> mean, std;
  };
  for (const Case& c : {Case{kImageNetMean, kImageNetStd},
                        {{0, 0, 0}, {1, 1, 1}},
                        {{0.5, 0.5, 0.5}, {0.5, 0.5, 0.5}},
                        {{0.4914f, 0.4822f, 0.4465f}, {0.2470f, 0.2435f, 0.2616f}},
                        // The reciprocal overflows, is subnormal or has the other sign: the division itself.
                        {{0.1f, 1e30f, -7}, {1e-39f, 3e38f, -0.3f}},
                        {{1, 0, 0.2f}, {-1, -3, 1e-30f}}}) {
    ForEachTarget([&] {
      SampleSpec spec;
      spec.size = {256, 1};
      spec.element = ElementType::kFloat32;
      spec.layout = Layout::kNhwc;
      spec.mean = c.mean;
      spec.std = c.std;
      Finisher finisher(spec);
      std::vector<float> out(768);
      finisher.WriteRow(EveryByte().data(), false, 0, reinterpret_cast<std::byte*>(out.data()));
      for (size_t i = 0; i < out.size(); ++i) {
        const size_t value = i / 3;
        const float unit = static_cast<float>(value) / 255.0f;
        const float centered = unit - c.mean[i % 3];
        const float expected = centered / c.std[i % 3];
        ASSERT_EQ(std::bit_cast<uint32_t>(out[i]), std::bit_cast<uint32_t>(expected)) << "value " << value;
      }
    });
  }
}

// 1 + 256 and 1 + 258 lie midway between two bfloat16, 1 + 2048 and 1 + 2050 between two float16.
TEST(Finisher, RoundsTiesToEven) {
  ForEachTarget([] {
    for (const auto& [element, mean, low, high] : {std::tuple{ElementType::kBfloat16, -256.0f, 0x4380, 0x4380},
                                                   {ElementType::kBfloat16, -258.0f, 0x4381, 0x4382},
                                                   {ElementType::kFloat16, -2048.0f, 0x6800, 0x6800},
                                                   {ElementType::kFloat16, -2050.0f, 0x6801, 0x6802}}) {
      SampleSpec spec;
      spec.size = {64, 1};
      spec.channels = 1;
      spec.element = element;
      spec.mean = {mean, mean, mean};
      std::vector<uint8_t> row(64, 0);
      row[5] = 255;
      std::vector<uint16_t> out(64);
      Finisher(spec).WriteRow(row.data(), false, 0, reinterpret_cast<std::byte*>(out.data()));
      EXPECT_EQ(out[4], low);
      EXPECT_EQ(out[5], high);
    }
  });
}

std::vector<std::byte> Written(const SampleSpec& spec, const std::vector<uint8_t>& row, bool reverse) {
  Finisher finisher(spec);
  std::vector<std::byte> out(spec.bytes() + 1, std::byte{0xa5});
  for (int32_t y = 0; y < spec.size.height; ++y) finisher.WriteRow(row.data(), reverse, y, out.data());
  EXPECT_EQ(out.back(), std::byte{0xa5});
  return out;
}

uint32_t Element(const std::vector<std::byte>& out, const SampleSpec& spec, size_t index) {
  uint32_t bits = 0;
  std::memcpy(&bits, &out[index * ElementBytes(spec.element)], ElementBytes(spec.element));
  return bits;
}

// Every type, layout, channel count, direction, target; widths around every vector's.
TEST(Finisher, PutsEveryElementInItsPlace) {
  ForEachTarget([] {
    for (const ElementType element :
         {ElementType::kUint8, ElementType::kFloat16, ElementType::kBfloat16, ElementType::kFloat32}) {
      for (const Layout layout : {Layout::kNchw, Layout::kNhwc}) {
        for (const int32_t channels : {1, 3}) {
          for (const int32_t width : {1, 2, 7, 8, 15, 16, 17, 31, 32, 33, 50, 224}) {
            SampleSpec spec;
            spec.size = {width, 2};
            spec.channels = channels;
            spec.element = element;
            spec.layout = layout;
            spec.mean = kImageNetMean;
            spec.std = kImageNetStd;
            const oracle::Picture row = oracle::RandomPicture(width, 1, channels, 4);
            for (const bool reverse : {false, true}) {
              const std::vector<std::byte> out = Written(spec, row.pixels, reverse);
              for (int32_t y = 0; y < 2; ++y) {
                for (int32_t x = 0; x < width; ++x) {
                  for (int32_t c = 0; c < channels; ++c) {
                    const uint8_t value = row.pixels[row.At(reverse ? width - 1 - x : x, 0, c)];
                    const auto channel = static_cast<size_t>(c);
                    const float normal = (static_cast<float>(value) / 255.0f - spec.mean[channel]) / spec.std[channel];
                    const uint32_t expected = element == ElementType::kUint8      ? value
                                              : element == ElementType::kFloat16  ? HalfBits(normal)
                                              : element == ElementType::kBfloat16 ? Bfloat16Bits(normal)
                                                                                  : std::bit_cast<uint32_t>(normal);
                    const int32_t at =
                        layout == Layout::kNchw ? (c * 2 + y) * width + x : (y * width + x) * channels + c;
                    ASSERT_EQ(Element(out, spec, static_cast<size_t>(at)), expected)
                        << ElementName(element) << " " << LayoutName(layout) << " width " << width << " at " << x;
                  }
                }
              }
            }
          }
        }
      }
    }
  });
}

// Aligned rows of large samples are written past the caches, others are not: no byte may tell.
TEST(Finisher, StreamsTheSameBytes) {
  const size_t side = 224;
  std::vector<uint8_t> row(side * 3);
  for (size_t i = 0; i < row.size(); ++i) row[i] = static_cast<uint8_t>(i * 7);
  for (const ElementType element : {ElementType::kFloat32, ElementType::kFloat16, ElementType::kBfloat16}) {
    for (const Layout layout : {Layout::kNchw, Layout::kNhwc}) {
      SampleSpec spec{{side, side}, 3, element, layout, kImageNetMean, kImageNetStd};
      SampleSpec small = spec;
      small.size.height = 1;  // too small to be streamed
      const size_t bytes = spec.bytes();
      std::vector<std::byte> streamed(bytes + 64), single(small.bytes());
      std::byte* const aligned = &streamed[(64 - reinterpret_cast<uintptr_t>(streamed.data()) % 64) % 64];
      ForEachTarget([&] {
        Finisher(small).WriteRow(row.data(), false, 0, single.data());
        Finisher finisher(spec);
        for (int32_t y = 0; y < spec.size.height; ++y) finisher.WriteRow(row.data(), false, y, aligned);
        finisher.End();
        const size_t run = layout == Layout::kNchw ? single.size() / 3 : single.size();  // bytes that lie together
        for (size_t at = 0; at < bytes; at += run) {
          const size_t plane = layout == Layout::kNchw ? at / (bytes / 3) : 0;
          ASSERT_EQ(std::memcmp(aligned + at, &single[plane * run], run), 0) << at;
        }
      });
    }
  }
}

}  // namespace
}  // namespace stoker

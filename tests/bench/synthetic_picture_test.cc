#include "bench/synthetic_picture.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <span>
#include <utility>
#include <vector>

namespace stoker {
namespace {

uint64_t Fnv1a(std::span<const uint8_t> bytes) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const uint8_t byte : bytes) hash = (hash ^ byte) * 0x100000001b3;
  return hash;
}

std::vector<uint8_t> Paint(uint64_t seed, int width, int height, const PictureLook& look = {}) {
  static const PicturePainter painter(1);
  std::vector<uint8_t> rgb;
  painter.Paint(width, height, look, Random({.seed = seed}, 3), rgb);
  return rgb;
}

// The mean difference of neighbours: what a codec pays for.
double Roughness(const std::vector<uint8_t>& rgb) {
  int64_t sum = 0;
  for (size_t i = 3; i < rgb.size(); ++i) sum += std::abs(rgb[i] - rgb[i - 3]);
  return static_cast<double>(sum) / static_cast<double>(rgb.size());
}

TEST(PicturePainter, PaintsTheSamePixelsOnEveryMachine) {
  constexpr uint64_t kGolden = 0x32fb60ab66262c63;
  EXPECT_EQ(Fnv1a(Paint(7, 160, 120)), kGolden);
  EXPECT_NE(Fnv1a(Paint(8, 160, 120)), kGolden);
}

TEST(PicturePainter, PaintsAnySize) {
  for (const auto& [width, height] : {std::pair{1, 1}, {1, 50}, {50, 1}, {3, 2}, {1500, 20}}) {
    EXPECT_EQ(Paint(1, width, height).size(), static_cast<size_t>(width * height * 3));
  }
}

TEST(PicturePainter, MakesNeighboursAlikeAsPhotographsDo) {
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    const std::vector<uint8_t> rgb = Paint(seed, 400, 300);
    EXPECT_LT(Roughness(rgb), 20) << "noise would have 85, seed " << seed;
    EXPECT_GT(Roughness(rgb), 1) << "seed " << seed;
  }
}

TEST(PicturePainter, GetsRougherWithDetail) {
  EXPECT_LT(2 * Roughness(Paint(1, 400, 300, {.detail = 32})), Roughness(Paint(1, 400, 300, {.detail = 512})));
}

}  // namespace
}  // namespace stoker

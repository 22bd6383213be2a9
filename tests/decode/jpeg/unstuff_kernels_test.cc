#include "decode/jpeg/unstuff_kernels.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "decode/cpu_path.h"

namespace stoker {
namespace {

constexpr uint8_t kUntouched = 0xA5;

// Mostly stuffed as it should be; where `markers`, sometimes not.
std::vector<uint8_t> Stuffed(size_t size, uint32_t one_in, bool markers, std::mt19937& random) {
  std::vector<uint8_t> bytes;
  while (bytes.size() < size) {
    if (random() % one_in != 0) {
      bytes.push_back(static_cast<uint8_t>(random() % 255));
      continue;
    }
    bytes.push_back(0xFF);
    bytes.push_back(markers && random() % 40 == 0 ? static_cast<uint8_t>(random()) : uint8_t{0});
  }
  bytes.resize(size);
  return bytes;
}

class UnstuffOnPath : public testing::TestWithParam<CpuPath> {
 protected:
  void SetUp() override {
    if (GetParam() > BestCpuPath()) GTEST_SKIP() << "this machine lacks it";
    ForceCpuPath(GetParam());
  }
  void TearDown() override { ForceCpuPath(before_); }

 private:
  CpuPath before_ = ChosenCpuPath();
};

TEST_P(UnstuffOnPath, GivesWhatGoingByBytesGives) {
  std::mt19937 random(1);
  for (int round = 0; round < 20000; ++round) {
    const size_t size = random() % 400;
    const std::vector<uint8_t> bytes = Stuffed(size, 1 + random() % 100, round % 2 == 0, random);
    std::vector<uint8_t> expected(size + kUnstuffRoom, kUntouched);
    std::vector<uint8_t> given(size + kUnstuffRoom + 1, kUntouched);
    const Unstuffed by_bytes = UnstuffByBytes(bytes, expected.data());
    const Unstuffed done = Unstuff(bytes, given.data());
    ASSERT_EQ(done.taken, by_bytes.taken);
    ASSERT_EQ(done.given, by_bytes.given);
    ASSERT_EQ(done.at_marker, by_bytes.at_marker);
    ASSERT_TRUE(std::equal(given.begin(), given.begin() + static_cast<ptrdiff_t>(done.given), expected.begin()));
    ASSERT_EQ(given.back(), kUntouched);
  }
}

TEST_P(UnstuffOnPath, CountsWhatWasStuffed) {
  std::mt19937 random(2);
  for (int round = 0; round < 2000; ++round) {
    const std::vector<uint8_t> bytes = Stuffed(random() % 300, 1 + random() % 20, true, random);
    ASSERT_EQ(CountStuffed(bytes), static_cast<size_t>(std::count(bytes.begin(), bytes.end(), 0xFF)));
  }
}

INSTANTIATE_TEST_SUITE_P(EveryPath, UnstuffOnPath,
                         testing::Values(CpuPath::kBaseline, CpuPath::kAvx2, CpuPath::kAvx512),
                         [](const auto& path) { return std::string(CpuPathName(path.param)); });

TEST(UnstuffByBytes, StopsBeforeAMarkerAndAnUnknownLastByte) {
  const std::vector<uint8_t> marker = {1, 0xFF, 0, 2, 0xFF, 0xD9, 3};
  std::vector<uint8_t> given(marker.size() + kUnstuffRoom);
  Unstuffed done = UnstuffByBytes(marker, given.data());
  EXPECT_EQ(done.taken, 4u);
  EXPECT_EQ(done.given, 3u);
  EXPECT_TRUE(done.at_marker);
  EXPECT_EQ((std::vector<uint8_t>{given[0], given[1], given[2]}), (std::vector<uint8_t>{1, 0xFF, 2}));
  done = UnstuffByBytes(std::span(marker).first(5), given.data());
  EXPECT_EQ(done.taken, 4u);
  EXPECT_FALSE(done.at_marker);
}

}  // namespace
}  // namespace stoker

#include "decode/jpeg/lanes_kernels.h"

#include <gtest/gtest.h>

#include <bit>
#include <random>
#include <string>
#include <vector>

#include "decode/cpu_path.h"
#include "decode/jpeg/mcu_strip.h"

namespace stoker {
namespace {

constexpr size_t kMcus = 40;
constexpr size_t kRandomBytes = 6000;

// A code of random symbols, with short codes and long ones, and a few that nothing has. An AC code's first symbols end
// blocks more often than not, and its runs are short, or hardly a block would be one.
HuffmanSpec RandomSpec(std::mt19937& random, bool dc) {
  HuffmanSpec spec;
  uint32_t left = 1;  // codes of this length that may still be given
  size_t symbols = 0;
  const uint32_t thrift = 1 + random() % 6;
  for (size_t length = 1; length <= 16; ++length) {
    left *= 2;
    const auto most = std::min({left - 1, static_cast<uint32_t>(spec.symbols.size() - symbols), 200u});
    const uint32_t taken = length < 16 ? std::min(static_cast<uint32_t>(random() % (left / thrift + 1)), most) : most;
    spec.counts[length] = static_cast<uint8_t>(taken);
    left -= taken;
    symbols += taken;
  }
  for (size_t i = 0; i < symbols; ++i) {
    const uint32_t run = random() % 8 == 0 ? random() % 16 : random() % 3;
    const uint32_t size = random() % 4 == 0 ? 0 : random() % 16;
    spec.symbols[i] = 0xF0;  // sixteen zeros
    if (!dc && random() % 12 == 0) continue;
    spec.symbols[i] = static_cast<uint8_t>(dc ? random() % 16 : i < 3 && random() % 3 != 0 ? 0 : 16 * run + size);
  }
  return spec;
}

// Decodes a bit at a time, as the standard's flow charts do.
class ByBits {
 public:
  ByBits(const std::vector<uint8_t>& bytes, uint64_t position) : bytes_(bytes), position_(position) {}

  // Returns false on what no table has, and past the last place.
  bool Block(const HuffmanSpec& dc, const HuffmanSpec& ac) {
    int symbol = 0;
    if (!Symbol(dc, symbol)) return false;
    values.push_back(Value(symbol));
    uint64_t& mask = masks.emplace_back(0);
    for (int place = 1; place < kBlockCoefficients; ++place) {
      if (!Symbol(ac, symbol)) return false;
      const int run = symbol >> 4;
      const int size = symbol & 15;
      if (size == 0 && run != 15) break;
      place += run;
      if (place >= kBlockCoefficients) return false;
      if (size == 0) continue;
      values.push_back(Value(size));
      mask |= uint64_t{1} << place;
    }
    return true;
  }

  uint64_t position() const { return position_; }

  std::vector<int16_t> values;
  std::vector<uint64_t> masks;

 private:
  int Bit() {
    const int bit = bytes_[position_ / 8] >> (7 - position_ % 8) & 1;
    ++position_;
    return bit;
  }
  int Value(int size) {
    int value = 0;
    for (int i = 0; i < size; ++i) value = 2 * value + Bit();
    return size > 0 && value >> (size - 1) == 0 ? value + 1 - (1 << size) : value;
  }
  bool Symbol(const HuffmanSpec& spec, int& symbol) {
    int code = 0;
    int first = 0;
    size_t place = 0;
    for (size_t length = 1; length <= 16; ++length) {
      code = 2 * code + Bit();
      first *= 2;
      if (code - first < spec.counts[length]) {
        symbol = spec.symbols[place + static_cast<size_t>(code - first)];
        return true;
      }
      first += spec.counts[length];
      place += spec.counts[length];
    }
    return false;
  }

  const std::vector<uint8_t>& bytes_;
  uint64_t position_;
};

// A strip of MCUs of two blocks, of random bytes and tables, and what there should be in it.
struct Work {
  Work(HuffmanTables& tables, std::mt19937& random)
      : bytes(kRandomBytes + MaxLaneBytes(2 * kMcus)), position(random() % 800) {
    for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random());
    const HuffmanSpec dc = RandomSpec(random, true);
    const HuffmanSpec ac = RandomSpec(random, false);
    pattern.count = 2;
    for (const size_t block : {0, 1}) {
      pattern.halves[2 * block] = {tables.Dc(dc)->word(), 0};
      pattern.halves[2 * block + 1] = {tables.Ac(ac)->word(), 0};
    }
    strip.Reserve(pattern, kMcus);
    strip.Prepare(pattern, 0, kMcus);
    lane.Begin(bytes.data(), position, strip.halves.data(), strip.values.data());
    ByBits by_bits(bytes, position);
    end = LaneEnd::kDone;
    while (end == LaneEnd::kDone && ends.size() < 2 * kMcus) {
      if (!by_bits.Block(dc, ac)) end = LaneEnd::kOdd;
      ends.push_back(by_bits.position());
    }
    values = by_bits.values;
    masks = by_bits.masks;
  }

  void ExpectDone(LaneEnd ended, bool trail) const {
    ASSERT_EQ(ended, end);
    const size_t blocks = ends.size() - (end == LaneEnd::kOdd ? 1 : 0);
    ASSERT_EQ(static_cast<size_t>(lane.half - strip.halves.data()) / 2, blocks);
    for (size_t block = 0; block < blocks; ++block) {
      ASSERT_EQ(strip.halves[2 * block + 1].mask, masks[block]);
      ASSERT_TRUE(!trail || TrailPosition(strip.halves[2 * block + 1].table, bytes.data()) == ends[block]);
    }
    // Those of the odd block's, up to where it is odd, are nobody's.
    size_t count = blocks;
    for (size_t block = 0; block < blocks; ++block) count += static_cast<size_t>(std::popcount(masks[block]));
    ASSERT_TRUE(std::equal(values.begin(), values.begin() + static_cast<ptrdiff_t>(count), strip.values.begin()));
    if (end == LaneEnd::kOdd) return;
    ASSERT_EQ(lane.Position(bytes.data()), ends.back());
    ASSERT_EQ(lane.values - strip.values.data(), static_cast<ptrdiff_t>(values.size()));
  }

  std::vector<uint8_t> bytes;
  uint64_t position;
  McuPattern pattern;
  McuStrip strip;
  Lane lane;
  LaneEnd end = LaneEnd::kDone;
  std::vector<uint64_t> ends;  // of the blocks
  std::vector<int16_t> values;
  std::vector<uint64_t> masks;
};

class LaneKernelsOnPath : public testing::TestWithParam<CpuPath> {
 protected:
  void SetUp() override {
    if (GetParam() > BestCpuPath()) GTEST_SKIP() << "this machine lacks it";
    ForceCpuPath(GetParam());
  }
  void TearDown() override { ForceCpuPath(before_); }

  HuffmanTables tables_;
  std::mt19937 random_{1};

 private:
  CpuPath before_ = ChosenCpuPath();
};

TEST_P(LaneKernelsOnPath, DecodeWhatGoingByBitsDecodes) {
  const LaneKernels& kernels = ChosenLaneKernels();
  size_t blocks = 0;
  size_t whole = 0;
  for (int round = 0; round < 1500; ++round) {
    Work work(tables_, random_);
    blocks += work.ends.size();
    whole += work.end == LaneEnd::kDone ? 1 : 0;
    const bool trail = round % 2 == 0;
    const LaneEnd end = trail ? kernels.one_with_trail(work.lane) : kernels.one(work.lane);
    ASSERT_NO_FATAL_FAILURE(work.ExpectDone(end, trail)) << round;
  }
  EXPECT_GT(blocks, 5000u);
  EXPECT_GT(whole, 50u);
}

TEST_P(LaneKernelsOnPath, DecodeTwoAsOneByOne) {
  const LaneKernels& kernels = ChosenLaneKernels();
  for (int round = 0; round < 800; ++round) {
    std::array<Work, 2> works = {Work(tables_, random_), Work(tables_, random_)};
    const bool trail = round % 2 == 0;
    const LaneOfTwo ended =
        trail ? kernels.two_with_trail(works[0].lane, works[1].lane) : kernels.two(works[0].lane, works[1].lane);
    ASSERT_NO_FATAL_FAILURE(works[ended.lane].ExpectDone(ended.end, trail)) << round;
    Work& other = works[1u - ended.lane];
    const LaneEnd end = trail ? kernels.one_with_trail(other.lane) : kernels.one(other.lane);
    ASSERT_NO_FATAL_FAILURE(other.ExpectDone(end, trail)) << round;
  }
}

TEST_P(LaneKernelsOnPath, PassBlocksAsTheyCollectThem) {
  const LaneKernels& kernels = ChosenLaneKernels();
  int whole = 0;
  while (whole < 20) {
    Work work(tables_, random_);
    if (kernels.one(work.lane) == LaneEnd::kOdd) continue;
    ++whole;
    work.pattern.blocks = {{{0, 0}, {1, 0}}};
    std::vector<CoefficientBlock> blocks(2 * kMcus);
    BlockRows ends{};
    ends[0][0] = blocks.data();
    ends[1][0] = blocks.data() + kMcus;
    DcValues collected = {7, -7, 1};
    const HalfBlock* half = work.strip.halves.data();
    const int16_t* values = work.strip.values.data();
    kernels.collect(work.pattern, kMcus, half, values, collected, ends);
    EXPECT_EQ(half, work.lane.half);
    EXPECT_EQ(values, work.lane.values);
    EXPECT_EQ(blocks[kMcus - 1].dc, collected[0]);
    EXPECT_EQ(blocks.back().dc, collected[1]);
    EXPECT_EQ(blocks.back().mask, work.masks.back());
    EXPECT_EQ(blocks.back().values + std::popcount(blocks.back().mask), values);
    EXPECT_EQ(kernels.count(work.strip.halves.data(), 2 * kMcus), work.values.size());

    DcValues skipped = {7, -7, 1};
    half = work.strip.halves.data();
    values = work.strip.values.data();
    kernels.skip(work.pattern, kMcus, half, values, skipped);
    EXPECT_EQ(half, work.lane.half);
    EXPECT_EQ(values, work.lane.values);
    EXPECT_EQ(skipped, collected);
  }
}

INSTANTIATE_TEST_SUITE_P(EveryPath, LaneKernelsOnPath,
                         testing::Values(CpuPath::kBaseline, CpuPath::kAvx2, CpuPath::kAvx512),
                         [](const auto& path) { return std::string(CpuPathName(path.param)); });

}  // namespace
}  // namespace stoker

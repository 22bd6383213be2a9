#include "loader/sampler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <ostream>
#include <random>
#include <set>
#include <stdexcept>
#include <vector>

#include "augment/random.h"

namespace stoker {
namespace {

std::vector<uint64_t> Epoch(const Sampler& sampler, uint64_t epoch) {
  std::vector<uint64_t> ids;
  for (uint64_t i = 0; i < sampler.positions(); ++i) ids.push_back(sampler.At(epoch, i));
  return ids;
}

TEST(Permutation, IsABijectionForEverySmallSize) {
  for (uint64_t size = 1; size <= 300; ++size) {
    for (const uint64_t key : {uint64_t{0}, uint64_t{1}, ~uint64_t{0}}) {
      const Permutation permutation(size, key);
      std::vector<bool> seen(size);
      for (uint64_t i = 0; i < size; ++i) {
        const uint64_t id = permutation.At(i);
        ASSERT_LT(id, size);
        ASSERT_FALSE(seen[id]) << "size " << size << " gives " << id << " twice";
        seen[id] = true;
      }
    }
  }
}

TEST(Permutation, GivesNoIdTwiceInLargeSets) {
  for (const uint64_t size : {uint64_t{1281167}, uint64_t{1} << 32, (uint64_t{1} << 40) + 12345, uint64_t{1} << 63}) {
    const Permutation permutation(size, 99);
    std::set<uint64_t> ids;
    for (uint64_t i = 0; i < 20000; ++i) {
      for (const uint64_t index : {i, size - 1 - i}) {
        const uint64_t id = permutation.At(index);
        ASSERT_LT(id, size);
        ASSERT_TRUE(ids.insert(id).second);
      }
    }
  }
}

// Pearson's statistic of `counts` against equal shares, as a multiple of its degrees of freedom: about 1 by chance.
double ChiSquareOverFreedom(const std::vector<int>& counts, int total) {
  const double expected = static_cast<double>(total) / static_cast<double>(counts.size());
  double sum = 0;
  for (const int count : counts) sum += (count - expected) * (count - expected) / expected;
  return sum / static_cast<double>(counts.size() - 1);
}

TEST(Permutation, PutsEveryIdFirstEquallyOften) {
  constexpr int kDraws = 20000;
  for (const uint64_t size : {2, 3, 4, 5, 7, 8, 10, 16, 17, 50, 64, 100}) {
    for (const uint64_t index : {uint64_t{0}, size / 2, size - 1}) {
      std::vector<int> counts(size);
      for (int draw = 0; draw < kDraws; ++draw) {
        ++counts[Permutation(size, Mix64(static_cast<uint64_t>(draw) + 1)).At(index)];
      }
      // One degree of freedom varies most: its 10 is passed once in 600 draws of honest dice; the seeds are fixed.
      EXPECT_LT(ChiSquareOverFreedom(counts, kDraws), size < 4 ? 10 : 3) << "size " << size << ", index " << index;
    }
  }
}

TEST(Permutation, PairsNeighboursAtRandom) {
  constexpr int kDraws = 30000;
  constexpr uint64_t kSize = 12;
  std::map<std::pair<uint64_t, uint64_t>, int> pairs;
  for (int draw = 0; draw < kDraws; ++draw) {
    const Permutation permutation(kSize, Mix64(static_cast<uint64_t>(draw) + 1));
    ++pairs[{permutation.At(3), permutation.At(4)}];
  }
  std::vector<int> counts;
  for (const auto& [pair, count] : pairs) counts.push_back(count);
  ASSERT_EQ(counts.size(), kSize * (kSize - 1));  // every pair comes
  EXPECT_LT(ChiSquareOverFreedom(counts, kDraws), 3);
}

TEST(Sampler, DiffersByEpochAndSeedAndOnlyByThem) {
  const Sampler first({.size = 1000, .seed = 1});
  const Sampler same({.size = 1000, .seed = 1});
  const Sampler other({.size = 1000, .seed = 2});
  std::set<std::vector<uint64_t>> orders;
  for (uint64_t epoch = 0; epoch < 5; ++epoch) {
    EXPECT_EQ(Epoch(first, epoch), Epoch(same, epoch));
    orders.insert(Epoch(first, epoch));
    orders.insert(Epoch(other, epoch));
  }
  EXPECT_EQ(orders.size(), 10u);
}

TEST(Sampler, GivesTheSourcesOrderWithoutShuffling) {
  const Sampler sampler({.size = 7, .shuffle = false, .seed = 3});
  EXPECT_EQ(Epoch(sampler, 0), (std::vector<uint64_t>{0, 1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(Epoch(sampler, 9), Epoch(sampler, 0));
}

TEST(Sampler, NeedsNoStepsToResumeAnywhere) {
  const Sampler sampler({.size = uint64_t{1} << 50, .seed = 5});
  const Permutation order(uint64_t{1} << 50, Mix64(uint64_t{5} ^ Mix64(1000000)));
  const uint64_t position = (uint64_t{1} << 49) + 123;
  EXPECT_EQ(sampler.At(1000000, position), order.At(position));
}

struct Rounding {
  bool shuffle, drop_last;
  friend void PrintTo(const Rounding& rounding, std::ostream* out) {  // the tests' names
    *out << (rounding.shuffle ? "shuffled" : "in order") << (rounding.drop_last ? ", drop_last" : "");
  }
};
class SamplerRanks : public testing::TestWithParam<Rounding> {};

// What torch.utils.data.DistributedSampler does with a whole order, written as it describes itself.
std::vector<uint64_t> TwinOf(std::vector<uint64_t> order, uint64_t rank, uint64_t world, bool drop_last) {
  if (drop_last) {
    order.resize(order.size() / world * world);
  } else {
    for (uint64_t i = 0; order.size() % world != 0; ++i) order.push_back(order[i]);
  }
  std::vector<uint64_t> own;
  for (uint64_t i = rank; i < order.size(); i += world) own.push_back(order[i]);
  return own;
}

TEST_P(SamplerRanks, AreDistributedSamplers) {
  for (const uint64_t size : {1, 2, 3, 7, 8, 9, 64, 100, 101}) {
    const std::vector<uint64_t> whole = Epoch(Sampler({.size = size, .shuffle = GetParam().shuffle, .seed = 4}), 2);
    for (const int world : {1, 2, 3, 4, 7, 8, 16, 250}) {
      for (int rank = 0; rank < world; ++rank) {
        const Sampler sampler({.size = size,
                               .shuffle = GetParam().shuffle,
                               .seed = 4,
                               .rank = rank,
                               .world_size = world,
                               .drop_last = GetParam().drop_last});
        EXPECT_EQ(Epoch(sampler, 2),
                  TwinOf(whole, static_cast<uint64_t>(rank), static_cast<uint64_t>(world), GetParam().drop_last))
            << size << " samples, rank " << rank << " of " << world;
      }
    }
  }
}

TEST_P(SamplerRanks, GoOnWhereTheSameWorldStopped) {
  for (const uint64_t size : {7, 12, 101}) {
    for (const int world : {1, 3, 4}) {
      Sampler::Options options = {.size = size,
                                  .shuffle = GetParam().shuffle,
                                  .seed = 4,
                                  .rank = world - 1,
                                  .world_size = world,
                                  .drop_last = GetParam().drop_last};
      const Sampler unbroken(options);
      const std::vector<uint64_t> whole = Epoch(unbroken, 3);
      for (uint64_t taken = 0; taken <= whole.size(); ++taken) {
        options.done = std::min(taken * static_cast<uint64_t>(world), size);
        const Sampler rest(options);
        EXPECT_EQ(Epoch(rest, 3), std::vector<uint64_t>(whole.begin() + static_cast<int64_t>(taken), whole.end()));
        if (rest.positions() > 0) {
          EXPECT_EQ(rest.GlobalPosition(0), unbroken.GlobalPosition(taken));
        }
      }
    }
  }
}

TEST_P(SamplerRanks, ShareOutTheRestOfAnEpochAmongAnotherWorld) {
  constexpr uint64_t kSize = 101;
  const std::vector<uint64_t> whole = Epoch(Sampler({.size = kSize, .shuffle = GetParam().shuffle, .seed = 4}), 3);
  for (const uint64_t done : {0, 1, 40, 100, 101}) {
    for (const int world : {1, 2, 7}) {
      std::map<uint64_t, int> times;
      uint64_t handed_out = 0;
      for (int rank = 0; rank < world; ++rank) {
        const Sampler rest({.size = kSize,
                            .shuffle = GetParam().shuffle,
                            .seed = 4,
                            .rank = rank,
                            .world_size = world,
                            .drop_last = GetParam().drop_last,
                            .done = done});
        for (const uint64_t id : Epoch(rest, 3)) ++times[id];
        handed_out += rest.positions();
      }
      const uint64_t left = kSize - done, ranks = static_cast<uint64_t>(world);
      EXPECT_EQ(handed_out, GetParam().drop_last ? left / ranks * ranks : (left + ranks - 1) / ranks * ranks);
      for (uint64_t place = done; place < std::min(kSize, done + handed_out); ++place) {
        EXPECT_GE(times[whole[place]], 1) << "place " << place << " was forgotten";
      }
    }
  }
}

TEST_P(SamplerRanks, CoverEverySampleEquallyOften) {
  for (const uint64_t size : {5, 12, 100, 101}) {
    for (const int world : {1, 3, 4, 7, 200}) {
      std::map<uint64_t, int> times;
      std::set<uint64_t> global;
      for (int rank = 0; rank < world; ++rank) {
        const Sampler sampler({.size = size,
                               .shuffle = GetParam().shuffle,
                               .rank = rank,
                               .world_size = world,
                               .drop_last = GetParam().drop_last});
        for (uint64_t i = 0; i < sampler.positions(); ++i) {
          ++times[sampler.At(0, i)];
          EXPECT_TRUE(global.insert(sampler.GlobalPosition(i)).second);  // ranks share no random draw
        }
      }
      const auto ranks = static_cast<uint64_t>(world);
      const uint64_t handed_out = GetParam().drop_last ? size / ranks * ranks : (size + ranks - 1) / ranks * ranks;
      EXPECT_EQ(times.size(), std::min(size, handed_out));
      for (const auto& [id, count] : times) {
        EXPECT_GE(static_cast<uint64_t>(count), handed_out / size);
        EXPECT_LE(static_cast<uint64_t>(count), (handed_out + size - 1) / size);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Roundings, SamplerRanks,
                         testing::Values(Rounding{true, false}, Rounding{true, true}, Rounding{false, false},
                                         Rounding{false, true}));

TEST(ListOrder, GivesTheListAndThePlacesOfItsRank) {
  const ListOrder order({5, 0, 5, 9}, 10, 1, 3, 20);
  EXPECT_EQ(order.positions(), 4u);
  EXPECT_EQ(order.At(0, 2), 5u);
  EXPECT_EQ(order.At(77, 3), 9u);
  EXPECT_EQ(order.GlobalPosition(0), 21u);
  EXPECT_EQ(order.GlobalPosition(3), 30u);
}

TEST(ListOrder, RefusesAnIdThatTheSourceHasNot) {
  try {
    const ListOrder order({1, 2, 10, 0}, 10);
    FAIL() << "no exception";
  } catch (const std::invalid_argument& error) {
    EXPECT_STREQ(error.what(), "the order's place 2 holds sample 10, but there are only 10");
  }
}

}  // namespace
}  // namespace stoker

// Everything together: the same bytes for every reader, worker count and device.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "loader/file_source.h"
#include "loader/loader.h"
#include "loader/seams.h"
#include "tests/loader/drain.h"
#include "tests/loader/late_reader.h"
#include "tests/loader/picture_folder.h"

namespace stoker {
namespace {

constexpr int kPictures = 53;  // not a multiple of the batch size

// One folder of pictures for all tests of this file.
const TempFolder& Pictures() {
  static const TempFolder folder;
  static const bool written = [] {
    WritePictures(folder, kPictures);
    return true;
  }();
  EXPECT_TRUE(written);
  return folder;
}

LoaderOptions SmallOptions() {
  LoaderOptions options;
  options.batch_size = 8;
  options.recipe = TrainRecipe(24, ElementType::kUint8);
  options.seed = 7;
  options.num_workers = 2;
  return options;
}

std::vector<LoadedBatch> Load(const LoaderOptions& options, int epochs = 1, LoaderSeams seams = {}) {
  Loader loader(options, OpenFolder(Pictures().string()), std::move(seams));
  return DrainEpochs(loader, epochs);
}

struct Setup {
  ReaderKind reader;
  int workers;
  std::string device;
};

class Pipeline : public testing::TestWithParam<Setup> {};

std::string SetupName(const testing::TestParamInfo<Setup>& info) {
  std::string name = std::string(ReaderName(info.param.reader)) + "_" + std::to_string(info.param.workers) + "_" +
                     std::string(info.param.device);
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

std::vector<Setup> AllSetups() {
  std::vector<Setup> setups;
  for (const ReaderKind reader : {ReaderKind::kPread, ReaderKind::kUring, ReaderKind::kAuto}) {
    for (const int workers : {0, 1, 2, 4, 7}) {
      for (const std::string device : {"cpu", "sim"}) setups.push_back({reader, workers, device});
    }
  }
  return setups;
}

INSTANTIATE_TEST_SUITE_P(All, Pipeline, testing::ValuesIn(AllSetups()), SetupName);

TEST_P(Pipeline, GivesTheSameBytesAsThePlainestOne) {
  LoaderOptions options = SmallOptions();
  options.reader = ReaderKind::kPread;
  options.num_workers = 0;
  options.device = "cpu";
  static const std::vector<LoadedBatch> expected = Load(options, 2);
  ASSERT_EQ(expected.size(), 14u);

  options.reader = GetParam().reader;
  options.num_workers = GetParam().workers;
  options.device = GetParam().device;
  if (options.reader == ReaderKind::kUring) {
    std::string reason;
    const auto source = OpenFolder(Pictures().string());
    if (MakeUringReader(*source, {.queue_depth = 4, .deadline_ns = 1, .now = SteadyNow}, reason) == nullptr) {
      GTEST_SKIP() << "no io_uring here: " << reason;
    }
  }
  EXPECT_EQ(Load(options, 2), expected);
}

TEST(LoaderOrder, DoesNotDependOnWhenReadsArrive) {
  const std::vector<LoadedBatch> expected = Load(SmallOptions());
  for (uint64_t seed = 1; seed <= 8; ++seed) {
    SCOPED_TRACE(testing::Message() << "delays of seed " << seed);
    LoaderOptions options = SmallOptions();
    options.num_workers = 4;
    options.reader = ReaderKind::kPread;  // not what the page cache holds: everything through the double
    EXPECT_EQ(Load(options, 1, LateReads(seed)), expected);
  }
}

TEST(LoaderOrder, DoesNotDependOnHowManyWorkWhen) {
  LoaderOptions options = SmallOptions();
  const std::vector<LoadedBatch> expected = Load(options, 20);
  options.num_workers = kAutoWorkers;
  options.read_deadline_seconds = 3000;
  for (const bool choose : {false, true}) {
    SCOPED_TRACE(choose);
    LoaderSeams seams;
    seams.most_workers = [] { return 5; };
    // So that a window is over with every 32nd batch.
    if (choose) seams.now = []() noexcept { return 100 * SteadyNow(); };
    Loader loader(options, OpenFolder(Pictures().string()), std::move(seams));
    std::vector<LoadedBatch> batches;
    for (int epoch = 0; epoch < 20; ++epoch) {
      while (const auto batch = loader.Next()) {
        batches.push_back(Copy(*batch));
        if (!choose) loader.SetActiveWorkers(1 + static_cast<int32_t>(batches.size() * 7 % 5));
      }
    }
    EXPECT_EQ(batches, expected);
    EXPECT_EQ(loader.Report().auto_workers, choose);
  }
}

TEST(LoaderOrder, GivesEverySampleOnceAnEpochAndAnotherOrderInTheNext) {
  const std::vector<LoadedBatch> batches = Load(SmallOptions(), 2);
  std::vector<int64_t> first, second;
  for (const LoadedBatch& batch : batches) {
    std::vector<int64_t>& ids = batch.epoch == 0 ? first : second;
    ids.insert(ids.end(), batch.ids.begin(), batch.ids.end());
  }
  EXPECT_NE(first, second);
  std::vector<int64_t> all(kPictures);
  std::iota(all.begin(), all.end(), 0);
  EXPECT_TRUE(std::is_permutation(first.begin(), first.end(), all.begin(), all.end()));
  EXPECT_TRUE(std::is_permutation(second.begin(), second.end(), all.begin(), all.end()));
}

TEST(LoaderOrder, DrawsAnotherCropOfTheSameSampleInTheNextEpoch) {
  LoaderOptions options = SmallOptions();
  options.shuffle = false;
  const std::vector<LoadedBatch> batches = Load(options, 2);
  ASSERT_EQ(batches[0].ids, batches[7].ids);
  EXPECT_NE(batches[0].pixels, batches[7].pixels);
}

TEST(LoaderResume, GivesExactlyTheTailFromEveryBatch) {
  const std::vector<LoadedBatch> whole = Load(SmallOptions(), 3);
  for (size_t start : {size_t{0}, size_t{3}, size_t{6}, size_t{7}, size_t{16}, size_t{20}}) {
    Loader loader(SmallOptions(), OpenFolder(Pictures().string()));
    loader.StartEpoch(whole[start].epoch, whole[start].position);
    const std::vector<LoadedBatch> tail = DrainEpochs(loader, 3 - static_cast<int>(whole[start].epoch));
    EXPECT_EQ(tail, std::vector<LoadedBatch>(whole.begin() + static_cast<std::ptrdiff_t>(start), whole.end()));
  }
}

TEST(LoaderResume, StartsAgainInTheMiddleOfAnEpoch) {
  const std::vector<LoadedBatch> whole = Load(SmallOptions());
  for (const std::string device : {"cpu", "sim"}) {
    LoaderOptions options = SmallOptions();
    options.device = device;
    Loader loader(options, OpenFolder(Pictures().string()));
    for (size_t taken : {1, 0, 5, 2}) {
      loader.StartEpoch(0);
      for (size_t i = 0; i < taken; ++i) EXPECT_EQ(Copy(*loader.Next()), whole[i]);
    }
    loader.StartEpoch(0, whole[4].position);
    EXPECT_EQ(Copy(*loader.Next()), whole[4]);
  }
}

TEST(LoaderResume, TakesAPositionThatIsNoBatchBoundary) {
  const std::vector<LoadedBatch> whole = Load(SmallOptions());
  Loader loader(SmallOptions(), OpenFolder(Pictures().string()));
  loader.StartEpoch(0, 3);
  const LoadedBatch first = Copy(*loader.Next());
  EXPECT_EQ(first.position, 3u);
  EXPECT_EQ(first.ids[0], whole[0].ids[3]);
  EXPECT_EQ(first.ids[5], whole[1].ids[0]);
}

TEST(LoaderResume, RefusesAPositionBeyondTheEpoch) {
  Loader loader(SmallOptions(), OpenFolder(Pictures().string()));
  EXPECT_THROW(loader.StartEpoch(0, kPictures + 1), std::invalid_argument);
}

TEST(LoaderRanks, GetTheSameNumberOfSamplesAndCoverAll) {
  for (const int world : {2, 3, 5}) {
    std::set<int64_t> seen;
    std::set<int64_t> counts;
    for (int rank = 0; rank < world; ++rank) {
      LoaderOptions options = SmallOptions();
      options.world_size = world;
      options.rank = rank;
      int64_t samples = 0;
      for (const LoadedBatch& batch : Load(options)) {
        seen.insert(batch.ids.begin(), batch.ids.end());
        samples += static_cast<int64_t>(batch.ids.size());
      }
      counts.insert(samples);
    }
    EXPECT_EQ(seen.size(), static_cast<size_t>(kPictures));
    EXPECT_EQ(counts.size(), 1u);
  }
}

TEST(LoaderRanks, DrawTheSameWhateverTheWorldSize) {
  std::map<int64_t, Bytes> alone;
  for (const LoadedBatch& batch : Load(SmallOptions())) {
    for (size_t i = 0; i < batch.ids.size(); ++i) alone[batch.ids[i]] = batch.PixelsOf(i);
  }
  LoaderOptions options = SmallOptions();
  options.world_size = 2;
  options.rank = 1;
  options.drop_last = true;  // no padding: every sample stands where it stands for one process
  for (const LoadedBatch& batch : Load(options)) {
    for (size_t i = 0; i < batch.ids.size(); ++i) EXPECT_EQ(batch.PixelsOf(i), alone[batch.ids[i]]);
  }
}

TEST(LoaderBatches, KeepFourAxesWhenTheLastHasOneSample) {
  LoaderOptions options = SmallOptions();
  options.batch_size = 13;  // 53 = 4 x 13 + 1
  Loader loader(options, OpenFolder(Pictures().string()));
  std::array<int64_t, 4> last = {};
  while (const auto batch = loader.Next()) last = batch->shape();
  EXPECT_EQ(last, (std::array<int64_t, 4>{1, 3, 24, 24}));
}

TEST(LoaderBatches, AreNoneWhereTheSetIsSmallerThanADroppedBatch) {
  LoaderOptions options = SmallOptions();
  options.batch_size = 64;
  options.drop_last = true;
  Loader loader(options, OpenFolder(Pictures().string()));
  EXPECT_EQ(loader.batches_per_epoch(), 0);
  EXPECT_EQ(loader.samples_per_epoch(), 0);
  EXPECT_FALSE(loader.Next().has_value());
  EXPECT_FALSE(loader.Next().has_value());
}

TEST(LoaderBatches, GrayComesAsOneChannel) {
  LoaderOptions options = SmallOptions();
  options.recipe.channels = Channels::kGray;
  Loader loader(options, OpenFolder(Pictures().string()));
  EXPECT_EQ(loader.Next()->shape(), (std::array<int64_t, 4>{8, 1, 24, 24}));
}

TEST(LoaderBatches, NameTheirSamplesAndOutliveTheLoader) {
  std::optional<Batch> batch;
  {
    Loader loader(SmallOptions(), OpenFolder(Pictures().string()));
    batch = loader.Next();
  }
  const LoadedBatch expected = Load(SmallOptions())[0];
  EXPECT_EQ(Copy(*batch), expected);
  EXPECT_TRUE(batch->Name(0).starts_with("class"));
}

TEST(LoaderReport, BlamesAllOfTheWallTime) {
  for (const std::string device : {"cpu", "sim"}) {
    for (const int workers : {0, 1, 4}) {
      LoaderOptions options = SmallOptions();
      options.device = device;
      options.num_workers = workers;
      Loader loader(options, OpenFolder(Pictures().string()));
      DrainEpochs(loader, 5);
      const StallReport report = loader.Report();
      EXPECT_EQ(report.samples, 5 * kPictures);
      EXPECT_NEAR(std::accumulate(report.shares.begin(), report.shares.end(), 0.0), 1.0, 1e-9);
      EXPECT_FALSE(report.reader.empty());
    }
  }
}

}  // namespace
}  // namespace stoker

// What bad samples and failing machines do to a loader: a clear error, never a hang.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>

#include "loader/seams.h"
#include "tests/loader/drain.h"
#include "tests/loader/faults.h"
#include "tests/loader/late_reader.h"
#include "transfer/sim_device.h"

namespace stoker {
namespace {

using testing::HasSubstr;

TEST_F(Faults, RaiseNamesTheSampleAndItsCauseAndGoesOnAfterIt) {
  AddBad();
  Loader loader(options_, Open());
  std::error_code code;
  EXPECT_THAT(ThrownBy(loader, &code), HasSubstr("a/05-empty.jpg"));
  EXPECT_EQ(code, DecodeError::kEmpty);
  EXPECT_EQ(loader.Next()->position(), 8u);
  EXPECT_THAT(ThrownBy(loader, &code), HasSubstr("a/12-cut.jpg"));
  EXPECT_EQ(code, DecodeError::kTruncated);
}

TEST_F(Faults, RaiseThrowsTheSameWhateverTheTiming) {
  AddBad();
  options_.reader = ReaderKind::kPread;
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    Loader loader(options_, Open(), LateReads(seed));
    EXPECT_THAT(ThrownBy(loader), HasSubstr("a/05-empty.jpg")) << "seed " << seed;
  }
}

TEST_F(Faults, SkipReplacesBadSamplesByTheNextGoodOneAndReportsEachOnce) {
  AddBad();
  options_.on_error = OnError::kSkip;
  std::vector<LoadedBatch> expected;
  for (const int workers : {0, 1, 4}) {
    options_.num_workers = workers;
    Loader loader(options_, Open());
    const std::vector<LoadedBatch> batches = DrainEpochs(loader, 2);
    ASSERT_EQ(batches.size(), 12u);  // 23 samples in batches of 4, twice
    const auto source = Open();
    EXPECT_EQ(source->Name(static_cast<uint64_t>(batches[1].ids[1])), "a/05.jpg");  // where 05-empty would have been
    EXPECT_EQ(source->Name(static_cast<uint64_t>(batches[1].ids[2])), "a/05.jpg");
    for (const LoadedBatch& batch : batches) EXPECT_EQ(std::count(batch.valid.begin(), batch.valid.end(), 0), 0);
    const StallReport report = loader.Report();
    ASSERT_EQ(report.skipped.size(), 3u);
    EXPECT_EQ(report.skipped[0].name, "a/05-empty.jpg");
    EXPECT_THAT(report.skipped[0].reason, HasSubstr("empty"));
    EXPECT_EQ(report.skipped[1].name, "a/06-html.jpg");
    EXPECT_EQ(report.skipped[2].name, "a/12-cut.jpg");
    if (expected.empty()) expected = batches;
    EXPECT_EQ(batches, expected);
  }
}

TEST_F(Faults, MaskGivesZerosThatAreMarkedInvalid) {
  AddBad();
  options_.on_error = OnError::kMask;
  Loader loader(options_, Open());
  const std::vector<LoadedBatch> batches = DrainEpochs(loader, 1);
  EXPECT_EQ(batches[1].valid, (std::vector<uint8_t>{1, 0, 1, 0}));
  const Bytes masked = batches[1].PixelsOf(1);
  EXPECT_EQ(std::count(masked.begin(), masked.end(), 0), static_cast<std::ptrdiff_t>(masked.size()));
  EXPECT_EQ(loader.Report().skipped_count, 3);
}

TEST_F(Faults, ManyBadSamplesAreTooManyAtMaxErrors) {
  AddBad();
  options_.on_error = OnError::kSkip;
  options_.max_errors = 2;
  Loader loader(options_, Open());
  std::error_code code;
  EXPECT_THAT(ThrownBy(loader, &code), HasSubstr("a/12-cut.jpg"));
  EXPECT_EQ(code, LoadError::kTooManyErrors);
}

TEST_F(Faults, SkipEndsWhereNoSampleIsGood) {
  const TempFolder bad;
  for (int i = 0; i < 9; ++i) bad.Write(fmt::format("{}.jpg", i), {1, 2, 3});
  options_.on_error = OnError::kSkip;
  Loader loader(options_, OpenFolder(bad.string()));
  std::error_code code;
  ThrownBy(loader, &code);
  EXPECT_EQ(code, LoadError::kNoGoodSample);
}

TEST_F(Faults, ReadErrorsAreTheSamplesErrors) {
  options_.reader = ReaderKind::kPread;
  Loader loader(options_, Open(), FaultyReads([](uint64_t, const SampleJob& job) {
                  Fault fault;
                  if (job.position == 9) fault.error = std::make_error_code(std::errc::io_error);
                  return fault;
                }));
  EXPECT_THAT(ThrownBy(loader), testing::AllOf(HasSubstr("a/09.jpg"), HasSubstr("input/output error")));
}

TEST_F(Faults, FilesThatVanishShrinkOrGrowAfterTheScanAreNamed) {
  options_.on_error = OnError::kSkip;
  for (const ReaderKind reader : {ReaderKind::kAuto, ReaderKind::kPread}) {
    options_.reader = reader;
    Loader loader(options_, Open());
    std::filesystem::remove(folder_.path() / "a/03.jpg");
    std::filesystem::resize_file(folder_.path() / "a/07.jpg", 64);
    std::filesystem::resize_file(folder_.path() / "a/11.jpg", 1 << 20);
    DrainEpochs(loader, 1);
    const StallReport report = loader.Report();
    ASSERT_EQ(report.skipped.size(), 3u);
    EXPECT_THAT(report.skipped[0].reason, HasSubstr("vanished"));
    EXPECT_THAT(report.skipped[1].reason, HasSubstr("changed its size"));
    EXPECT_THAT(report.skipped[1].reason, HasSubstr("ends after 64"));
    EXPECT_THAT(report.skipped[2].reason, HasSubstr("is longer"));
    for (const int i : {3, 7, 11}) folder_.Write(fmt::format("a/{:02}.jpg", i), GoodJpeg(static_cast<uint32_t>(i)));
  }
}

TEST_F(Faults, AReadThatNeverComesBackIsItsSamplesErrorAndDoesNotHoldTheEndUp) {
  options_.on_error = OnError::kSkip;
  options_.read_deadline_seconds = 0.05;
  for (const ReaderKind reader : {ReaderKind::kAuto, ReaderKind::kPread}) {
    options_.reader = reader;
    const TempFolder folder;
    for (int i = 0; i < 6; ++i) folder.Write(fmt::format("{}.jpg", i), GoodJpeg(static_cast<uint32_t>(i)));
    auto loader = std::make_unique<Loader>(options_, OpenFolder(folder.string()));
    std::filesystem::remove(folder.path() / "2.jpg");
    ASSERT_EQ(mkfifo((folder.path() / "2.jpg").c_str(), 0600), 0);  // opening it waits for a writer for ever
    EXPECT_EQ(DrainEpochs(*loader, 1).size(), 2u);
    const StallReport report = loader->Report();
    ASSERT_EQ(report.skipped.size(), 1u);
    EXPECT_THAT(report.skipped[0].reason, HasSubstr("deadline"));
    loader.reset();  // must come back although the read is still stuck
  }
}

TEST_F(Faults, OversizedFilesAreRefusedUnread) {
  options_.max_file_bytes = 100;
  Loader loader(options_, Open());
  std::error_code code;
  ThrownBy(loader, &code);
  EXPECT_EQ(code, LoadError::kFileTooLarge);
}

TEST_F(Faults, StrictRefusesWhatTolerantCounts) {
  Bytes cut = GoodJpeg(1);
  cut.resize(cut.size() * 9 / 10);
  folder_.Write("a/00.jpg", cut);
  options_.recipe = EvalRecipe(16, ElementType::kUint8);
  Loader tolerant(options_, Open());
  DrainEpochs(tolerant, 1);
  EXPECT_EQ(tolerant.Report().skipped_count, 0);
  options_.limits.strict = true;
  Loader strict(options_, Open());
  std::error_code code;
  ThrownBy(strict, &code);
  EXPECT_EQ(code, DecodeError::kWarnings);
}

TEST_F(Faults, AFailingCopyIsAnError) {
  options_.device = "sim";
  LoaderSeams seams;
  seams.device = MakeSimDevice({.fail_copy_at = 2});
  Loader loader(options_, Open(), std::move(seams));
  EXPECT_THAT(ThrownBy(loader), HasSubstr("copying a batch to the device failed"));
  EXPECT_THROW(loader.Next(), std::system_error);
}

TEST_F(Faults, BuffersBeyondTheMemoryLimitAreRefusedWithTheNumbers) {
  options_.memory_limit_bytes = 100'000;
  try {
    Loader loader(options_, Open());
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), testing::AllOf(HasSubstr("100000"), HasSubstr("memory_limit")));
  }
}

TEST_F(Faults, PicturesTooSmallForACropNameBothSizes) {
  folder_.Write("a/00.jpg", EncodeJpeg(MakePicture({10, 12}, 3, 1)));
  options_.recipe = {.ops = {RandomCrop{{32, 32}}}};
  Loader loader(options_, Open());
  EXPECT_THAT(ThrownBy(loader), testing::AllOf(HasSubstr("a/00.jpg"), HasSubstr("10x12"), HasSubstr("32x32")));
}

}  // namespace
}  // namespace stoker

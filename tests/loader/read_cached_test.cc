// What the readers share: the page cache first, what a length means, and which reader is taken.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <memory>
#include <stdexcept>
#include <string>

#include "loader/error.h"
#include "loader/reader.h"
#include "tests/loader/picture_folder.h"
#include "tests/loader/table_source.h"

namespace stoker {
namespace {

class ReadCachedTest : public testing::Test {
 protected:
  uint32_t Add(const std::string& name, const Bytes& bytes) {
    folder_.Write(name, bytes);  // which leaves it in the page cache
    return source_.Add((folder_.path() / name).string());
  }
  SampleJob Job(std::initializer_list<Extent> extents) {
    SampleJob job;
    for (const Extent& extent : extents) job.extents.Add(extent);
    EXPECT_EQ(buffers_.TryLease(job.extents.bytes() + 1, job.encoded), ReadBuffers::Outcome::kLeased);
    return job;
  }

  TempFolder folder_;
  TableSource source_;
  ReadBuffers buffers_{4, 1 << 16, 1 << 20, SteadyNow, [] {}};
};

TEST_F(ReadCachedTest, GivesWhatPreadGives) {
  Bytes bytes(50'000);
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<uint8_t>(i * i >> 7);
  const uint32_t file = Add("a", bytes);
  SampleJob job = Job({{file, 0, bytes.size(), true}});
  if (!ReadCached(source_, SteadyNow, job)) GTEST_SKIP() << "this file system cannot tell what is in the page cache";
  EXPECT_TRUE(IsCached(source_, job.extents));
  EXPECT_FALSE(job.error);
  EXPECT_EQ(Bytes(job.encoded.memory().begin(), job.encoded.memory().begin() + 50'000), bytes);
  EXPECT_EQ(job.encoded_bytes, bytes.size());

  SampleJob parts = Job({{file, 40'000, 10'000, false}, {file, 5, 100, false}});
  ASSERT_TRUE(ReadCached(source_, SteadyNow, parts));
  EXPECT_EQ(parts.encoded_bytes, 10'100u);
  EXPECT_TRUE(std::equal(bytes.begin() + 40'000, bytes.end(), parts.encoded.memory().begin()));
  EXPECT_TRUE(std::equal(bytes.begin() + 5, bytes.begin() + 105, parts.encoded.memory().begin() + 10'000));
}

TEST_F(ReadCachedTest, SeesThatAFileGrew) {
  const uint32_t file = Add("a", Bytes(100));
  SampleJob job = Job({{file, 0, 99, true}});
  if (!ReadCached(source_, SteadyNow, job)) GTEST_SKIP() << "this file system cannot tell what is in the page cache";
  EXPECT_EQ(job.error, LoadError::kChangedSize);
}

TEST_F(ReadCachedTest, LeavesToTheReaderWhatItCannotAnswer) {
  const uint32_t file = Add("a", Bytes(100));
  ASSERT_EQ(mkfifo((folder_.string() + "/fifo").c_str(), 0600), 0);
  for (const Extent& extent : {Extent{file, 0, 200, true}, Extent{source_.Add("/no/such/file"), 0, 10, true},
                               Extent{source_.Add(folder_.string()), 0, 10, true},
                               Extent{source_.Add("/" + std::string(5000, 'x')), 0, 10, true},
                               Extent{source_.Add(folder_.string() + "/fifo"), 0, 10, true}}) {
    SampleJob job = Job({extent});
    EXPECT_FALSE(IsCached(source_, job.extents));
    EXPECT_FALSE(ReadCached(source_, SteadyNow, job));
    EXPECT_FALSE(job.error);
    EXPECT_EQ(job.encoded_bytes, 0u);
  }
}

TEST(CheckLength, SaysWhichWayAFileChanged) {
  Diagnosis shrank, grew, same;
  EXPECT_FALSE(CheckLength({0, 5, 10, false}, 10, same));
  EXPECT_EQ(same.offset_bytes, -1);
  EXPECT_EQ(CheckLength({0, 5, 10, false}, 3, shrank), LoadError::kChangedSize);
  EXPECT_STREQ(shrank.detail, "15 bytes expected, the file ends after 8");
  EXPECT_EQ(shrank.offset_bytes, 8);
  EXPECT_EQ(CheckLength({0, 0, 10, true}, 11, grew), LoadError::kChangedSize);
  EXPECT_STREQ(grew.detail, "10 bytes expected, the file is longer");
}

TEST(MakeReader, SaysWhatItTookAndWhy) {
  const TableSource source;
  const Reader::Options options = {.queue_depth = 2, .deadline_ns = 1, .now = SteadyNow, .abandoned = nullptr};
  std::string choice, reason;
  EXPECT_EQ(MakeReader(ReaderKind::kPread, source, options, choice)->name(), "pread");
  EXPECT_EQ(choice, "pread (asked for)");
  const bool uring = MakeUringReader(source, options, reason) != nullptr;
  const std::unique_ptr<Reader> chosen = MakeReader(ReaderKind::kAuto, source, options, choice);
  EXPECT_EQ(chosen->name(), uring ? "io_uring" : "pread");
  EXPECT_EQ(choice, uring ? "page cache first, then io_uring (self-test passed)"
                          : "page cache first, then pread (no io_uring: " + reason + ")");
  if (uring) {
    EXPECT_EQ(MakeReader(ReaderKind::kUring, source, options, choice)->name(), "io_uring");
    EXPECT_EQ(choice, "io_uring (asked for)");
  } else {
    EXPECT_FALSE(reason.empty());
    EXPECT_THROW(MakeReader(ReaderKind::kUring, source, options, choice), std::runtime_error);
  }
}

}  // namespace
}  // namespace stoker

// Both readers by one set of tests: what they promise is the same.
#include "loader/reader.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "loader/error.h"
#include "tests/loader/picture_folder.h"
#include "tests/loader/table_source.h"

namespace stoker {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::hours kForever{1};
constexpr int64_t kNoDeadline = int64_t{3600} * 1'000'000'000;

Bytes Noise(size_t bytes, uint32_t seed) {
  Bytes noise(bytes);
  for (uint8_t& byte : noise) byte = static_cast<uint8_t>((seed = seed * 1664525 + 1013904223) >> 24);
  return noise;
}

class ReaderTest : public testing::TestWithParam<ReaderKind> {
 protected:
  void SetUp() override {
    MakeBuffers();
    std::string reason;
    if (GetParam() == ReaderKind::kUring && MakeUringReader(source_, Options(1), reason) == nullptr) {
      GTEST_SKIP() << "io_uring cannot be used: " << reason;
    }
  }
  void MakeBuffers() {
    buffers_.emplace(64, 1 << 16, 64 << 20, SteadyNow, [] {});
  }
  Reader::Options Options(uint32_t depth, int64_t deadline_ns = kNoDeadline) {
    return {.queue_depth = depth, .deadline_ns = deadline_ns, .now = SteadyNow, .abandoned = &abandoned_};
  }
  void Start(uint32_t depth = 8, int64_t deadline_ns = kNoDeadline) {
    std::string choice;
    reader_ = MakeReader(GetParam(), source_, Options(depth, deadline_ns), choice);
  }
  uint32_t Add(const std::string& name, const Bytes& bytes) {
    folder_.Write(name, bytes);
    return source_.Add((folder_.path() / name).string());
  }
  // A job for the whole of a file that is believed to have `bytes`.
  SampleJob Whole(uint32_t file, uint64_t bytes) { return Job({{file, 0, bytes, true}}); }
  SampleJob Job(const std::vector<Extent>& extents) {
    SampleJob job;
    for (const Extent& extent : extents) job.extents.Add(extent);
    EXPECT_EQ(buffers_->TryLease(job.extents.bytes() + 1, job.encoded), ReadBuffers::Outcome::kLeased);
    return job;
  }
  SampleJob Await() {
    std::vector<SampleJob> done;
    while (done.empty()) reader_->Wait(done, kForever);
    EXPECT_EQ(done.size(), 1u);
    return std::move(done[0]);
  }
  SampleJob Read(SampleJob job) {
    reader_->Submit(std::move(job));
    return Await();
  }
  static Bytes BytesOf(const SampleJob& job) {
    EXPECT_FALSE(job.error) << job.error.message();
    const auto bytes = job.encoded.memory().first(job.encoded_bytes);
    return Bytes(bytes.begin(), bytes.end());
  }

  TempFolder folder_;
  TableSource source_;
  std::optional<ReadBuffers> buffers_;
  bool abandoned_ = false;
  std::unique_ptr<Reader> reader_;
};

TEST_P(ReaderTest, GivesTheBytesThroughLockedMemory) {
  Reader::Options options = Options(4);
  options.fixed = buffers_->memory();  // 4 MiB: below every memlock limit
  std::string choice;
  reader_ = MakeReader(GetParam(), source_, options, choice);
  EXPECT_EQ(reader_->about_fixed(), GetParam() == ReaderKind::kUring ? "fixed buffers" : "");
  for (uint32_t i = 0; i < 40; ++i) {
    const Bytes contents = Noise(i % 3 == 0 ? 200'000 : 1 + 4096 * (i % 15), i);  // some have memory of their own
    const uint32_t file = Add(std::to_string(i), contents);
    EXPECT_EQ(BytesOf(Read(Whole(file, contents.size()))), contents);
  }
}

TEST_P(ReaderTest, ReadsOnWhereMemoryCannotBeLocked) {
  if (GetParam() != ReaderKind::kUring) return;
  Reader::Options options = Options(4);
  options.fixed = {reinterpret_cast<uint8_t*>(uintptr_t{4096}), 4096};  // no memory at all
  std::string choice;
  reader_ = MakeReader(GetParam(), source_, options, choice);
  EXPECT_NE(choice.find(", no fixed buffers: "), std::string::npos) << choice;
  const Bytes contents = Noise(5000, 1);
  const uint32_t file = Add("file", contents);
  EXPECT_EQ(BytesOf(Read(Whole(file, contents.size()))), contents);
}

TEST_P(ReaderTest, GivesTheBytesOfManyFiles) {
  constexpr uint32_t kFiles = 150;
  std::vector<Bytes> contents;
  for (uint32_t i = 0; i < kFiles; ++i) {
    const size_t bytes = i < 5 ? i : i < 10 ? 4096 * i : i * 7919 % 300'000;
    contents.push_back(Noise(bytes, i));
    Add(std::to_string(i), contents.back());
  }
  Start(8);
  EXPECT_EQ(reader_->name(), ReaderName(GetParam()));
  std::vector<SampleJob> done;
  std::map<uint64_t, int> seen;
  uint32_t next = 0;
  while (seen.size() < kFiles) {
    for (; next < kFiles && reader_->has_room(); ++next) {
      SampleJob job = Whole(next, contents[next].size());
      job.id = next;
      reader_->Submit(std::move(job));
      EXPECT_LE(reader_->in_flight(), 8u);
    }
    reader_->Wait(done, kForever);
    for (SampleJob& job : done) {
      EXPECT_EQ(BytesOf(job), contents[job.id]) << "file " << job.id;
      ++seen[job.id];
    }
    done.clear();
  }
  for (const auto& [id, times] : seen) EXPECT_EQ(times, 1);
  EXPECT_EQ(reader_->in_flight(), 0u);
}

TEST_P(ReaderTest, LandsExtentsSideBySide) {
  const Bytes first = Noise(100'000, 1), second = Noise(5000, 2);
  const uint32_t a = Add("a", first), b = Add("b", second);
  Start();
  const SampleJob job =
      Read(Job({{a, 99'000, 1000, false}, {b, 0, 5000, true}, {a, 0, 10, false}, {a, 50'000, 1, false}}));
  Bytes expected(first.begin() + 99'000, first.end());
  expected.insert(expected.end(), second.begin(), second.end());
  expected.insert(expected.end(), first.begin(), first.begin() + 10);
  expected.push_back(first[50'000]);
  EXPECT_EQ(BytesOf(job), expected);
}

TEST_P(ReaderTest, NamesWhatBecameOfAFile) {
  const uint32_t file = Add("a", Noise(1000, 1));
  const uint32_t gone = source_.Add(folder_.string() + "/gone"), folder = source_.Add(folder_.string());
  const uint32_t too_long = source_.Add("/" + std::string(PATH_MAX, 'x'));
  Start();
  SampleJob job = Read(Whole(file, 1200));
  EXPECT_EQ(job.error, LoadError::kChangedSize);
  EXPECT_STREQ(job.diagnosis.detail, "1200 bytes expected, the file ends after 1000");
  EXPECT_EQ(job.diagnosis.offset_bytes, 1000);
  job = Read(Whole(file, 999));
  EXPECT_EQ(job.error, LoadError::kChangedSize);
  EXPECT_STREQ(job.diagnosis.detail, "999 bytes expected, the file is longer");
  EXPECT_EQ(Read(Whole(gone, 10)).error, std::errc::no_such_file_or_directory);
  EXPECT_EQ(Read(Whole(folder, 10)).error, std::errc::is_a_directory);
  EXPECT_EQ(Read(Whole(too_long, 10)).error, std::errc::filename_too_long);
  EXPECT_EQ(Read(Job({{file, 990, 20, false}})).error, LoadError::kChangedSize);
  EXPECT_EQ(Read(Job({{file, 0, 10, false}, {gone, 0, 10, false}})).error, std::errc::no_such_file_or_directory);
  EXPECT_EQ(BytesOf(Read(Whole(file, 1000))), Noise(1000, 1));  // and goes on
}

// Runs `check` in a child; true where it returned true.
bool InChild(const std::function<bool()>& check) {
  const pid_t child = fork();
  if (child == 0) _exit(check() ? 0 : 1);
  int status = -1;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  return status == 0;
}

TEST_P(ReaderTest, NamesAFileThatItMayNotRead) {
  const uint32_t file = Add("a", Noise(10, 1));
  fs::permissions(folder_.path(), fs::perms::all);
  fs::permissions(folder_.path() / "a", fs::perms::none);
  EXPECT_TRUE(InChild([&] {
    if (geteuid() == 0 && setuid(65534) != 0) return false;
    Start(1);
    return Read(Whole(file, 10)).error == std::errc::permission_denied;
  }));
}

TEST_P(ReaderTest, NamesTheLimitOfOpenFiles) {
#if defined(__has_feature)
#if __has_feature(undefined_behavior_sanitizer) || __has_feature(thread_sanitizer)
  GTEST_SKIP() << "the sanitizer's run time needs descriptors of its own, and this test leaves none";
#endif
#endif
  const Bytes bytes = Noise(10, 1);
  const uint32_t file = Add("a", bytes);
  EXPECT_TRUE(InChild([&] {
    MakeBuffers();  // a child inherits none
    Start(1);
    const rlimit none = {3, 3};
    if (setrlimit(RLIMIT_NOFILE, &none) != 0) return false;
    const SampleJob job = Read(Whole(file, 10));
    // A direct descriptor is no descriptor of the process, so io_uring knows no such limit.
    return GetParam() == ReaderKind::kUring ? BytesOf(job) == bytes : job.error == std::errc::too_many_files_open;
  }));
}

TEST_P(ReaderTest, CollectsWithoutWaiting) {
  const uint32_t file = Add("a", Noise(10, 1));
  Start();
  reader_->Submit(Whole(file, 10));
  std::vector<SampleJob> done;
  while (done.empty()) reader_->Wait(done, std::chrono::nanoseconds(0));
  EXPECT_EQ(BytesOf(done[0]), Noise(10, 1));
}

TEST_P(ReaderTest, WakesFromAnotherThread) {
  Start();
  std::vector<SampleJob> done;
  for (int i = 0; i < 100; ++i) {
    std::thread other([&] { reader_->Wake(); });
    reader_->Wait(done, kForever);  // returns whether the wake came before or during it
    other.join();
  }
  EXPECT_TRUE(done.empty());
}

TEST_P(ReaderTest, ReturnsWhenTimeHasPassed) {
  Start();
  std::vector<SampleJob> done;
  const auto begin = std::chrono::steady_clock::now();
  reader_->Wait(done, std::chrono::milliseconds(5));
  EXPECT_GE(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(5));
  EXPECT_TRUE(done.empty());
}

// A FIFO that nobody writes: opening it does not come back until somebody does.
class StuckFile {
 public:
  explicit StuckFile(const std::string& path) : path_(path) { EXPECT_EQ(mkfifo(path.c_str(), 0600), 0); }
  // Lets the readers go.
  ~StuckFile() {
    const int end = open(path_.c_str(), O_RDWR | O_NONBLOCK);
    if (end >= 0) std::this_thread::sleep_for(std::chrono::milliseconds(20));
    close(end);
  }

 private:
  const std::string path_;
};

TEST_P(ReaderTest, GivesALateSampleBackWithoutItsBuffer) {
  const uint32_t file = Add("a", Noise(10, 1));
  const StuckFile stuck(folder_.string() + "/fifo");
  const uint32_t fifo = source_.Add(folder_.string() + "/fifo");
  Start(3, 20'000'000);
  SampleJob late = Whole(fifo, 10);
  late.id = 77;
  reader_->Submit(std::move(late));
  std::vector<SampleJob> done;
  while (done.empty()) reader_->Wait(done, std::chrono::milliseconds(10));
  EXPECT_EQ(done[0].error, LoadError::kReadTimedOut);
  EXPECT_EQ(done[0].id, 77u);
  EXPECT_FALSE(done[0].encoded);
  EXPECT_EQ(buffers_->leased(), 1u);  // the kernel may yet write it
  EXPECT_EQ(reader_->in_flight(), 0u);
  EXPECT_TRUE(reader_->has_room());
  done.clear();
  for (int i = 0; i < 2; ++i) reader_->Submit(Whole(file, 10));
  EXPECT_FALSE(reader_->has_room());  // the stuck read keeps its place
  while (done.size() < 2) reader_->Wait(done, std::chrono::milliseconds(10));
  EXPECT_EQ(reader_->in_flight(), 0u);
  EXPECT_TRUE(reader_->has_room());
}

TEST_P(ReaderTest, EndsWhateverIsStuck) {
  auto buffers = std::make_unique<ReadBuffers>(4, 4096, 0, SteadyNow, [] {});
  {
    const StuckFile stuck(folder_.string() + "/fifo");
    const uint32_t fifo = source_.Add(folder_.string() + "/fifo");
    Start(3);
    for (int i = 0; i < 2; ++i) {
      SampleJob job;
      job.extents.Add({fifo, 0, 10, true});
      ASSERT_EQ(buffers->TryLease(11, job.encoded), ReadBuffers::Outcome::kLeased);
      reader_->Submit(std::move(job));
    }
    std::vector<SampleJob> done;
    reader_->Wait(done, std::chrono::milliseconds(20));
    EXPECT_TRUE(done.empty());
    reader_.reset();  // would hang
    // A thread cannot be taken out of a system call; a request of io_uring's can.
    EXPECT_EQ(abandoned_, GetParam() == ReaderKind::kPread);
    EXPECT_EQ(buffers->leased(), abandoned_ ? 2u : 0u);
    if (abandoned_) buffers->Abandon();
    buffers.reset();
  }  // the stuck reads come back now: they must touch nothing that is gone
}

TEST_P(ReaderTest, DropsWhatIsInFlightWhenDestroyed) {
  const Bytes bytes = Noise(200'000, 1);
  const uint32_t file = Add("a", bytes);
  for (int round = 0; round < 20; ++round) {
    Start(16);
    for (int i = 0; i < 16; ++i) reader_->Submit(Whole(file, bytes.size()));
    reader_.reset();
    EXPECT_FALSE(abandoned_);
    EXPECT_EQ(buffers_->leased(), 0u);
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, ReaderTest, testing::Values(ReaderKind::kPread, ReaderKind::kUring),
                         [](const auto& kind) { return std::string(ReaderName(kind.param)); });

}  // namespace
}  // namespace stoker

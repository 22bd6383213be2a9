#include "bench/index_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <stop_token>
#include <thread>
#include <vector>

#include "bench/interrupt_scope.h"
#include "bench/run_command.h"
#include "bench/run_source.h"
#include "bench/status_line.h"
#include "bench/steady_seconds.h"
#include "loader/index/index_keeper.h"
#include "loader/options.h"
#include "transfer/mutex.h"

namespace stoker {
namespace {

constexpr double kMegabyte = 1e6;
constexpr std::chrono::milliseconds kRedrawEvery{250};
// The share of the free memory that may be learned before it is written, as a divisor.
constexpr int64_t kMemoryShare = 2;

// What became of a picture.
enum class PictureOutcome : uint8_t { kLearned, kKnown, kNotJpeg, kScans, kLibrarys, kOdd, kBroken };
constexpr size_t kPictureOutcomes = 7;
constexpr std::array<const char*, kPictureOutcomes> kOutcomeWords = {
    "indexed",
    "known before",
    "not JPEG",
    "JPEGs whose colours come in scans of their own, so that rows have no one beginning",
    "JPEGs that are left to libjpeg-turbo (progressive, CMYK and the like)",
    "JPEGs with something odd in their data",
    "broken, too large or not to be read"};

// The pictures of a source, looked at by several threads.
class Indexing {
 public:
  Indexing(const FileSource& source, RowIndex& rows) : source_(source), rows_(rows) {}

  // Returns when all were looked at, or on an interrupt. Throws std::system_error or std::bad_alloc where threads or
  // memory are missing.
  void Run(int32_t workers, const std::string& words) {
    working_ = workers;
    std::vector<Scratch> scratch(static_cast<size_t>(workers));
    std::vector<std::jthread> threads;  // stopped and joined where something is thrown
    threads.reserve(scratch.size());
    for (Scratch& own : scratch) {
      threads.emplace_back([this, &own](const std::stop_token& stop) { Work(stop, own); });
    }
    StatusLine line;
    {
      MutexLock lock(mutex_);
      for (;;) {  // shown once at least, so that what is printed does not hang on how fast the work is
        const auto done = static_cast<double>(std::min(next_.load(std::memory_order_relaxed), source_.size()));
        line.Show(done / static_cast<double>(std::max<uint64_t>(source_.size(), 1)), words);
        if (working_ == 0) break;
        ended_.WaitFor(mutex_, kRedrawEvery);
      }
    }
    line.End();
  }
  uint64_t operator[](PictureOutcome outcome) const { return counts_[static_cast<size_t>(outcome)].load(); }

 private:
  // One worker's memory.
  struct Scratch {
    Decoder decoder{LoaderOptions().limits};
    Image image;
    JpegMarks marks;
  };

  void Work(const std::stop_token& stop, Scratch& scratch) {
    while (interrupted == 0 && !stop.stop_requested()) {
      const uint64_t id = next_.fetch_add(1, std::memory_order_relaxed);
      if (id >= source_.size()) break;
      const PictureOutcome outcome = LookAt(id, scratch);
      counts_[static_cast<size_t>(outcome)].fetch_add(1, std::memory_order_relaxed);
    }
    MutexLock lock(mutex_);
    --working_;
    ended_.NotifyOne();
  }

  // Asks for the lowest row of pixels alone: all rows above it are then gone through, and no pixel of them is made.
  PictureOutcome LookAt(uint64_t id, Scratch& scratch) const noexcept try {
    JpegMarks& marks = scratch.marks;
    if (source_.ExtentsOf(id, nullptr).bytes() > most_bytes_) return PictureOutcome::kBroken;
    const std::vector<uint8_t> bytes = ReadSample(source_, id);
    ImageSize size;
    RegionBox box;
    Diagnosis diagnosis;
    const std::error_code unread = scratch.decoder.Peek(bytes, size, diagnosis);
    if (diagnosis.format != Format::kJpeg && !(unread && diagnosis.format == Format::kUnknown))
      return PictureOutcome::kNotJpeg;
    if (unread) return PictureOutcome::kBroken;
    rows_.Find(id, marks);
    DecodeRequest request;
    request.region = {0, size.height - 1, size.width, 1};
    request.marks = &marks;
    if (scratch.decoder.Decode(bytes, request, scratch.image, box, diagnosis)) return PictureOutcome::kBroken;
    if (marks.grew()) {
      rows_.Learn(id, marks);
      return PictureOutcome::kLearned;
    }
    if (diagnosis.jpeg_path == JpegPath::kStartedOver) return PictureOutcome::kOdd;
    if (diagnosis.jpeg_path == JpegPath::kLibrary) return PictureOutcome::kLibrarys;
    return marks.packed().empty() ? PictureOutcome::kScans : PictureOutcome::kKnown;
  } catch (const std::exception&) {  // no memory for it
    return PictureOutcome::kBroken;
  }

  const FileSource& source_;
  RowIndex& rows_;
  const uint64_t most_bytes_ = static_cast<uint64_t>(LoaderOptions().max_file_bytes);
  std::atomic<uint64_t> next_{0};                                 // hands out pictures; orders nothing
  std::array<std::atomic<uint64_t>, kPictureOutcomes> counts_{};  // read after the joins
  Mutex mutex_;
  CondVar ended_;
  int32_t working_ = 0;  // guarded by the mutex once threads run
};

std::string CacheFolder() {
  const char* const cache = std::getenv("XDG_CACHE_HOME");
  if (cache != nullptr && cache[0] == '/') return std::string(cache) + "/stoker";
  const char* const home = std::getenv("HOME");
  if (home != nullptr && home[0] != '\0') return std::string(home) + "/.cache/stoker";
  throw std::invalid_argument("--index: give a folder; there is neither XDG_CACHE_HOME nor HOME to find one by");
}

void Print(const Indexing& indexing, const FileSource& source, const IndexKeeper& keeper, double seconds,
           int32_t workers, bool full) {
  const IndexReport report = keeper.report();
  std::string text = fmt::format("  pictures     {}: {} {}, {} {}\n", source.size(), indexing[PictureOutcome::kLearned],
                                 kOutcomeWords[0], indexing[PictureOutcome::kKnown], kOutcomeWords[1]);
  for (size_t i = 2; i < kPictureOutcomes; ++i) {
    const uint64_t count = indexing[static_cast<PictureOutcome>(i)];
    if (count > 0) text += fmt::format("  skipped      {} {}\n", count, kOutcomeWords[i]);
  }
  text += fmt::format("  time         {:.1f} s, {:.0f} pictures/s, {} workers\n", seconds,
                      static_cast<double>(source.size()) / std::max(seconds, 1e-9), workers);
  if (report.file_entries > 0) {
    text += fmt::format("  file         {}: {:.2f} MB, {} pictures, {:.0f} bytes each\n", keeper.path(),
                        static_cast<double>(report.file_bytes) / kMegabyte, report.file_entries,
                        static_cast<double>(report.file_bytes) / static_cast<double>(report.file_entries));
    text += fmt::format("  use it with  --index {0}, in Python index=\"{0}\"\n",
                        std::filesystem::path(keeper.path()).parent_path().string());
  }
  if (full) text += "  memory       was full before the end: run it again, it goes on from here\n";
  std::cout << "row index\n" << text << std::flush;
}

}  // namespace

void AddIndexOptions(CLI::App& command, IndexOptions& options) {
  command.add_option("path", options.path, "Folder of class folders, or of pictures, as for stoker run");
  command.add_option("--list", options.list, "File of `path label` lines instead of a folder")->option_text("FILE");
  command.add_flag("--allow-empty", options.allow_empty, "Class folders without a picture are fine [an error]");
  command
      .add_option("--index", options.index,
                  "Folder for the index, made where it is missing; data sets may share one [the user's cache]")
      ->option_text("DIR");
  command.add_option("--workers", options.workers, "Threads, 1 to 512 [as many as there are CPUs to use]")
      ->option_text("N")
      ->check(CLI::Range(1, 512).description(""));
}

int IndexCommand(const IndexOptions& options) {
  if (options.path.empty() == options.list.empty()) {
    throw std::invalid_argument("give a folder, or --list FILE, and not both; see stoker index --help");
  }
  const std::string folder = options.index.empty() ? CacheFolder() : options.index;
  if (folder == kNoIndex || folder == kIndexInMemory) {
    throw std::invalid_argument(fmt::format("--index {}: give a folder (./{} is one)", folder, folder));
  }
  RunOptions data;
  data.path = options.path;
  data.list = options.list;
  data.allow_empty = options.allow_empty;
  const std::unique_ptr<FileSource> source = OpenSource(data);
  const size_t most = source->size() * (JpegMarks::kMaxBytes + 16);
  IndexKeeper keeper(*source, folder, std::min(most, static_cast<size_t>(AvailableMemoryBytes() / kMemoryShare)));
  const int32_t workers = options.workers > 0 ? options.workers : UsableCpus();
  const InterruptScope scope;
  const double start = SteadySeconds();
  Indexing indexing(*source, keeper.rows());
  indexing.Run(workers, "indexing " + (options.list.empty() ? options.path : options.list));
  const double took = SteadySeconds() - start;
  const bool full = keeper.rows().usage().full;
  const bool saved = indexing[PictureOutcome::kLearned] == 0 || keeper.Save();
  keeper.Reopen();
  Print(indexing, *source, keeper, took, workers, full);
  if (interrupted != 0) return kExitInterrupted;
  return saved ? kExitOk : kExitFailed;
}

}  // namespace stoker

#include "loader/index/index_keeper.h"

#include <cstdio>
#include <exception>
#include <filesystem>
#include <utility>
#include <vector>

#include "loader/index/index_writer.h"

namespace stoker {
namespace {

// How often what was learned must go into what the file has, to be worth writing all of it anew.
constexpr uint64_t kWorthAtEpochsEnd = 20;
constexpr uint64_t kWorthAtTheEnd = 1000;

IndexedSet SetOf(const Source& source, const std::string& place) {
  if (place == kIndexInMemory) return {source.size()};
  return {source.size(), FingerprintOf(source)};
}

std::string PathIn(const std::string& place, const IndexedSet& set) {
  if (place == kIndexInMemory) return {};
  return (std::filesystem::path(place) / (Hex(set.fingerprint) + ".stoker-index")).string();
}

// Of each sample in order the marks that cover more rows: those of a file, or those that were learned. These where they
// cover the same: the file's, if they were of the picture as it is now, would have left nothing to learn.
class Merge {
 public:
  Merge(const IndexFile* file, const RowIndex& rows) : file_(file), rows_(rows) {}

  std::span<const uint8_t> MarksOf(uint64_t id) {
    const uint64_t i = id % kSamplesARun;
    if (i == 0) ends_ = file_ == nullptr ? std::span<const uint32_t>() : file_->ReadRun(id / kSamplesARun, run_);
    std::span<const uint8_t> in_file;
    if (!ends_.empty()) in_file = std::span(run_).subspan(ends_[i], ends_[i + 1] - ends_[i]);
    rows_.FindLearned(id, learned_);
    const std::span<const uint8_t> learned = learned_.packed();
    return !learned.empty() && JpegMarks::RowsIn(learned) >= JpegMarks::RowsIn(in_file) ? learned : in_file;
  }

 private:
  const IndexFile* const file_;
  const RowIndex& rows_;
  std::vector<uint8_t> run_;
  std::span<const uint32_t> ends_;  // in run_
  JpegMarks learned_;
};

}  // namespace

IndexKeeper::IndexKeeper(const Source& source, const std::string& place, size_t budget_bytes, double patience_seconds)
    : set_(SetOf(source, place)),
      path_(PathIn(place, set_)),
      patience_seconds_(patience_seconds),
      rows_(source.size(), budget_bytes) {
  if (path_.empty()) return;
  std::string trouble;
  std::shared_ptr<const IndexFile> file = IndexFile::Open(path_, set_, trouble);
  if (!trouble.empty()) {
    std::fprintf(stderr, "stoker: the row index %s is not used: %s; it is written anew\n", path_.c_str(),
                 trouble.c_str());
  }
  GoOnWith(std::move(file));
}

IndexKeeper::~IndexKeeper() {
  Join();
  if (WorthWriting(kWorthAtTheEnd)) Save();
}

void IndexKeeper::Join() {
  if (thread_.joinable()) thread_.join();
}

void IndexKeeper::GoOnWith(std::shared_ptr<const IndexFile> file) {
  rows_.PutBelow(file);
  MutexLock lock(mutex_);
  file_ = std::move(file);
}

bool IndexKeeper::WorthWriting(uint64_t times) const {
  const uint64_t learned = rows_.usage().entries;
  return !path_.empty() && learned > 0 && learned * times >= report().file_entries;
}

void IndexKeeper::EpochEnded() {
  if (path_.empty() || busy_.load(std::memory_order_relaxed)) return;
  Join();
  busy_.store(true, std::memory_order_relaxed);
  try {
    thread_ = std::thread([this] {
      LookAfterFile();
      busy_.store(false, std::memory_order_relaxed);
    });
  } catch (const std::exception&) {  // no thread to be had: the next epoch's end will do
    busy_.store(false, std::memory_order_relaxed);
  }
}

void IndexKeeper::LookAfterFile() noexcept {
  if (WorthWriting(kWorthAtEpochsEnd)) Save();
  try {
    Reopen();
  } catch (const std::exception& error) {  // what was there stays, the next epoch's end will do
    std::fprintf(stderr, "stoker: the row index %s is not looked at now: %s\n", path_.c_str(), error.what());
  }
}

void IndexKeeper::Reopen() {
  std::shared_ptr<const IndexFile> file;
  {
    MutexLock lock(mutex_);
    file = file_;
  }
  std::string trouble;
  if (file != nullptr && file->IsAt(path_)) return;
  if (auto newer = IndexFile::Open(path_, set_, trouble)) GoOnWith(std::move(newer));
}

bool IndexKeeper::Save() noexcept {
  if (refused_) return false;
  try {
    std::filesystem::create_directories(std::filesystem::path(path_).parent_path());
    const LockedIndex lock(path_, patience_seconds_);
    if (!lock.held()) {
      std::fprintf(stderr, "stoker: the row index is not written now: another process keeps %s.lock\n", path_.c_str());
      return false;
    }
    std::string trouble;
    const std::shared_ptr<const IndexFile> newest = IndexFile::Open(path_, set_, trouble);
    Merge merge(newest.get(), rows_);
    WriteIndexFile(path_, set_, [&](uint64_t id) { return merge.MarksOf(id); });
    return true;
  } catch (const std::exception& error) {
    refused_ = true;
    std::fprintf(stderr,
                 "stoker: the row index is kept in memory only: %s; give --index (index=) a folder that may be written "
                 "to and has room for some 280 bytes a picture, or --index memory\n",
                 error.what());
    return false;
  }
}

IndexReport IndexKeeper::report() const {
  IndexReport report;
  report.learned = rows_.usage();
  MutexLock lock(mutex_);
  if (file_ != nullptr) {
    report.file_entries = file_->entries();
    report.file_bytes = file_->file_bytes();
  }
  return report;
}

}  // namespace stoker

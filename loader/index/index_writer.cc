#include "loader/index/index_writer.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cassert>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace stoker {
namespace {

constexpr std::chrono::milliseconds kLooksEvery{20};

[[noreturn]] void Throw(int error, const std::string& what) {
  throw std::system_error(error, std::generic_category(), what);
}

// A new file that takes another's place once it is complete; removed where it does not come to that.
class NewFile {
 public:
  explicit NewFile(std::string path) : path_(std::move(path)), draft_(path_ + ".new") {
    descriptor_ = open(draft_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (descriptor_ < 0) Throw(errno, "cannot write " + draft_);
  }
  ~NewFile() {
    if (descriptor_ >= 0) close(descriptor_);
    if (!done_) unlink(draft_.c_str());
  }
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;

  void Write(uint64_t offset, const void* bytes, size_t size) const {
    const auto* from = static_cast<const uint8_t*>(bytes);
    rlimit limit = {};  // beyond it a signal would end the process
    const bool limited = getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
    if (limited && offset + size > limit.rlim_cur) Throw(EFBIG, "cannot write " + draft_);
    while (size > 0) {
      const ssize_t written = pwrite(descriptor_, from, size, static_cast<off_t>(offset));
      if (written < 0 && errno == EINTR) continue;
      if (written <= 0) Throw(written < 0 ? errno : ENOSPC, "cannot write " + draft_);
      from += written;
      offset += static_cast<uint64_t>(written);
      size -= static_cast<size_t>(written);
    }
  }

  // On the disk before its name is, so that a machine that stops leaves the old one or this one. The folder itself is
  // not waited for: which of the two is found then does not matter.
  void TakePlace() {
    if (fsync(descriptor_) != 0) Throw(errno, "cannot write " + draft_);
    if (close(std::exchange(descriptor_, -1)) != 0) Throw(errno, "cannot write " + draft_);
    if (rename(draft_.c_str(), path_.c_str()) != 0) Throw(errno, fmt::format("cannot rename {} to {}", draft_, path_));
    done_ = true;
  }

 private:
  const std::string path_;
  const std::string draft_;
  int descriptor_ = -1;
  bool done_ = false;
};

// Lays out one run in `bytes`; returns how many samples have entries, and leaves it empty where none has.
uint64_t LayOutRun(uint64_t first, uint64_t samples, const PackedMarksOf& marks_of, std::vector<uint8_t>& bytes) {
  std::vector<uint32_t> ends(samples + 1);
  uint64_t entries = 0;
  bytes.resize(ends.size() * sizeof(uint32_t));
  ends[0] = static_cast<uint32_t>(bytes.size());
  for (uint64_t i = 0; i < samples; ++i) {
    const std::span<const uint8_t> packed = marks_of(first + i);
    assert(packed.size() <= JpegMarks::kMaxBytes);
    bytes.insert(bytes.end(), packed.begin(), packed.end());
    ends[i + 1] = static_cast<uint32_t>(bytes.size());
    entries += packed.empty() ? 0 : 1;
  }
  std::memcpy(bytes.data(), ends.data(), ends.size() * sizeof(uint32_t));
  if (entries == 0) bytes.clear();
  return entries;
}

}  // namespace

void WriteIndexFile(const std::string& path, const IndexedSet& set, const PackedMarksOf& marks_of) {
  NewFile file(path);
  IndexHeader header = {.samples = set.samples, .fingerprint = set.fingerprint};
  std::vector<IndexRun> directory(RunsOf(set.samples));
  const size_t directory_bytes = directory.size() * sizeof(IndexRun);
  header.file_bytes = sizeof header + directory_bytes;
  std::vector<uint8_t> bytes;
  for (uint64_t run = 0; run < directory.size(); ++run) {
    header.entries += LayOutRun(run * kSamplesARun, SamplesInRun(set.samples, run), marks_of, bytes);
    if (bytes.empty()) continue;
    directory[run] = {header.file_bytes, bytes.size(), ChecksumOf(bytes)};
    file.Write(header.file_bytes, bytes.data(), bytes.size());
    header.file_bytes += bytes.size();
  }
  header.checksum = ChecksumOf(header, directory);
  file.Write(sizeof header, directory.data(), directory_bytes);
  file.Write(0, &header, sizeof header);
  file.TakePlace();
}

LockedIndex::LockedIndex(const std::string& path, double patience_seconds) {
  const std::string lock = path + ".lock";
  descriptor_ = open(lock.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (descriptor_ < 0) Throw(errno, "cannot write " + lock);
  const auto start = std::chrono::steady_clock::now();
  while (flock(descriptor_, LOCK_EX | LOCK_NB) != 0) {
    const int error = errno;
    const std::chrono::duration<double> waited = std::chrono::steady_clock::now() - start;
    if (error == EINTR || (error == EWOULDBLOCK && waited.count() < patience_seconds)) {
      std::this_thread::sleep_for(kLooksEvery);
      continue;
    }
    close(std::exchange(descriptor_, -1));
    if (error == EWOULDBLOCK) return;
    Throw(error, "cannot lock " + lock);
  }
}

LockedIndex::~LockedIndex() {
  if (!held()) return;
  flock(descriptor_, LOCK_UN);  // a child forked meanwhile has the file open, too: closing it here would not do
  close(descriptor_);
}

}  // namespace stoker

// Any bytes as the side file of a row index. The first byte says what is mended so that the bytes behind it are
// reached: its lowest bit the header, the next one its checksum and those of the runs.
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "loader/index/index_file.h"

namespace stoker {
namespace {

constexpr IndexedSet kSet = {2100, {1, 2}};
constexpr size_t kRuns = RunsOf(kSet.samples);

void Require(bool holds) {
  if (!holds) std::abort();
}

void MendHeader(std::vector<uint8_t>& bytes) {
  IndexHeader header;
  if (bytes.size() < sizeof header) return;
  std::memcpy(&header, bytes.data(), sizeof header);
  header.magic = kIndexMagic;
  header.version = kIndexVersion;
  header.samples = kSet.samples;
  header.fingerprint = kSet.fingerprint;
  header.file_bytes = bytes.size();
  std::memcpy(bytes.data(), &header, sizeof header);
}

void MendChecksums(std::vector<uint8_t>& bytes) {
  IndexHeader header;
  std::vector<IndexRun> directory(kRuns);
  const size_t directory_bytes = kRuns * sizeof(IndexRun);
  if (bytes.size() < sizeof header + directory_bytes) return;
  std::memcpy(&header, bytes.data(), sizeof header);
  std::memcpy(directory.data(), bytes.data() + sizeof header, directory_bytes);
  for (IndexRun& run : directory) {
    if (run.offset > bytes.size() || run.bytes > bytes.size() - run.offset) continue;
    run.checksum = ChecksumOf(std::span(bytes).subspan(run.offset, run.bytes));
  }
  header.checksum = ChecksumOf(header, directory);
  std::memcpy(bytes.data(), &header, sizeof header);
  std::memcpy(bytes.data() + sizeof header, directory.data(), directory_bytes);
}

void LookUpEverything(const IndexFile& file) {
  JpegMarks marks;
  for (uint64_t id = 0; id < kSet.samples; id += 7) {
    file.Find(id, marks);
    Require(marks.packed().size() <= JpegMarks::kMaxBytes);
  }
  std::vector<uint8_t> bytes;
  for (uint64_t run = 0; run < kRuns; ++run) {
    const std::span<const uint32_t> ends = file.ReadRun(run, bytes);
    Require(ends.empty() || ends.size() == SamplesInRun(kSet.samples, run) + 1);
    for (size_t i = 1; i < ends.size(); ++i) {
      (void)JpegMarks::RowsIn(std::span(bytes).subspan(ends[i - 1], ends[i] - ends[i - 1]));
      Require(ends[i] - ends[i - 1] <= JpegMarks::kMaxBytes);
    }
  }
}

}  // namespace
}  // namespace stoker

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  std::vector<uint8_t> bytes(data + 1, data + size);
  if ((data[0] & 1) != 0) stoker::MendHeader(bytes);
  if ((data[0] & 2) != 0) stoker::MendChecksums(bytes);
  static const int file = memfd_create("index_fuzz", MFD_CLOEXEC);
  static const std::string path = "/proc/self/fd/" + std::to_string(file);
  stoker::Require(ftruncate(file, 0) == 0);
  stoker::Require(pwrite(file, bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size()));
  std::string trouble;
  const auto opened = stoker::IndexFile::Open(path, stoker::kSet, trouble);
  stoker::Require((opened == nullptr) == !trouble.empty());
  if (opened != nullptr) stoker::LookUpEverything(*opened);
  return 0;
}

#include "loader/index/index_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <system_error>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace stoker {
namespace {

constexpr uint64_t TableBytes(uint64_t samples) { return (samples + 1) * sizeof(uint32_t); }

std::span<uint8_t> BytesOf(IndexHeader& header) { return {reinterpret_cast<uint8_t*>(&header), sizeof header}; }

// Whether a run can lie where the directory says: no bound is left to be checked but those of its entries.
bool IsRun(const IndexRun& run, uint64_t samples, uint64_t first_byte, uint64_t file_bytes) {
  if (run.bytes == 0) return true;
  const uint64_t table = TableBytes(samples);
  return run.bytes >= table && run.bytes <= table + samples * JpegMarks::kMaxBytes && run.offset >= first_byte &&
         run.offset <= file_bytes && run.bytes <= file_bytes - run.offset;
}

}  // namespace

uint64_t ChecksumOf(std::span<const uint8_t> bytes) noexcept { return XXH3_64bits(bytes.data(), bytes.size()); }

uint64_t ChecksumOf(const IndexHeader& header, std::span<const IndexRun> directory) noexcept {
  const uint64_t runs = XXH3_64bits(directory.data(), directory.size_bytes());
  return XXH3_64bits_withSeed(&header, offsetof(IndexHeader, checksum), runs);
}

std::shared_ptr<const IndexFile> IndexFile::Open(const std::string& path, const IndexedSet& set, std::string& trouble) {
  trouble.clear();
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) {
    if (errno != ENOENT && errno != ENOTDIR) trouble = std::generic_category().message(errno);
    return nullptr;
  }
  const std::shared_ptr<IndexFile> file(new IndexFile(descriptor));
  trouble = file->Load(set);
  return trouble.empty() ? file : nullptr;
}

IndexFile::~IndexFile() { close(descriptor_); }

bool IndexFile::Read(uint64_t offset, std::span<uint8_t> into) const noexcept {
  while (!into.empty()) {
    const ssize_t got = pread(descriptor_, into.data(), into.size(), static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    offset += static_cast<uint64_t>(got);
    into = into.subspan(static_cast<size_t>(got));
  }
  return true;
}

std::string IndexFile::Load(const IndexedSet& set) {
  if (!Read(0, BytesOf(header_))) return "it is cut short";
  if (header_.magic != kIndexMagic) return "it is no index file";
  if (header_.version != kIndexVersion) {
    return fmt::format("it has version {}, this is version {}", header_.version, kIndexVersion);
  }
  if (header_.samples != set.samples || header_.fingerprint != set.fingerprint) return "it is another data set's";
  directory_.resize(RunsOf(set.samples));
  const std::span<IndexRun> directory = directory_;
  if (!Read(sizeof header_, {reinterpret_cast<uint8_t*>(directory.data()), directory.size_bytes()})) {
    return "it is cut short";
  }
  if (ChecksumOf(header_, directory_) != header_.checksum) return "it is damaged: its checksum is another";
  struct stat status = {};
  if (fstat(descriptor_, &status) != 0) return std::generic_category().message(errno);
  if (static_cast<uint64_t>(status.st_size) != header_.file_bytes) return "it is cut short";
  for (uint64_t run = 0; run < directory_.size(); ++run) {
    const uint64_t first_byte = sizeof header_ + directory.size_bytes();
    if (!IsRun(directory_[run], SamplesInRun(set.samples, run), first_byte, header_.file_bytes)) return "it is damaged";
  }
  return {};
}

void IndexFile::Find(uint64_t id, JpegMarks& marks) const {
  marks.Clear();
  const IndexRun& run = directory_[id / kSamplesARun];
  if (run.bytes == 0) return;
  uint32_t ends[2];
  const uint64_t place = run.offset + id % kSamplesARun * sizeof(uint32_t);
  if (!Read(place, {reinterpret_cast<uint8_t*>(ends), sizeof ends})) return;
  if (ends[0] >= ends[1] || ends[1] > run.bytes || ends[1] - ends[0] > JpegMarks::kMaxBytes) return;
  uint8_t packed[JpegMarks::kMaxBytes];  // on the stack, of which no more is touched than the entry has
  const std::span<uint8_t> entry(packed, ends[1] - ends[0]);
  if (Read(run.offset + ends[0], entry)) marks.Assign(entry);
}

std::span<const uint32_t> IndexFile::ReadRun(uint64_t run, std::vector<uint8_t>& bytes) const {
  const IndexRun& place = directory_[run];
  if (place.bytes == 0) return {};
  if (bytes.size() < place.bytes) bytes.resize(place.bytes);
  const std::span<uint8_t> read = std::span(bytes).first(place.bytes);
  if (!Read(place.offset, read) || ChecksumOf(read) != place.checksum) return {};
  const std::span<const uint32_t> ends(reinterpret_cast<const uint32_t*>(bytes.data()),
                                       SamplesInRun(header_.samples, run) + 1);
  for (size_t i = 1; i < ends.size(); ++i) {
    const bool in_order = ends[i - 1] <= ends[i] && ends[i] <= place.bytes;
    if (!in_order || ends[i] - ends[i - 1] > JpegMarks::kMaxBytes) return {};
  }
  return ends;
}

bool IndexFile::IsAt(const std::string& path) const noexcept {
  struct stat own = {}, there = {};
  return fstat(descriptor_, &own) == 0 && stat(path.c_str(), &there) == 0 && own.st_dev == there.st_dev &&
         own.st_ino == there.st_ino;
}

}  // namespace stoker

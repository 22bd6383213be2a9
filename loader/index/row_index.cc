#include "loader/index/row_index.h"

#include <algorithm>
#include <cassert>
#include <cstring>

namespace stoker {
namespace {

constexpr size_t kWordBytes = sizeof(uint32_t);
constexpr size_t kHeaderWords = 2;
// Less than this has one lock: no worker waits for long at that size.
constexpr size_t kMinShardBytes = size_t{1} << 20;
// Entries slide once holes make up this share of a shard, as a divisor: each word is moved a few times at most, and
// what cannot be used in the end is little.
constexpr size_t kWorthSliding = 16;

size_t WordsFor(size_t packed_bytes) { return kHeaderWords + (packed_bytes + kWordBytes - 1) / kWordBytes; }

size_t HeadBytes(uint64_t samples, size_t budget_bytes) {
  const size_t bytes = samples * kWordBytes;
  return bytes < budget_bytes ? bytes : 0;  // no room for an entry: no room for heads
}

}  // namespace

std::span<const uint8_t> RowIndex::Shard::Packed(size_t head) const {
  if (heads[head] == 0) return {};
  const uint32_t* const entry = words.data() + heads[head] - 1;
  return {reinterpret_cast<const uint8_t*>(entry + kHeaderWords), entry[1]};
}

void RowIndex::Shard::Forget(size_t head) {
  if (heads[head] == 0) return;
  holes += WordsFor(Packed(head).size());
  heads[head] = 0;
  --entries;
}

void RowIndex::Shard::CloseHoles() {
  size_t kept = 0;
  for (size_t at = 0; at < end;) {
    const size_t head = words[at];
    const size_t size = WordsFor(words[at + 1]);
    if (heads[head] == at + 1) {
      std::memmove(words.data() + kept, words.data() + at, size * kWordBytes);
      heads[head] = static_cast<uint32_t>(kept + 1);
      kept += size;
    }
    at += size;
  }
  end = kept;
  holes = 0;
}

bool RowIndex::Shard::MakeRoom(size_t wanted) {
  if (words.size() - end >= wanted) return true;
  if (holes * kWorthSliding < words.size()) return false;
  CloseHoles();
  return words.size() - end >= wanted;
}

RowIndex::RowIndex(uint64_t samples, size_t budget_bytes)
    : memory_(HeadBytes(samples, budget_bytes) > 0 ? budget_bytes : 0, Arena::Pages::kSmall),
      head_bytes_(HeadBytes(samples, budget_bytes)),
      shards_(std::clamp<size_t>(memory_.size() / kMinShardBytes, 1, kShards)) {
  auto* const words = reinterpret_cast<uint32_t*>(memory_.data());
  const size_t entry_words = (memory_.size() - head_bytes_) / kWordBytes / shards_.size();
  size_t heads_so_far = 0;
  for (size_t i = 0; i < shards_.size(); ++i) {
    Shard& shard = shards_[i];
    MutexLock lock(shard.mutex);
    const size_t heads = HeadsOf(i);
    shard.heads = {words + heads_so_far, heads};
    shard.words = {words + head_bytes_ / kWordBytes + i * entry_words, entry_words};
    shard.full = head_bytes_ == 0 && samples > 0;
    heads_so_far += heads;
  }
}

void RowIndex::Find(uint64_t id, JpegMarks& marks) const {
  const Shard& shard = ShardOf(id);
  std::shared_ptr<const IndexFile> below;
  {
    MutexLock lock(shard.mutex);
    marks.Assign(shard.heads.empty() ? std::span<const uint8_t>() : shard.Packed(HeadOf(id)));
    if (!marks.packed().empty()) return;
    below = shard.below;
  }
  if (below != nullptr) below->Find(id, marks);
}

void RowIndex::FindLearned(uint64_t id, JpegMarks& marks) const {
  const Shard& shard = ShardOf(id);
  MutexLock lock(shard.mutex);
  marks.Assign(shard.heads.empty() ? std::span<const uint8_t>() : shard.Packed(HeadOf(id)));
}

void RowIndex::Learn(uint64_t id, const JpegMarks& marks) {
  const std::span<const uint8_t> packed = marks.packed();
  const uint32_t rows = JpegMarks::RowsIn(packed);
  if (rows == 0) return;
  Shard& shard = ShardOf(id);
  MutexLock lock(shard.mutex);
  if (shard.heads.empty()) return;
  const size_t head = HeadOf(id);
  if (rows <= JpegMarks::RowsIn(shard.Packed(head))) return;
  const size_t size = WordsFor(packed.size());
  if (!shard.MakeRoom(size)) {
    shard.full = true;
    return;
  }
  shard.Forget(head);
  uint32_t* const entry = shard.words.data() + shard.end;
  entry[0] = static_cast<uint32_t>(head);
  entry[1] = static_cast<uint32_t>(packed.size());
  std::memcpy(entry + kHeaderWords, packed.data(), packed.size());
  shard.heads[head] = static_cast<uint32_t>(shard.end + 1);
  shard.end += size;
  ++shard.entries;
}

void RowIndex::PutBelow(const std::shared_ptr<const IndexFile>& file) {
  JpegMarks in_file;
  for (size_t i = 0; i < shards_.size(); ++i) {
    Shard& shard = shards_[i];
    const auto rows_learned = [&](size_t head) {
      MutexLock lock(shard.mutex);
      return JpegMarks::RowsIn(shard.Packed(head));
    };
    {
      MutexLock lock(shard.mutex);
      shard.below = file;
    }
    if (file == nullptr) continue;
    for (size_t head = 0; head < HeadsOf(i); ++head) {
      if (rows_learned(head) == 0) continue;
      file->Find(head * shards_.size() + i, in_file);  // without the lock: workers are not to wait for a disk
      const std::span<const uint8_t> filed = in_file.packed();
      MutexLock lock(shard.mutex);
      const std::span<const uint8_t> learned = shard.Packed(head);
      const bool more = JpegMarks::RowsIn(filed) > JpegMarks::RowsIn(learned);
      if (more || std::equal(filed.begin(), filed.end(), learned.begin(), learned.end())) shard.Forget(head);
      shard.full = false;
    }
  }
}

RowIndexUsage RowIndex::usage() const {
  RowIndexUsage usage;
  usage.bytes = head_bytes_;
  for (const Shard& shard : shards_) {
    MutexLock lock(shard.mutex);
    usage.entries += shard.entries;
    usage.bytes += (shard.end - shard.holes) * kWordBytes;
    usage.full = usage.full || shard.full;
  }
  return usage;
}

}  // namespace stoker

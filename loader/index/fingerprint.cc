#include "loader/index/fingerprint.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <new>
#include <string_view>
#include <vector>

#include "loader/side_by_side.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace stoker {
namespace {

// Names that are worth a thread's turn. Part of the fingerprint: another number is another hash.
constexpr uint64_t kNamesAtOnce = 4096;

// Calls `work(part, first id, end)` for each part of the source, side by side. Throws std::bad_alloc where it does.
template <typename Work>
void ForEachPart(const Source& source, Work work) {
  std::atomic<bool> out_of_memory{false};  // read after the joins
  SideBySide((source.size() + kNamesAtOnce - 1) / kNamesAtOnce, [&](size_t part) {
    try {
      work(part, part * kNamesAtOnce, std::min<uint64_t>((part + 1) * kNamesAtOnce, source.size()));
    } catch (const std::bad_alloc&) {
      out_of_memory.store(true, std::memory_order_relaxed);
    }
  });
  if (out_of_memory.load(std::memory_order_relaxed)) throw std::bad_alloc();
}

size_t SharedBytes(std::string_view a, std::string_view b) {
  return static_cast<size_t>(std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first - a.begin());
}

// How many bytes all names begin with, up to and with a slash.
size_t SharedFolderBytes(const Source& source) {
  if (source.size() == 0) return 0;
  const std::string first = source.Name(0);
  std::vector<size_t> shared((source.size() + kNamesAtOnce - 1) / kNamesAtOnce, first.size());
  ForEachPart(source, [&](size_t part, uint64_t begin, uint64_t end) {
    for (uint64_t id = begin; id < end; ++id)
      shared[part] = std::min(shared[part], SharedBytes(first, source.Name(id)));
  });
  const std::string_view common = std::string_view(first).substr(0, *std::min_element(shared.begin(), shared.end()));
  return common.rfind('/') + 1;  // of npos: 0
}

}  // namespace

Fingerprint FingerprintOf(const Source& source) {
  const size_t shared = SharedFolderBytes(source);
  std::vector<XXH128_hash_t> hashes((source.size() + kNamesAtOnce - 1) / kNamesAtOnce);
  ForEachPart(source, [&](size_t part, uint64_t begin, uint64_t end) {
    std::string text;
    for (uint64_t id = begin; id < end; ++id) {
      text.append(source.Name(id), shared);
      fmt::format_to(std::back_inserter(text), "\n{}\n", source.ExtentsOf(id, nullptr).bytes());
    }
    hashes[part] = XXH3_128bits(text.data(), text.size());
  });
  const XXH128_hash_t all = XXH3_128bits_withSeed(hashes.data(), hashes.size() * sizeof(XXH128_hash_t), source.size());
  return {all.low64, all.high64};
}

std::string Hex(const Fingerprint& fingerprint) {
  return fmt::format("{:016x}{:016x}", fingerprint[1], fingerprint[0]);
}

}  // namespace stoker

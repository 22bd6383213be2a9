#include "decode/jpeg/marks.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cstring>
#include <new>

#define XXH_INLINE_ALL
#include <xxhash.h>

// Packed, all numbers little-endian:
// - 8 bytes: checksum of all that follows, and of the file's bytes through the one with the last bit before the last
//   mark.
// - 2 bytes: how many rows have a mark, at least 1.
// - For each row from the second on: how many bits its mark lies behind the one before, then for each component how its
//   DC coefficient differs from the one before. Both are varints (7 bits a byte, the lowest first, the highest bit set
//   in all bytes but the last), the differences with their sign as the lowest bit.
// The first row's mark is not packed: it lies where the frame's entropy-coded data begin, and its DC is 0.

namespace stoker {
namespace {

constexpr size_t kChecksumBytes = 8;
constexpr size_t kHeaderBytes = kChecksumBytes + 2;
constexpr size_t kMaxRows = 8192;
// Bits of a varint: seven bytes, far more than any file has, and three for a 16-bit difference.
constexpr int kDistanceBits = 49;
constexpr int kDifferenceBits = 17;
constexpr size_t kMaxRowBytes = kDistanceBits / 7 + kMaxComponents * ((kDifferenceBits + 6) / 7);
static_assert(kHeaderBytes + (kMaxRows - 1) * kMaxRowBytes <= JpegMarks::kMaxBytes);

template <typename T>
void StoreNumber(T value, uint8_t* to) {
  for (size_t i = 0; i < sizeof(T); ++i) to[i] = static_cast<uint8_t>(value >> 8 * i);
}

template <typename T>
T LoadNumber(const uint8_t* from) {
  T value = 0;
  for (size_t i = 0; i < sizeof(T); ++i) value = static_cast<T>(value | T{from[i]} << 8 * i);
  return value;
}

void AppendVarint(uint64_t value, std::vector<uint8_t>& to) {
  for (; value >= 0x80; value >>= 7) to.push_back(static_cast<uint8_t>(value | 0x80));
  to.push_back(static_cast<uint8_t>(value));
}

// Takes a varint off the front of `from`; false where it is cut off or has more than `bits`.
bool TakeVarint(std::span<const uint8_t>& from, int bits, uint64_t& value) {
  value = 0;
  for (int shift = 0; shift < bits && !from.empty(); shift += 7) {
    const uint8_t byte = from.front();
    from = from.subspan(1);
    value |= uint64_t{byte & 0x7Fu} << shift;
    if (byte < 0x80) return value >> bits == 0;
  }
  return false;
}

// The sign goes to the lowest bit, so that small differences are small numbers.
uint64_t FromDifference(int value) { return static_cast<uint32_t>(value) << 1 ^ static_cast<uint32_t>(value >> 31); }

int ToDifference(uint64_t value) { return static_cast<int>(value >> 1) ^ -static_cast<int>(value & 1); }

RowMark FirstMark(const JpegFrame& frame) { return {8 * uint64_t{frame.scan_offset}, {}}; }

// The bytes that the marks up to `last` follow from; none where the file has fewer.
std::span<const uint8_t> BytesBefore(const RowMark& last, std::span<const uint8_t> file) {
  const uint64_t bytes = last.bit / 8 + (last.bit % 8 != 0 ? 1 : 0);
  return bytes <= file.size() ? file.first(bytes) : std::span<const uint8_t>();
}

uint64_t Checksum(std::span<const uint8_t> packed, std::span<const uint8_t> bytes) {
  const std::span<const uint8_t> content = packed.subspan(kChecksumBytes);
  return XXH3_64bits_withSeed(bytes.data(), bytes.size(), XXH3_64bits(content.data(), content.size()));
}

// Fills `marks`, whose first is set, from the packed ones behind it.
bool UnpackRows(std::span<const uint8_t> packed, int components, std::span<RowMark> marks) {
  for (size_t row = 1; row < marks.size(); ++row) {
    uint64_t distance = 0;
    if (!TakeVarint(packed, kDistanceBits, distance) || distance == 0) return false;
    marks[row] = marks[row - 1];
    marks[row].bit += distance;
    for (size_t c = 0; c < static_cast<size_t>(components); ++c) {
      uint64_t difference = 0;
      if (!TakeVarint(packed, kDifferenceBits, difference)) return false;
      const int dc = marks[row].dc[c] + ToDifference(difference);
      if (dc != static_cast<int16_t>(dc)) return false;
      marks[row].dc[c] = static_cast<int16_t>(dc);
    }
  }
  return packed.empty();
}

}  // namespace

void JpegMarks::Clear() noexcept {
  packed_.clear();
  marks_.clear();
  grew_ = false;
}

void JpegMarks::Assign(std::span<const uint8_t> packed) noexcept {
  Clear();
  try {
    packed_.assign(packed.begin(), packed.begin() + static_cast<ptrdiff_t>(std::min(packed.size(), kMaxBytes)));
  } catch (const std::bad_alloc&) {
    Clear();
  }
}

std::span<const RowMark> JpegMarks::Unpack(std::span<const uint8_t> file, const JpegFrame& frame) {
  marks_.clear();
  const size_t rows = RowsIn(packed_);
  if (rows == 0 || rows > static_cast<size_t>(frame.mcus_down)) return {};
  marks_.resize(rows);
  marks_.front() = FirstMark(frame);
  const std::span<const uint8_t> packed = packed_;
  if (!UnpackRows(packed.subspan(kHeaderBytes), frame.components, marks_) || BytesBefore(marks_.back(), file).empty() ||
      Checksum(packed, BytesBefore(marks_.back(), file)) != LoadNumber<uint64_t>(packed.data())) {
    marks_.clear();
  }
  return marks_;
}

void JpegMarks::Pack(std::span<const uint8_t> file, const JpegFrame& frame, std::span<const RowMark> marks) {
  if (marks.size() <= marks_.size()) return;
  assert(marks.size() <= kMaxRows && marks.front() == FirstMark(frame) && marks.back().bit <= 8 * file.size());
  packed_.resize(kHeaderBytes);
  StoreNumber(static_cast<uint16_t>(marks.size()), packed_.data() + kChecksumBytes);
  for (size_t row = 1; row < marks.size(); ++row) {
    AppendVarint(marks[row].bit - marks[row - 1].bit, packed_);
    for (size_t c = 0; c < static_cast<size_t>(frame.components); ++c) {
      AppendVarint(FromDifference(marks[row].dc[c] - marks[row - 1].dc[c]), packed_);
    }
  }
  StoreNumber(Checksum(packed_, BytesBefore(marks.back(), file)), packed_.data());
  marks_.assign(marks.begin(), marks.end());
  grew_ = true;
}

uint32_t JpegMarks::RowsIn(std::span<const uint8_t> packed) noexcept {
  if (packed.size() < kHeaderBytes || packed.size() > kMaxBytes) return 0;
  const uint32_t rows = LoadNumber<uint16_t>(packed.data() + kChecksumBytes);
  return rows <= kMaxRows ? rows : 0;
}

}  // namespace stoker

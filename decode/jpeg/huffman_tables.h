// Huffman codes as the entropy decoder looks them up: one table entry for all that the next 11 bits tell.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "decode/jpeg/frame.h"

namespace stoker {

// An entry says what a step does, without a branch for what it is. From the lowest bit:
// -  6 bits, length: how many bits it takes, of one or two codes and of their values.
// -  2, count: how many coefficients it gives.
// -  7, advance: how many zigzag places it passes.
// -  1, end: the block (or its DC coefficient) ends here.
// - 32, values: of one or two coefficients, 16 bits each, once the taken bits are added as a number. So the bits of a
//   first value may lie outside of the looked-up ones; the second is then of no account.
// - 16, mask: at which of the passed places the coefficients are.
// An escape has an advance that leaves the block: the symbol is then decoded by the book.
inline constexpr int kEntryCount = 6;
inline constexpr int kEntryAdvance = 8;
inline constexpr int kEntryValues = 16;
inline constexpr int kEntryMask = 48;
inline constexpr uint64_t kEntryEnd = uint64_t{1} << 15;
inline constexpr uint64_t kEntryEscape = uint64_t{kBlockCoefficients} << kEntryAdvance;

inline constexpr int kAcIndexBits = 11;  // with 12, the tables fall out of the first cache
inline constexpr int kDcIndexBits = 9;
inline constexpr int kStopIndexBits = 1;

// A table in one word: where its entries are and, in the lowest 6 bits, by how much 64 bits are shifted to give an
// index. Entry i lies 8 * i - kTableShift bytes behind it.
using TableWord = uintptr_t;
inline constexpr int kTableShift = 64 - kAcIndexBits;
inline constexpr size_t kTableAlignment = 64;
constexpr int IndexBits(TableWord word) { return 64 - static_cast<int>(word % kTableAlignment); }

// A code by the book: canonical codes, shortest first.
struct CodeBook {
  // How many codes of 16 bits begin with those of up to i + 1 bits: where the next 16 bits are less, the code ends
  // there.
  std::array<uint16_t, 16> limits{};
  // By length: what is added to a code to give its symbol's place.
  std::array<int16_t, 17> offsets{};
  std::array<uint8_t, 256> symbols{};
};

template <int kIndexBits>
struct alignas(kTableAlignment) HuffmanTable {
  static constexpr size_t kEntries = size_t{1} << kIndexBits;
  // The entries do not begin at the front, but where that makes the table's word say its shift.
  static constexpr size_t kFront = kAcIndexBits - kIndexBits;

  std::array<uint8_t, kFront + kEntries * sizeof(uint64_t)> bytes;
  CodeBook book;
  HuffmanSpec spec;

  TableWord word() const { return reinterpret_cast<TableWord>(bytes.data()) + kFront + kTableShift; }
  static const HuffmanTable& Of(TableWord word) {
    return *reinterpret_cast<const HuffmanTable*>(word / kTableAlignment * kTableAlignment);
  }
};
using AcTable = HuffmanTable<kAcIndexBits>;
using DcTable = HuffmanTable<kDcIndexBits>;

// The table of what follows a lane's last block: nothing but escapes.
TableWord StopTable() noexcept;

// The tables of the last few specs: nearly all encoders write the same ones, and making one takes microseconds.
// Threads: one thread at a time. Its memory is fixed, about 130 KB.
class HuffmanTables {
 public:
  HuffmanTables();
  ~HuffmanTables();

  // Null where the library would refuse the spec. Valid until five others were asked for.
  const AcTable* Ac(const HuffmanSpec& spec) noexcept;
  const DcTable* Dc(const HuffmanSpec& spec) noexcept;

  static size_t scratch_bytes() noexcept;

 private:
  struct Storage;
  std::unique_ptr<Storage> storage_;
};

}  // namespace stoker

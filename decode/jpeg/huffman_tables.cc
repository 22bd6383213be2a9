#include "decode/jpeg/huffman_tables.h"

#include <algorithm>
#include <cstring>

namespace stoker {
namespace {

constexpr int kMaxCodeLength = 16;
constexpr int kMaxMaskBits = 16;
constexpr int kMaxDcSize = 15;  // as in the library

// What a symbol's code, and as many of its value's bits as are looked up with it, tell.
struct Symbol {
  enum Kind : uint8_t { kUnknown, kValue, kLongValue, kEndOfBlock, kZeros };
  Kind kind = kUnknown;
  uint8_t length = 0;  // of code and value
  uint8_t run = 0;     // of zeros before the value
  uint16_t value = 0;  // of a long value: as if the bits that are not seen were 0
};

// Fills the book; `codes` and `lengths` are those of the symbols in their order. False where the library refuses it:
// too many codes of a length, where one of nothing but ones counts as too many.
bool MakeBook(const HuffmanSpec& spec, CodeBook& book, std::array<uint16_t, 256>& codes,
              std::array<uint8_t, 256>& lengths, size_t& count) {
  count = 0;
  uint32_t code = 0;
  for (int length = 1; length <= kMaxCodeLength; ++length, code <<= 1) {
    const size_t codes_here = spec.counts[static_cast<size_t>(length)];
    if (count + codes_here > codes.size()) return false;
    book.offsets[static_cast<size_t>(length)] = static_cast<int16_t>(static_cast<int>(count) - static_cast<int>(code));
    for (size_t i = 0; i < codes_here; ++i, ++count) {
      lengths[count] = static_cast<uint8_t>(length);
      codes[count] = static_cast<uint16_t>(code++);
    }
    if (code >= 1u << length && codes_here > 0) return false;
    book.limits[static_cast<size_t>(length) - 1] = static_cast<uint16_t>(code << (kMaxCodeLength - length));
  }
  book.symbols = spec.symbols;
  return true;
}

// The number that is added to a value's `size` bits, by the first of them.
int Extension(int size, bool first_bit) { return first_bit ? 0 : 1 - (1 << size); }

uint64_t MakeEntry(int length, int count, int advance, bool end, uint32_t values, uint32_t mask) {
  return static_cast<uint64_t>(length) | static_cast<uint64_t>(count) << kEntryCount |
         static_cast<uint64_t>(advance) << kEntryAdvance | (end ? kEntryEnd : 0) | uint64_t{values} << kEntryValues |
         uint64_t{mask} << kEntryMask;
}

// What the symbol of `code` is where the bits after the code are the lowest of `index`.
Symbol AcSymbol(int run_and_size, int length, uint32_t index) {
  const int run = run_and_size >> 4;
  const int size = run_and_size & 15;
  Symbol symbol;
  symbol.length = static_cast<uint8_t>(length + size);
  symbol.run = static_cast<uint8_t>(run);
  const int rest = kAcIndexBits - length;
  if (size == 0) {
    symbol.kind = run == 15 ? Symbol::kZeros : Symbol::kEndOfBlock;
  } else if (size <= rest) {
    symbol.kind = Symbol::kValue;
    const int bits = static_cast<int>(index >> (rest - size)) & ((1 << size) - 1);
    symbol.value = static_cast<uint16_t>(bits + Extension(size, bits >> (size - 1) != 0));
  } else if (rest > 0) {
    symbol.kind = Symbol::kLongValue;
    const int bits = static_cast<int>(index & ((1u << rest) - 1));
    symbol.value = static_cast<uint16_t>((bits << (size - rest)) + Extension(size, bits >> (rest - 1) != 0));
  }
  return symbol;
}

// The entry of a first symbol and of what the bits behind it say, if they say all of it. A step adds the bits that it
// takes to the entry's values; those that are seen here are taken off beforehand.
uint64_t AcEntry(uint32_t index, const std::array<Symbol, AcTable::kEntries>& symbols) {
  const Symbol& first = symbols[index];
  const uint32_t place = 1u << first.run;
  if (first.kind == Symbol::kUnknown) return kEntryEscape;
  if (first.kind == Symbol::kEndOfBlock) return MakeEntry(first.length, 0, 0, true, 0, 0);
  if (first.kind == Symbol::kZeros) return MakeEntry(first.length, 0, 16, false, 0, 0);
  if (first.kind == Symbol::kLongValue) {
    const int unseen = first.length - kAcIndexBits;
    return MakeEntry(first.length, 1, first.run + 1, false, first.value - (index << unseen), place);
  }
  const int rest = kAcIndexBits - first.length;
  const Symbol& second = symbols[index << first.length & (AcTable::kEntries - 1)];
  const bool known = second.kind != Symbol::kUnknown && second.length <= rest;
  if (known && second.kind == Symbol::kValue && first.run + second.run + 2 <= kMaxMaskBits) {
    const uint32_t taken = index >> (rest - second.length);
    return MakeEntry(first.length + second.length, 2, first.run + second.run + 2, false,
                     (first.value | uint32_t{second.value} << 16) - taken, place | place << (second.run + 1));
  }
  if (known && second.kind == Symbol::kEndOfBlock) {
    const uint32_t taken = index >> (rest - second.length);
    return MakeEntry(first.length + second.length, 1, first.run + 1, true, first.value - taken, place);
  }
  return MakeEntry(first.length, 1, first.run + 1, false, first.value - (index >> rest), place);
}

template <int kIndexBits>
void SetEntry(HuffmanTable<kIndexBits>& table, uint32_t index, uint64_t entry) {
  std::memcpy(table.bytes.data() + table.kFront + index * sizeof(entry), &entry, sizeof(entry));
}

bool Make(const HuffmanSpec& spec, AcTable& table) {
  std::array<uint16_t, 256> codes;
  std::array<uint8_t, 256> lengths;
  size_t count = 0;
  if (!MakeBook(spec, table.book, codes, lengths, count)) return false;
  std::array<Symbol, AcTable::kEntries> symbols{};
  for (size_t i = 0; i < count && lengths[i] <= kAcIndexBits; ++i) {
    const int rest = kAcIndexBits - lengths[i];
    const uint32_t first = static_cast<uint32_t>(codes[i]) << rest;
    for (uint32_t index = first; index < first + (1u << rest); ++index) {
      symbols[index] = AcSymbol(spec.symbols[i], lengths[i], index);
    }
  }
  for (uint32_t index = 0; index < AcTable::kEntries; ++index) SetEntry(table, index, AcEntry(index, symbols));
  return true;
}

bool Make(const HuffmanSpec& spec, DcTable& table) {
  std::array<uint16_t, 256> codes;
  std::array<uint8_t, 256> lengths;
  size_t count = 0;
  if (!MakeBook(spec, table.book, codes, lengths, count)) return false;
  for (uint32_t index = 0; index < DcTable::kEntries; ++index) SetEntry(table, index, kEntryEscape);
  for (size_t i = 0; i < count; ++i) {
    const int size = spec.symbols[i];
    if (size > kMaxDcSize) return false;
    const int rest = kDcIndexBits - lengths[i];
    if (rest < (size > 0 ? 1 : 0)) continue;  // the first of the value's bits must be seen
    const uint32_t first = static_cast<uint32_t>(codes[i]) << rest;
    for (uint32_t index = first; index < first + (1u << rest); ++index) {
      const int extension = size == 0 ? 0 : Extension(size, (index >> (rest - 1) & 1) != 0);
      SetEntry(
          table, index,
          MakeEntry(lengths[i] + size, 1, 1, true, static_cast<uint32_t>(extension) - (uint32_t{codes[i]} << size), 1));
    }
  }
  return true;
}

constexpr size_t kKept = 6;  // a picture has three of a kind at most

// Least recently used last.
template <typename Table>
class Recent {
 public:
  const Table* Get(const HuffmanSpec& spec) noexcept {
    const auto used = order_.begin() + static_cast<ptrdiff_t>(used_);
    auto found = std::find_if(order_.begin(), used, [&](uint8_t i) { return valid_[i] && tables_[i].spec == spec; });
    if (found == used) {
      if (used_ < kKept) {
        order_[used_] = static_cast<uint8_t>(used_);
        ++used_;
      } else {
        --found;
      }
      valid_[*found] = Make(spec, tables_[*found]);
      if (!valid_[*found]) return nullptr;
      tables_[*found].spec = spec;
    }
    std::rotate(order_.begin(), found, found + 1);
    return &tables_[order_.front()];
  }

 private:
  std::array<Table, kKept> tables_;
  std::array<bool, kKept> valid_{};
  std::array<uint8_t, kKept> order_{};
  size_t used_ = 0;
};

struct alignas(kTableAlignment) StopEntries {
  std::array<uint8_t, kTableAlignment> bytes{};
};

constexpr size_t kStopFront = kAcIndexBits - kStopIndexBits;

StopEntries MakeStop() {
  StopEntries stop;
  for (const size_t index : {0, 1}) {
    std::memcpy(&stop.bytes[kStopFront + index * sizeof(kEntryEscape)], &kEntryEscape, sizeof(kEntryEscape));
  }
  return stop;
}

const StopEntries kStop = MakeStop();

}  // namespace

TableWord StopTable() noexcept { return reinterpret_cast<TableWord>(kStop.bytes.data()) + kStopFront + kTableShift; }

struct HuffmanTables::Storage {
  Recent<AcTable> ac;
  Recent<DcTable> dc;
};

HuffmanTables::HuffmanTables() : storage_(new Storage) {}
HuffmanTables::~HuffmanTables() = default;

const AcTable* HuffmanTables::Ac(const HuffmanSpec& spec) noexcept { return storage_->ac.Get(spec); }
const DcTable* HuffmanTables::Dc(const HuffmanSpec& spec) noexcept { return storage_->dc.Get(spec); }
size_t HuffmanTables::scratch_bytes() noexcept { return sizeof(Storage); }

}  // namespace stoker

// The loop that decodes Huffman codes: one stretch of blocks, or two side by side, since one alone waits for its own
// results most of the time. Knows no picture: tables in, coefficients out.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "decode/jpeg/huffman_tables.h"

namespace stoker {

// Half a block: its DC coefficient, or its AC coefficients.
struct HalfBlock {
  // In a lane with a trail, what was the table becomes the place behind the half block, as in TrailPosition.
  TableWord table = 0;
  // Gains the places (bit k: zigzag place k) of the coefficients; that of a DC means nothing.
  uint64_t mask = 0;
};

// Where decoding stands in a stretch of blocks: two halves a block, and behind the last a HalfBlock with the StopTable.
// Values come one after the other, a DC value (a difference) followed by those of its block's AC coefficients.
struct Lane {
  uint64_t window = 0;            // the next bits, highest first
  const uint8_t* next = nullptr;  // the first byte that is not in the window as a whole
  uint64_t bits = 0;              // how many are in the window; modulo 64, higher bits are of no account
  uint64_t place = 0;             // zigzag place of the next AC coefficient; 1 at a DC
  int16_t* values = nullptr;
  TableWord table = 0;  // that of *half
  HalfBlock* half = nullptr;

  // Begins at `bit` of `bytes`, with the block of `first`.
  void Begin(const uint8_t* bytes, uint64_t bit, HalfBlock* first, int16_t* to) noexcept;
  // How many bits of `bytes` are used.
  uint64_t Position(const uint8_t* bytes) const noexcept { return 8 * static_cast<uint64_t>(next - bytes) - bits % 64; }
};

// What a lane may read behind its first byte, and write at its values, whatever the data are: a block has no more than
// 64 symbols of 31 bits, and the window reads ahead. Of a block's values, 64 may be read.
inline constexpr size_t kMaxLaneBytesOfBlock = 248;
constexpr size_t MaxLaneBytes(size_t blocks) { return blocks * kMaxLaneBytesOfBlock + 32; }
constexpr size_t MaxLaneValues(size_t blocks) { return (blocks + 1) * kBlockCoefficients; }

enum class LaneEnd : uint8_t {
  kDone,  // it has reached its stop
  kOdd,   // an invalid code, or a coefficient behind the last place
};

struct LaneOfTwo {
  LaneEnd end;
  uint8_t lane;
};

// What a lane with a trail leaves in place of a half block's table, and the position that it means.
inline constexpr int kTrailShift = 56;
inline uint64_t TrailPosition(TableWord trail, const uint8_t* bytes) {
  const auto begin = reinterpret_cast<uintptr_t>(bytes);
  return 8 * ((trail & ((uint64_t{1} << kTrailShift) - 1)) - begin) - (trail >> kTrailShift) % 64;
}

// The blocks of an MCU, in their order.
struct McuPattern {
  static constexpr size_t kMaxBlocks = 6;
  struct Block {
    uint8_t component = 0;
    uint8_t row = 0;  // of the component's rows of blocks in an MCU
  };
  std::array<Block, kMaxBlocks> blocks{};
  std::array<HalfBlock, 2 * kMaxBlocks> halves{};  // as they are before they are decoded
  size_t count = 0;
};

using DcValues = std::array<int16_t, kMaxComponents>;
using BlockRows = std::array<std::array<CoefficientBlock*, kMaxSampling>, kMaxComponents>;

// One set for each way that CPUs have; all give the same.
struct LaneKernels {
  // Decodes until the lane ends.
  LaneEnd (*one)(Lane& lane) noexcept;
  // Decodes until one of the two ends; the other stands wherever it does.
  LaneOfTwo (*two)(Lane& first, Lane& second) noexcept;
  // The same, leaving a trail.
  LaneEnd (*one_with_trail)(Lane& lane) noexcept;
  LaneOfTwo (*two_with_trail)(Lane& first, Lane& second) noexcept;
  // Writes MCUs that are ready to be decoded, and the stop behind them.
  void (*prepare)(const McuPattern& pattern, size_t mcus, HalfBlock* half) noexcept;
  // How many values so many blocks have.
  size_t (*count)(const HalfBlock* half, size_t blocks) noexcept;
  // Passes the blocks of MCUs, adding up their DC differences.
  void (*skip)(const McuPattern& pattern, size_t mcus, const HalfBlock*& half, const int16_t*& values,
               DcValues& dc) noexcept;
  // The same, and writes them to to[component][row], which it advances.
  void (*collect)(const McuPattern& pattern, size_t mcus, const HalfBlock*& half, const int16_t*& values, DcValues& dc,
                  BlockRows& to) noexcept;
};
const LaneKernels& ChosenLaneKernels() noexcept;

}  // namespace stoker

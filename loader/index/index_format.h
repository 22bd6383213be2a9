// The bytes of an index file: what its reader, its writer and the fuzzer agree on. Numbers are little-endian.
//
//   header                            its numbers as below
//   directory                         an IndexRun for each run of kSamplesARun samples, the last one may be shorter
//   runs, anywhere behind these       uint32_t offsets[samples + 1] from the run's beginning, then the packed marks of
//                                     each sample: those of the i-th lie from offsets[i] to offsets[i + 1]
//
// The header's checksum covers the header before it and the directory, each run's checksum that run. Where marks are
// used a decoder checks them too: they carry a checksum of themselves and of the file that they are of.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

#include "loader/index/fingerprint.h"

namespace stoker {

// Another number where the layout changes, or what JpegMarks packs.
inline constexpr uint32_t kIndexVersion = 1;
inline constexpr std::array<char, 8> kIndexMagic = {'S', 'T', 'O', 'K', 'E', 'R', 'I', 'X'};
inline constexpr uint64_t kSamplesARun = 1024;

struct IndexHeader {
  std::array<char, 8> magic = kIndexMagic;
  uint32_t version = kIndexVersion;
  uint32_t reserved = 0;
  uint64_t samples = 0;
  Fingerprint fingerprint;
  uint64_t entries = 0;  // samples of which something is known
  uint64_t file_bytes = 0;
  uint64_t checksum = 0;
};
static_assert(sizeof(IndexHeader) == 64 && std::endian::native == std::endian::little);

struct IndexRun {
  uint64_t offset = 0;  // in the file; a run without entries has neither offset nor bytes
  uint64_t bytes = 0;
  uint64_t checksum = 0;
};

inline constexpr uint64_t RunsOf(uint64_t samples) { return (samples + kSamplesARun - 1) / kSamplesARun; }
inline constexpr uint64_t SamplesInRun(uint64_t samples, uint64_t run) {
  return samples - run * kSamplesARun < kSamplesARun ? samples - run * kSamplesARun : kSamplesARun;
}

uint64_t ChecksumOf(std::span<const uint8_t> bytes) noexcept;
// Of a header and its directory, whatever `header.checksum` is.
uint64_t ChecksumOf(const IndexHeader& header, std::span<const IndexRun> directory) noexcept;

}  // namespace stoker

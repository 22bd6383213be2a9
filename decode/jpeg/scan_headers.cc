#include "decode/jpeg/scan_headers.h"

#include <algorithm>
#include <numeric>

namespace stoker {
namespace {

constexpr uint8_t kBaseline = 0xC0;
constexpr uint8_t kExtended = 0xC1;
constexpr uint8_t kHuffmanTables = 0xC4;
constexpr uint8_t kEndOfImage = 0xD9;
constexpr uint8_t kStartOfScan = 0xDA;
constexpr uint8_t kQuantization = 0xDB;
constexpr uint8_t kRestartInterval = 0xDD;
constexpr uint8_t kFirstApplication = 0xE0;
constexpr uint8_t kLastApplication = 0xEF;
constexpr uint8_t kComment = 0xFE;

constexpr size_t kMarkerBytes = 2;
constexpr size_t kLengthBytes = 2;

size_t LoadLength(std::span<const uint8_t> bytes) { return size_t{bytes[0]} << 8 | bytes[1]; }

}  // namespace

void ScanHeaders::Open(std::span<const uint8_t> file, const JpegFrame& frame) noexcept {
  file_ = file;
  frame_ = &frame;
  before_scans_ = true;
  restart_interval_ = 0;
  tables_ = {};
}

ScanHeaders::Found ScanHeaders::Next(size_t at, ScanHeader& header) noexcept {
  if (before_scans_) at = kMarkerBytes;  // SOI
  for (;;) {
    if (at + kMarkerBytes > file_.size() || file_[at] != 0xFF) return Found::kOdd;
    const uint8_t marker = file_[at + 1];
    if (marker == kEndOfImage) return Found::kEnd;
    const std::span<const uint8_t> behind = file_.subspan(at + kMarkerBytes);
    if (behind.size() < kLengthBytes) return Found::kOdd;
    const size_t length = LoadLength(behind);
    if (length < kLengthBytes || length > behind.size()) return Found::kOdd;
    const std::span<const uint8_t> content = behind.first(length).subspan(kLengthBytes);
    at += kMarkerBytes + length;
    if (marker == kStartOfScan) {
      header.begin = at;
      return ReadScan(content, header) ? Found::kScan : Found::kOdd;
    }
    if (!ReadSegment(marker, content)) return Found::kOdd;
  }
}

bool ScanHeaders::ReadSegment(uint8_t marker, std::span<const uint8_t> content) noexcept {
  switch (marker) {
    case kHuffmanTables:
      return ReadTables(content);
    case kRestartInterval:
      if (content.size() != kLengthBytes) return false;
      restart_interval_ = static_cast<int32_t>(LoadLength(content));
      return true;
    case kBaseline:
    case kExtended:
    case kQuantization:      // each component keeps the table that is there at its first scan
    case kFirstApplication:  // JFIF, which libjpeg looks at
      return before_scans_;
    default:
      return (marker > kFirstApplication && marker <= kLastApplication) || marker == kComment;
  }
}

bool ScanHeaders::ReadTables(std::span<const uint8_t> content) noexcept {
  constexpr size_t kCounts = 16;
  while (!content.empty()) {
    const size_t kind = content[0] >> 4;
    const size_t number = content[0] & 15;
    if (kind >= tables_.size() || number >= tables_[kind].size() || content.size() <= kCounts) return false;
    HuffmanSpec& spec = tables_[kind][number];
    spec = {};
    std::copy_n(content.begin() + 1, kCounts, spec.counts.begin() + 1);
    const size_t symbols = std::accumulate(spec.counts.begin(), spec.counts.end(), size_t{0});
    content = content.subspan(1 + kCounts);
    if (symbols > spec.symbols.size() || symbols > content.size()) return false;
    std::copy_n(content.begin(), symbols, spec.symbols.begin());
    content = content.subspan(symbols);
  }
  return true;
}

bool ScanHeaders::ReadScan(std::span<const uint8_t> content, ScanHeader& header) noexcept {
  if (before_scans_ && header.begin != frame_->scan_offset) return false;
  before_scans_ = false;
  header.components = content.empty() ? 0 : content[0];
  if (header.components == 0 || header.components > header.component.size()) return false;
  if (content.size() != 4 + 2 * header.components) return false;
  // All coefficients, in all their bits.
  const std::span<const uint8_t> range = content.last(3);
  if (range[0] != 0 || range[1] != kBlockCoefficients - 1 || range[2] != 0) return false;
  const std::span components = std::span(frame_->component).first(static_cast<size_t>(frame_->components));
  for (size_t i = 0; i < header.components; ++i) {
    const uint8_t id = content[1 + 2 * i];
    const uint8_t tables = content[2 + 2 * i];
    // The first by this name: a second one is never found, and so missed in the end.
    const auto found = std::find_if(components.begin(), components.end(), [id](const auto& c) { return c.id == id; });
    const auto index = static_cast<size_t>(found - components.begin());
    if (index == components.size() || (i > 0 && index <= header.component[i - 1].index)) return false;
    const size_t dc = tables >> 4;
    const size_t ac = tables & 15;
    if (dc >= tables_[0].size() || ac >= tables_[1].size()) return false;
    header.component[i] = {index, &tables_[0][dc], &tables_[1][ac]};
  }
  header.restart_interval = restart_interval_;
  return true;
}

}  // namespace stoker

#include "loader/reader.h"

#include <fmt/format.h>

#include <stdexcept>
#include <utility>

#include "loader/error.h"

namespace stoker {

SampleJob TakeLate(SampleJob& job) noexcept {
  SampleJob late = std::move(job);
  job = SampleJob();
  job.encoded = std::move(late.encoded);
  late.error = LoadError::kReadTimedOut;
  return late;
}

std::error_code CheckLength(const Extent& extent, uint64_t got, Diagnosis& diagnosis) noexcept {
  if (got == extent.bytes) return {};
  char words[sizeof diagnosis.detail] = {};
  const auto end =
      got < extent.bytes
          ? fmt::format_to_n(words, sizeof words - 1, "{} bytes expected, the file ends after {}",
                             extent.offset_bytes + extent.bytes, extent.offset_bytes + got)
          : fmt::format_to_n(words, sizeof words - 1, "{} bytes expected, the file is longer", extent.bytes);
  diagnosis.Say({words, end.size});
  diagnosis.offset_bytes = static_cast<int64_t>(extent.offset_bytes + got);
  return LoadError::kChangedSize;
}

std::unique_ptr<Reader> MakeReader(ReaderKind kind, const Source& source, const Reader::Options& options,
                                   std::string& choice) {
  if (kind == ReaderKind::kPread) {
    choice = "pread (asked for)";
    return MakePreadReader(source, options);
  }
  std::string reason;
  if (std::unique_ptr<Reader> uring = MakeUringReader(source, options, reason)) {
    choice = kind == ReaderKind::kUring ? "io_uring (asked for)" : "page cache first, then io_uring (self-test passed)";
    if (!uring->about_fixed().empty()) choice += fmt::format(", {}", uring->about_fixed());
    return uring;
  }
  if (kind == ReaderKind::kUring) throw std::runtime_error("reader io_uring cannot be used: " + reason);
  choice = "page cache first, then pread (no io_uring: " + reason + ")";
  return MakePreadReader(source, options);
}

}  // namespace stoker

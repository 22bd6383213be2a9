#include "loader/bad_samples.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <tuple>

namespace stoker {
namespace {

// The words for what the system says about a file.
std::string Cause(const std::error_code& error) {
  if (error == std::errc::no_such_file_or_directory) return "vanished: no such file any more";
  if (error == std::errc::permission_denied) return "permission denied";
  if (error == std::errc::too_many_files_open) return "too many open files: raise ulimit -n";
  if (error == std::errc::io_error) return "input/output error: the storage failed to deliver";
  return error.message();
}

}  // namespace

std::string ReasonOf(const std::error_code& error, const Diagnosis& diagnosis) {
  std::string reason;
  if (diagnosis.format != Format::kUnknown) reason += std::string(FormatName(diagnosis.format)) + ": ";
  reason += Cause(error);
  if (diagnosis.detail[0] != '\0') reason += fmt::format(" ({})", diagnosis.detail);
  if (diagnosis.offset_bytes >= 0) reason += fmt::format(" at byte {}", diagnosis.offset_bytes);
  return reason;
}

void BadSamples::Add(const BadSample& sample) {
  MutexLock lock(mutex_);
  samples_.push_back(sample);
}

std::vector<BadSample> BadSamples::Take(int64_t batch) {
  std::vector<BadSample> taken;
  {
    MutexLock lock(mutex_);
    if (samples_.empty()) return taken;
    const auto rest = std::stable_partition(samples_.begin(), samples_.end(),
                                            [batch](const BadSample& sample) { return sample.batch != batch; });
    taken.assign(rest, samples_.end());
    samples_.erase(rest, samples_.end());
  }
  std::sort(taken.begin(), taken.end(), [](const BadSample& a, const BadSample& b) {
    return std::tie(a.position, a.attempt) < std::tie(b.position, b.attempt);
  });
  return taken;
}

void BadSamples::Clear() {
  MutexLock lock(mutex_);
  samples_.clear();
}

}  // namespace stoker

// Reads out of the page cache, and past it: a real reader on real files.
#pragma once

#include <filesystem>
#include <optional>

#include "bench/validate/experiments.h"

namespace stoker {

// Large files that are quickly decoded, so that reading is what takes the time.
class CacheTrial {
 public:
  // Writes them to `folder`/stoker-validate-PID (some 130 MB), which the destructor removes. Throws
  // std::system_error.
  explicit CacheTrial(const std::filesystem::path& folder);
  ~CacheTrial();
  CacheTrial(const CacheTrial&) = delete;
  CacheTrial& operator=(const CacheTrial&) = delete;

  static Experiment WarmExperiment();
  static Experiment ColdExperiment();

  // Some epochs of files that were all read before; one of files that were thrown out of the cache. Nothing where the
  // file system keeps them all the same (tmpfs).
  StallReport Warm() const;
  std::optional<StallReport> Cold() const;

 private:
  StallReport Run(bool cold) const;

  const std::filesystem::path folder_;
};

}  // namespace stoker

// What becomes of bad samples: LoaderOptions::on_error and max_errors, applied on the caller's thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_set>
#include <vector>

#include "loader/bad_samples.h"
#include "loader/options.h"
#include "loader/source.h"
#include "loader/stall_report.h"

namespace stoker {

// Threads: the caller's, but for `samples()`, which workers add to.
class ErrorPolicy {
 public:
  // `options` outlives it.
  ErrorPolicy(const LoaderOptions& options, std::shared_ptr<const Source> source)
      : options_(options), source_(std::move(source)) {}

  BadSamples& samples() noexcept { return samples_; }

  // Notes what went wrong with a batch's samples; throws Error where the policy says so.
  void Judge(int64_t batch);
  // Fills in what the report says of bad samples.
  void Report(StallReport& report) const;

 private:
  [[noreturn]] void Throw(const BadSample& bad, const std::string& remedy) const;

  const LoaderOptions& options_;
  const std::shared_ptr<const Source> source_;
  BadSamples samples_;
  std::unordered_set<uint64_t> ids_;
  std::vector<SkippedSample> skipped_;
};

}  // namespace stoker

#include "loader/error_policy.h"

#include <fmt/format.h>

#include "loader/error.h"

namespace stoker {

void ErrorPolicy::Throw(const BadSample& bad, const std::string& remedy) const {
  const bool read = bad.error.category() != decode_category();
  Error::Blame blame = {source_->Name(bad.id), static_cast<int64_t>(bad.id), bad.diagnosis.offset_bytes,
                        ReasonOf(bad.error, bad.diagnosis)};
  const std::string message = fmt::format("{}: {}{}", blame.sample, blame.reason, remedy);
  throw Error(bad.error, read ? "read" : "decode", std::move(blame), message);
}

void ErrorPolicy::Judge(int64_t batch) {
  for (const BadSample& bad : samples_.Take(batch)) {
    if (bad.error == LoadError::kNoGoodSample) Throw(bad, "; the error of each is in the report");
    if (ids_.insert(bad.id).second && skipped_.size() < StallReport::kMaxSkippedNames) {
      skipped_.push_back({bad.id, source_->Name(bad.id), ReasonOf(bad.error, bad.diagnosis)});
    }
    if (options_.on_error == OnError::kRaise) Throw(bad, "; on_error=skip or mask goes on without it");
    if (options_.max_errors >= 0 && ids_.size() > static_cast<size_t>(options_.max_errors)) {
      throw Error(LoadError::kTooManyErrors, "decode", skipped_.back().name, -1,
                  fmt::format("{} bad samples are more than max_errors = {}; the last one: {}: {}", ids_.size(),
                              options_.max_errors, skipped_.back().name, skipped_.back().reason));
    }
  }
}

void ErrorPolicy::Report(StallReport& report) const {
  report.decoder_warnings = samples_.warnings();
  report.skipped_count = static_cast<int64_t>(ids_.size());
  report.skipped = skipped_;
}

}  // namespace stoker

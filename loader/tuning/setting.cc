#include "loader/tuning/setting.h"

#include <fmt/format.h>

#include <tuple>

namespace stoker {

std::strong_ordering CompareCost(const Setting& a, const Setting& b) noexcept {
  const auto cost = [](const Setting& setting) {
    return std::tuple(setting.num_workers, setting.prefetch_factor, setting.queue_depth, setting.reader);
  };
  return cost(a) <=> cost(b);
}

std::string SettingWords(const Setting& setting) {
  return fmt::format("{} worker{}, prefetch {}, depth {}, {}", setting.num_workers, setting.num_workers == 1 ? "" : "s",
                     setting.prefetch_factor, setting.queue_depth, ReaderName(setting.reader));
}

LoaderOptions WithSetting(LoaderOptions options, const Setting& setting) {
  options.num_workers = setting.num_workers;
  options.prefetch_factor = setting.prefetch_factor;
  options.queue_depth = setting.queue_depth;
  options.reader = setting.reader;
  return options;
}

void TakeReport(const StallReport& report, Measurement& measurement) {
  measurement.images_per_second = report.images_per_second;
  measurement.seconds = report.seconds;
  measurement.planned_bytes = static_cast<int64_t>(report.budget_bytes);
  measurement.stall_share = report.stall_share;
  measurement.shares = report.shares;
  measurement.ceilings = report.ceilings;
  measurement.busy = report.busy;
  measurement.cached_share = report.cached_share;
  measurement.read_ms = report.read_ms;
  measurement.leader = report.leader;
  measurement.bound = report.bound;
  measurement.verdict = report.verdict;
  measurement.advice = report.advice;
}

}  // namespace stoker

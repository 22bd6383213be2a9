#include <fmt/format.h>

#include "loader/machine/words.h"
#include "loader/step_report.h"

namespace stoker {
namespace {

constexpr double kGiga = 1e9;

std::string Path(const StallReport& stalls) {
  std::string text = " | path:";
  for (size_t i = 0; i < kStages; ++i) {
    text += fmt::format(" {} {:.0f}", kStageNames[i], 100 * stalls.shares[i]);
    if (i == static_cast<size_t>(stalls.leader) && stalls.margins[i] > 0) {
      text += fmt::format("+/-{:.0f}", 100 * stalls.margins[i]);
    }
  }
  return text + " %";
}

std::string Ceilings(const StallReport& stalls) {
  std::string text = " | ceilings img/s:";
  for (size_t i = 0; i < kServedStages; ++i) {
    if (stalls.ceilings[i] > 0) text += fmt::format(" {} {}", kStageNames[i], RateWords(stalls.ceilings[i]));
  }
  return text;
}

std::string Prediction(const StallReport& stalls) {
  const auto leader = static_cast<size_t>(stalls.leader);
  if (leader >= kServedStages) return "";
  return fmt::format(" | if {} +10 %: {:+.1f} %", kStageNames[leader], 100 * stalls.gains[leader]);
}

std::string Machine(const StepReport& report) {
  std::string text = " |";
  if (report.rss_bytes) text += fmt::format(" rss {:.2f} GB", static_cast<double>(*report.rss_bytes) / kGiga);
  if (report.growth_bytes_per_epoch) text += fmt::format(" ({:+.2f}/epoch)", *report.growth_bytes_per_epoch / kGiga);
  if (report.vram_used_bytes && report.vram_total_bytes) {
    text += fmt::format(" vram {:.1f}/{:.0f} GB", static_cast<double>(*report.vram_used_bytes) / kGiga,
                        static_cast<double>(*report.vram_total_bytes) / kGiga);
  }
  if (report.gpu_busy_percent) text += fmt::format(" gpu-busy {} %", *report.gpu_busy_percent);
  if (report.cpu_share) text += fmt::format(" cpu {:.0f} %", 100 * *report.cpu_share);
  if (report.run_queue_share) text += fmt::format(" runq {:.0f} %", 100 * *report.run_queue_share);
  if (report.cache_hit_share) text += fmt::format(" cache-hit {:.0f} %", 100 * *report.cache_hit_share);
  return text.size() > 2 ? text : "";
}

}  // namespace

std::string FormatStep(const StepReport& report) {
  const StallReport& stalls = report.stalls;
  std::string text = report.kind == StepReport::Kind::kEpoch
                         ? fmt::format("epoch {} ended at step {}", report.epoch, report.step)
                         : fmt::format("step {}", report.step);
  if (report.kind == StepReport::Kind::kEpoch) {
    text += fmt::format(" | {:.1f} ms/step", report.step_ms);
  } else {
    text += fmt::format(" | {:.1f} ms/step (ewma {:.1f})", report.step_ms, report.smoothed_step_ms);
  }
  const double step_stall_ms = report.step_ms * stalls.stall_share;
  const double device_ms = report.step_ms * stalls.device_stall_share;
  text += fmt::format(" | stall {:.1f} %: host {:.1f} ms, device {:.1f} ms | {}", 100 * stalls.stall_share,
                      step_stall_ms - device_ms, device_ms, stalls.verdict);
  text += Path(stalls) + Ceilings(stalls) + Prediction(stalls) + Machine(report);
  text += fmt::format(" | {}{}/{} slots ready, empties {}",
                      !stalls.pinned            ? "NOT pinned, "
                      : report.pinned_bytes > 0 ? "pinned, "
                                                : "",
                      report.slots_full, report.slots, stalls.empties);
  for (const std::string& warning : report.warnings) text += " | WARNING: " + warning;
  return text;
}

}  // namespace stoker

#include "loader/report_json.h"
#include "loader/step_report.h"

namespace stoker {
namespace {

constexpr int kSchemaVersion = 1;

template <typename T>
nlohmann::json OrNull(const std::optional<T>& value) {
  return value ? nlohmann::json(*value) : nlohmann::json();
}

}  // namespace

std::string ToJsonLine(const StepReport& report) {
  const nlohmann::json json = {
      {"schema_version", kSchemaVersion},
      {"kind", kKindNames[static_cast<size_t>(report.kind)]},
      {"unix_seconds", report.unix_seconds},
      {"step", report.step},
      {"epoch", report.epoch},
      {"step_ms", report.step_ms},
      {"smoothed_step_ms", report.smoothed_step_ms},
      {"stalls", ToJson(report.stalls)},
      {"rss_bytes", OrNull(report.rss_bytes)},
      {"anonymous_bytes", OrNull(report.anonymous_bytes)},
      {"growth_bytes_per_epoch", OrNull(report.growth_bytes_per_epoch)},
      {"loader_bytes", report.loader_bytes},
      {"pinned_bytes", report.pinned_bytes},
      {"cpu_cores", OrNull(report.cpu_cores)},
      {"cpu_share", OrNull(report.cpu_share)},
      {"run_queue_share", OrNull(report.run_queue_share)},
      {"cache_hit_share", OrNull(report.cache_hit_share)},
      {"io_pressure", OrNull(report.io_pressure)},
      {"memory_pressure", OrNull(report.memory_pressure)},
      {"vram_used_bytes", OrNull(report.vram_used_bytes)},
      {"vram_total_bytes", OrNull(report.vram_total_bytes)},
      {"gpu_busy_percent", OrNull(report.gpu_busy_percent)},
      {"slots_full", report.slots_full},
      {"slots", report.slots},
      {"warnings", report.warnings},
  };
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace stoker

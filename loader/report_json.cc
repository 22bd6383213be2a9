#include "loader/report_json.h"

namespace stoker {
namespace {

template <typename Values, typename Names>
nlohmann::json ByName(const Values& values, const Names& names) {
  nlohmann::json object = nlohmann::json::object();
  for (size_t i = 0; i < values.size(); ++i) object[names[i]] = values[i];
  return object;
}

nlohmann::json SkippedOf(const StallReport& report) {
  nlohmann::json skipped = nlohmann::json::array();
  for (const SkippedSample& sample : report.skipped) {
    skipped.push_back({{"name", sample.name}, {"reason", sample.reason}});
  }
  return skipped;
}

}  // namespace

nlohmann::json ToJson(const StallReport& report) {
  return {
      {"seconds", report.seconds},
      {"samples", report.samples},
      {"batches", report.batches},
      {"bytes_read", report.bytes_read},
      {"images_per_second", report.images_per_second},
      {"stall_share", report.stall_share},
      {"device_stall_share", report.device_stall_share},
      {"empties", report.empties},
      {"shares", ByName(report.shares, kStageNames)},
      {"margins", ByName(report.margins, kStageNames)},
      {"windows", report.windows},
      {"parts", ByName(report.parts, kPartNames)},
      {"leader", kStageNames[static_cast<size_t>(report.leader)]},
      {"bound", kBoundNames[static_cast<size_t>(report.bound)]},
      {"verdict", report.verdict},
      {"advice", report.advice},
      {"ceilings", ByName(report.ceilings, kStageNames)},
      {"busy", ByName(report.busy, kStageNames)},
      {"gains", ByName(report.gains, kStageNames)},
      {"on_cpu_share", report.on_cpu_share ? nlohmann::json(*report.on_cpu_share) : nlohmann::json()},
      {"sample_ms", {{"read", report.read_ms}, {"decode", report.decode_ms}, {"augment", report.augment_ms}}},
      {"reader", report.reader},
      {"device", report.device},
      {"pinned", report.pinned},
      {"workers", report.workers},
      {"max_workers", report.max_workers},
      {"auto_workers", report.auto_workers},
      {"cached_share", report.cached_known ? nlohmann::json(report.cached_share) : nlohmann::json()},
      {"budget_bytes", report.budget_bytes},
      {"buffers",
       {{"slots", report.buffers.slots},
        {"slot_bytes", report.buffers.slot_bytes},
        {"device_slots", report.buffers.device_slots},
        {"read_buffers", report.buffers.read_buffers},
        {"read_buffer_bytes", report.buffers.read_buffer_bytes},
        {"scratch_bytes", report.scratch_bytes},
        {"oversized_bytes_peak", report.oversized_bytes_peak},
        {"extra_slots", report.extra_slots},
        {"extra_slots_peak", report.extra_slots_peak}}},
      {"index",
       {{"budget_bytes", report.buffers.index_bytes},
        {"used_bytes", report.index_used_bytes},
        {"entries", report.index_entries},
        {"full", report.index_full},
        {"file", report.index_file},
        {"file_entries", report.index_file_entries}}},
      {"cpu_path", report.cpu_path},
      {"jpegs",
       {{"own", report.jpegs_own}, {"library", report.jpegs_library}, {"started_over", report.jpegs_started_over}}},
      {"decoder_warnings", report.decoder_warnings},
      {"skipped_count", report.skipped_count},
      {"skipped", SkippedOf(report)},
      {"abandoned", report.abandoned},
  };
}

}  // namespace stoker

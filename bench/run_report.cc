#include "bench/run_report.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <fstream>
#include <limits>

#include "loader/loader.h"

namespace stoker {
namespace {

constexpr int kSchemaVersion = 1;
constexpr int64_t kBytesPerKb = 1024;
constexpr double kMega = 1e6;

// The number behind `key` in a file of "key: number" lines; 0 where it is missing.
int64_t NumberFrom(const char* path, const std::string& key) {
  std::ifstream file(path);
  for (std::string word; file >> word;) {
    int64_t number = 0;
    if (word == key && file >> number) return number;
    file.ignore(std::numeric_limits<std::streamsize>::max(), '\n');
  }
  return 0;
}

double Seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
}

}  // namespace

ProcessCounters ReadProcessCounters() {
  rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  return {.peak_rss_bytes = usage.ru_maxrss * kBytesPerKb,
          .anonymous_rss_bytes = NumberFrom("/proc/self/status", "RssAnon:") * kBytesPerKb,
          .disk_read_bytes = NumberFrom("/proc/self/io", "read_bytes:"),
          .cpu_seconds = Seconds(usage.ru_utime) + Seconds(usage.ru_stime)};
}

double RunReport::page_cache_hit_ratio() const {
  const auto read = static_cast<double>(stall.bytes_read);
  const auto fetched = static_cast<double>(after.disk_read_bytes - before.disk_read_bytes);
  return read > 0 ? std::clamp(1 - fetched / read, 0.0, 1.0) : 1;
}

std::string FormatRunReport(const RunReport& report) {
  const double cpu_seconds = report.after.cpu_seconds - report.before.cpu_seconds;
  std::string text = FormatReport(report.stall);
  text += fmt::format("  per core     {:.0f} images/s on each of {} CPUs, {:.1f} CPU-seconds in all\n",
                      report.stall.images_per_second / report.usable_cpus, report.usable_cpus, cpu_seconds);
  text += fmt::format("  first batch  {:.3f} s after the start\n", report.first_batch_seconds);
  text += fmt::format("  cache hits   {:.1f} % of the bytes read\n", 100 * report.page_cache_hit_ratio());
  text +=
      fmt::format("  peak memory  {:.1f} MB resident, {:.1f} MB of it taken since the loader was made\n",
                  static_cast<double>(report.after.peak_rss_bytes) / kMega,
                  static_cast<double>(report.after.anonymous_rss_bytes - report.before.anonymous_rss_bytes) / kMega);
  return text;
}

nlohmann::json ToJson(const RunReport& report) {
  const StallReport& stall = report.stall;
  nlohmann::json shares = nlohmann::json::object();
  for (size_t i = 0; i < kStages; ++i) shares[kStageNames[i]] = stall.shares[i];
  nlohmann::json ceilings = nlohmann::json::object();
  for (size_t i = 0; i < kServedStages; ++i) ceilings[kStageNames[i]] = stall.ceilings[i];
  nlohmann::json skipped = nlohmann::json::array();
  for (const SkippedSample& sample : stall.skipped)
    skipped.push_back({{"name", sample.name}, {"reason", sample.reason}});
  nlohmann::json classes = nlohmann::json::array();
  for (const std::string& name : report.classes) classes.push_back(ValidUtf8(name));
  return {
      {"schema_version", kSchemaVersion},
      {"samples", stall.samples},
      {"batches", stall.batches},
      {"seconds", stall.seconds},
      {"images_per_second", stall.images_per_second},
      {"images_per_second_per_core", stall.images_per_second / report.usable_cpus},
      {"cpu_seconds", report.after.cpu_seconds - report.before.cpu_seconds},
      {"first_batch_seconds", report.first_batch_seconds},
      {"stall_share", stall.stall_share},
      {"empties", stall.empties},
      {"shares", shares},
      {"verdict", stall.verdict},
      {"advice", stall.advice},
      {"ceilings", ceilings},
      {"sample_ms", {{"read", stall.read_ms}, {"decode", stall.decode_ms}, {"augment", stall.augment_ms}}},
      {"reader", stall.reader},
      {"device", stall.device},
      {"pinned", stall.pinned},
      {"workers", stall.workers},
      {"usable_cpus", report.usable_cpus},
      {"page_cache_hit_ratio", report.page_cache_hit_ratio()},
      {"bytes_read", stall.bytes_read},
      {"peak_rss_bytes", report.after.peak_rss_bytes},
      {"anonymous_growth_bytes", report.after.anonymous_rss_bytes - report.before.anonymous_rss_bytes},
      {"budget_bytes", stall.budget_bytes},
      {"buffers",
       {{"slots", stall.buffers.slots},
        {"slot_bytes", stall.buffers.slot_bytes},
        {"device_slots", stall.buffers.device_slots},
        {"read_buffers", stall.buffers.read_buffers},
        {"read_buffer_bytes", stall.buffers.read_buffer_bytes},
        {"scratch_bytes", stall.scratch_bytes},
        {"oversized_bytes_peak", stall.oversized_bytes_peak}}},
      {"decoder_warnings", stall.decoder_warnings},
      {"skipped_count", stall.skipped_count},
      {"skipped", skipped},
      {"abandoned", stall.abandoned},
      {"interrupted", report.interrupted},
      {"error", report.error},
      {"classes", classes},
  };
}

}  // namespace stoker

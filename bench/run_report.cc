#include "bench/run_report.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <fstream>
#include <limits>

#include "loader/loader.h"
#include "loader/report_json.h"

namespace stoker {
namespace {

constexpr int kRunSchemaVersion = 1;
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
  nlohmann::json classes = nlohmann::json::array();
  for (const std::string& name : report.classes) classes.push_back(ValidUtf8(name));
  nlohmann::json json = ToJson(report.stall);
  json.update({
      {"schema_version", kRunSchemaVersion},
      {"images_per_second_per_core", report.stall.images_per_second / report.usable_cpus},
      {"cpu_seconds", report.after.cpu_seconds - report.before.cpu_seconds},
      {"first_batch_seconds", report.first_batch_seconds},
      {"usable_cpus", report.usable_cpus},
      {"page_cache_hit_ratio", report.page_cache_hit_ratio()},
      {"peak_rss_bytes", report.after.peak_rss_bytes},
      {"anonymous_growth_bytes", report.after.anonymous_rss_bytes - report.before.anonymous_rss_bytes},
      {"interrupted", report.interrupted},
      {"error", report.error},
      {"classes", classes},
  });
  return json;
}

}  // namespace stoker

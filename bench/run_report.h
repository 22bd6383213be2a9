// A run's figures beyond the loader's own report, in words and as JSON.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include "loader/file_source.h"
#include "loader/stall_report.h"

namespace stoker {

// What the operating system counted for this process.
struct ProcessCounters {
  int64_t peak_rss_bytes = 0;
  int64_t anonymous_rss_bytes = 0;
  int64_t disk_read_bytes = 0;  // fetched from storage, read-ahead included
  double cpu_seconds = 0;       // user and system, all threads
};
ProcessCounters ReadProcessCounters();

struct RunReport {
  StallReport stall;
  double first_batch_seconds = 0;  // since the process began; 0: there was none
  ProcessCounters before;          // before the loader was made
  ProcessCounters after;
  int32_t usable_cpus = 1;
  ClassNames classes;
  bool interrupted = false;
  std::string error;  // what ended the run early; empty where nothing did

  // Of the bytes that were read, those that did not come from storage.
  double page_cache_hit_ratio() const;
};

// The lines that come before the loader's own, and the whole as JSON. `schema_version` changes when a key does.
std::string FormatRunReport(const RunReport& report);
nlohmann::json ToJson(const RunReport& report);

}  // namespace stoker

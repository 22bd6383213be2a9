// A report with every figure known, and jobs that give it.
#pragma once

#include "loader/stall_report.h"
#include "loader/step_report.h"

namespace stoker {

inline StepReport FullReport() {
  StepReport report;
  report.kind = StepReport::Kind::kLive;
  report.unix_seconds = 1'700'000'000;
  report.step = 12500;
  report.epoch = 3;
  report.step_ms = 41.8;
  report.smoothed_step_ms = 41.5;
  StallReport& stalls = report.stalls;
  stalls.seconds = 16.7;
  stalls.samples = 25600;
  stalls.batches = 400;
  stalls.images_per_second = 1531;
  stalls.stall_share = 0.112;
  stalls.device_stall_share = 0.105;
  stalls.empties = 210;
  stalls.shares = {0.07, 0.62, 0.02, 0.27, 0.01, 0.01};
  stalls.margins = {0.02, 0.04, 0, 0.03, 0, 0};
  stalls.windows = 20;
  stalls.parts = {0.01, 0.04, 0.02, 0, 0.48, 0.12, 0.02, 0.02, 0, 0.25, 0.02, 0.01, 0.01};
  stalls.ceilings = {9800, 1640, 41000, 6900};
  stalls.busy = {0.12, 0.97, 0.05, 0.27};
  stalls.gains = {0.007, 0.06, 0.002, 0.025};
  stalls.on_cpu_share = 0.95;
  stalls.reader = "io_uring (self-test passed)";
  stalls.device = "NVIDIA H200";
  stalls.workers = 12;
  Conclude(stalls);
  report.rss_bytes = 6'100'000'000;
  report.anonymous_bytes = 5'000'000'000;
  report.growth_bytes_per_epoch = 20e6;
  report.loader_bytes = 400'000'000;
  report.pinned_bytes = 200'000'000;
  report.cpu_cores = 7.2;
  report.cpu_share = 0.57;
  report.run_queue_share = 0.03;
  report.cache_hit_share = 0.12;
  report.io_pressure = 0.08;
  report.memory_pressure = 0;
  report.vram_used_bytes = 18'200'000'000;
  report.vram_total_bytes = 24'000'000'000;
  report.gpu_busy_percent = 88;
  report.slots_full = 2;
  report.slots = 8;
  return report;
}

}  // namespace stoker

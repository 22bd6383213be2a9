#include "loader/monitor/monitor.h"

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <system_error>
#include <utility>

#include "loader/options.h"

namespace stoker {
namespace {

constexpr int64_t kLiveEveryNs = 500'000'000;
constexpr double kNewestShare = 0.2;  // of the moving average
constexpr double kMsPerSecond = 1e3;

NvmlDevice FindGpu(const std::string& gpu) {
  return gpu.empty() || !Nvml::Get().refusal().empty() ? nullptr : Nvml::Get().Find(gpu);
}

}  // namespace

Monitor::Monitor(MonitorParts parts)
    : parts_(std::move(parts)), usable_cpus_(UsableCpus()), gpu_(FindGpu(parts_.gpu)) {}

void Monitor::Start(Lap lap, int64_t now_ns) {
  before_[static_cast<size_t>(lap)] = ReadGauges(parts_.root, now_ns);
  parts_.start_lap(lap, now_ns);
}

void Monitor::BatchGiven(uint64_t epoch, int64_t now_ns) {
  epoch_ = epoch;
  // The first batch waits for start-up: the reports begin with the second.
  if (steps_++ == 0) {
    Start(Lap::kSteps, now_ns);
    Start(Lap::kEpoch, now_ns);
    live_due_ns_ = now_ns + kLiveEveryNs;
  } else if (parts_.every > 0 && steps_ % parts_.every == 0) {
    StepReport report = Compose(StepReport::Kind::kSteps, Lap::kSteps, now_ns);
    smoothed_step_ms_ = report.smoothed_step_ms;
    Start(Lap::kSteps, now_ns);
    Emit(report);
  }
  if (parts_.on_live && now_ns >= live_due_ns_) {
    live_due_ns_ = now_ns + kLiveEveryNs;
    parts_.on_live(Compose(StepReport::Kind::kLive, Lap::kSteps, now_ns));
  }
}

void Monitor::EpochEnded(int64_t now_ns) {
  if (steps_ == 0 || parts_.every == 0) return;
  StepReport report = Compose(StepReport::Kind::kEpoch, Lap::kEpoch, now_ns);
  Start(Lap::kEpoch, now_ns);
  EpochTrend::Findings findings = epochs_.Add(
      {epoch_, report.anonymous_bytes, report.rss_bytes, report.loader_bytes, report.step_ms, report.stalls.seconds});
  report.growth_bytes_per_epoch = epochs_.growth_bytes();
  for (std::string* words : {&findings.memory, &findings.slowdown}) {
    if (!words->empty()) report.warnings.push_back(std::move(*words));
  }
  Emit(report);
}

StepReport Monitor::Compose(StepReport::Kind kind, Lap lap, int64_t now_ns) {
  StepReport report;
  report.kind = kind;
  report.unix_seconds = std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
  report.step = steps_;
  report.epoch = epoch_;
  parts_.fill(lap, now_ns, report);
  const StallReport& stalls = report.stalls;
  if (stalls.batches > 0) report.step_ms = kMsPerSecond * stalls.seconds / static_cast<double>(stalls.batches);
  report.smoothed_step_ms =
      smoothed_step_ms_ == 0 ? report.step_ms : kNewestShare * report.step_ms + (1 - kNewestShare) * smoothed_step_ms_;
  report.growth_bytes_per_epoch = epochs_.growth_bytes();
  ReadMachine(before_[static_cast<size_t>(lap)], ReadGauges(parts_.root, now_ns), report);
  return report;
}

void Monitor::ReadMachine(const MachineGauges& before, const MachineGauges& now, StepReport& report) const {
  report.rss_bytes = now.rss_bytes;
  report.anonymous_bytes = now.anonymous_bytes;
  const GaugeRates rates = RatesBetween(before, now, static_cast<int64_t>(report.stalls.bytes_read));
  report.cpu_cores = rates.tree_cpu_cores ? rates.tree_cpu_cores : rates.cpu_cores;
  if (report.cpu_cores) report.cpu_share = *report.cpu_cores / usable_cpus_;
  report.run_queue_share = rates.run_queue_share;
  report.cache_hit_share = rates.cache_hit_share;
  report.io_pressure = rates.io_pressure;
  report.memory_pressure = rates.memory_pressure;
  if (gpu_ == nullptr) return;
  const GpuLoad load = Nvml::Get().ReadLoad(gpu_);
  report.vram_used_bytes = load.memory_used_bytes;
  report.vram_total_bytes = load.memory_total_bytes;
  report.gpu_busy_percent = load.busy_percent;
}

void Monitor::Emit(const StepReport& report) {
  if (!parts_.report_file.empty()) AppendToFile(report);
  if (parts_.on_report) parts_.on_report(report);
}

void Monitor::AppendToFile(const StepReport& report) {
  const std::string line = ToJsonLine(report) + "\n";
  // Opened anew each time, so that a file that was moved away begins again.
  std::FILE* const file = std::fopen(parts_.report_file.c_str(), "ae");
  int error = file == nullptr ? errno : 0;
  if (file != nullptr && std::fwrite(line.data(), 1, line.size(), file) != line.size()) error = errno;
  if (file != nullptr && std::fclose(file) != 0 && error == 0) error = errno;
  if (error == 0) {
    file_trouble_.clear();
    return;
  }
  const std::string trouble = std::generic_category().message(error);
  if (trouble == file_trouble_) return;
  file_trouble_ = trouble;
  std::fprintf(stderr, "stoker: cannot write the report to %s: %s; training goes on without\n",
               parts_.report_file.c_str(), trouble.c_str());
}

}  // namespace stoker

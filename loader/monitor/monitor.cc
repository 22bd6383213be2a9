#include "loader/monitor/monitor.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <system_error>
#include <utility>

#include "loader/options.h"

namespace stoker {
namespace {

constexpr int64_t kLiveEveryNs = 500'000'000;
constexpr int64_t kLiveLap = 500;     // batches that a live report is about at most, where no other is asked for
constexpr double kNewestShare = 0.2;  // of the moving average
constexpr double kMsPerSecond = 1e3;

// Adds `line` to the file at `path` by one call, so that lines of several processes do not mix; what prevents it, in
// words. Opened anew each time, so that a file that was moved away begins again; a pipe that nobody reads, and a limit
// whose signal would end the process, are errors like any other.
std::string AppendLine(const std::string& path, const std::string& line) {
  const int file = open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_NONBLOCK | O_CLOEXEC, 0666);
  if (file < 0) return std::generic_category().message(errno);
  struct stat status = {};
  rlimit limit = {};
  std::string trouble;
  if (fstat(file, &status) == 0 && S_ISREG(status.st_mode) && getrlimit(RLIMIT_FSIZE, &limit) == 0 &&
      limit.rlim_cur != RLIM_INFINITY && static_cast<rlim_t>(status.st_size) + line.size() > limit.rlim_cur) {
    trouble = std::generic_category().message(EFBIG);
  } else if (const ssize_t written = write(file, line.data(), line.size()); written < 0) {
    trouble = std::generic_category().message(errno);
  } else if (static_cast<size_t>(written) < line.size()) {
    trouble = std::generic_category().message(ENOSPC);
  }
  close(file);
  return trouble;
}

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

void Monitor::Restart(int64_t now_ns) {
  if (steps_ == 0) return;
  Start(Lap::kSteps, now_ns);
  Start(Lap::kEpoch, now_ns);
}

void Monitor::BatchGiven(int64_t now_ns) {
  if (parts_.every == 0 && !parts_.on_live) return;
  // The first batch waits for start-up, and an epoch's first for what the caller did between epochs: the reports begin
  // with the second.
  if (steps_++ == 0) {
    Start(Lap::kSteps, now_ns);
    live_due_ns_ = now_ns + kLiveEveryNs;
  }
  if (!in_epoch_) Start(Lap::kEpoch, now_ns);
  in_epoch_ = true;
  if (steps_ > 1 && steps_ % (parts_.every > 0 ? parts_.every : kLiveLap) == 0) return EndSteps(now_ns);
  if (parts_.on_live && now_ns >= live_due_ns_) {
    live_due_ns_ = now_ns + kLiveEveryNs;
    parts_.on_live(Compose(StepReport::Kind::kLive, Lap::kSteps, now_ns));
  }
}

void Monitor::EndSteps(int64_t now_ns) {
  const StepReport report = Compose(StepReport::Kind::kSteps, Lap::kSteps, now_ns);
  smoothed_step_ms_ = report.smoothed_step_ms;
  Start(Lap::kSteps, now_ns);
  live_due_ns_ = now_ns + kLiveEveryNs;
  if (parts_.on_live) parts_.on_live(report);
  if (parts_.every > 0) Emit(report);
}

void Monitor::EpochEnded(int64_t now_ns) {
  if (!std::exchange(in_epoch_, false)) return;
  ++epochs_ended_;
  if (parts_.every == 0) return;  // they are only counted for who looks on
  StepReport report = Compose(StepReport::Kind::kEpoch, Lap::kEpoch, now_ns);
  report.epoch = epochs_ended_ - 1;
  EpochTrend::Findings findings = epochs_.Add({report.epoch, report.anonymous_bytes, report.rss_bytes,
                                               report.loader_bytes, report.step_ms, report.stalls.seconds});
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
  report.epoch = epochs_ended_;
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
  const std::string trouble = AppendLine(parts_.report_file, ToJsonLine(report) + "\n");
  if (trouble == file_trouble_) return;
  file_trouble_ = trouble;
  if (trouble.empty()) return;
  std::fprintf(stderr, "stoker: cannot write the report to %s: %s; training goes on without\n",
               parts_.report_file.c_str(), trouble.c_str());
}

}  // namespace stoker

#include "loader/stall_report.h"

#include <algorithm>
#include <cmath>

namespace stoker {
namespace {

constexpr double kNsPerSecond = 1e9;
constexpr double kNsPerMs = 1e6;
// Fewer windows than this say nothing of how far they spread.
constexpr size_t kFewestWindows = 8;

double Ceiling(double servers, int64_t items, int64_t busy_ns) {
  return busy_ns > 0 ? servers * static_cast<double>(items) * kNsPerSecond / static_cast<double>(busy_ns) : 0;
}

// The two-sided 95 % quantile of Student's t, by the Cornish-Fisher expansion about the normal one (Abramowitz and
// Stegun 26.7.5); within 0.3 % from 8 degrees of freedom on.
double StudentT(double degrees) { return 1.96 + 2.3725 / degrees + 2.823 / (degrees * degrees); }

// Half the 95 % interval of a share of the whole that windows of different lengths differ in: the batch means method
// for a ratio.
double Margin(const PathSums& path, size_t stage, double share, double wall_ns, int64_t end_ns) {
  double squares = 0;
  for (size_t i = 0; i < path.windows(); ++i) {
    const int64_t window_end = i + 1 < path.windows() ? path.window(i + 1).begin_ns : end_ns;
    const auto width = static_cast<double>(window_end - path.window(i).begin_ns);
    const double off = static_cast<double>(path.window(i).times[stage]) - share * width;
    squares += off * off;
  }
  const auto windows = static_cast<double>(path.windows());
  return StudentT(windows - 1) * std::sqrt(squares * windows / (windows - 1)) / wall_ns;
}

void FillShares(const StallTotals& totals, StallReport& report) {
  const auto wall = static_cast<double>(totals.wall_ns);
  const StageTimes stages = totals.path.stages();
  for (size_t i = 0; i < kStages; ++i) report.shares[i] = static_cast<double>(stages[i]) / wall;
  for (size_t i = 0; i < kParts; ++i) report.parts[i] = static_cast<double>(totals.path.parts()[i]) / wall;
  report.windows = static_cast<int32_t>(totals.path.windows());
  if (totals.path.windows() >= kFewestWindows) {
    const int64_t end_ns = totals.path.begin_ns() + totals.wall_ns;
    for (size_t i = 0; i < kStages; ++i) report.margins[i] = Margin(totals.path, i, report.shares[i], wall, end_ns);
  }
  if (totals.clocked_ns == 0) return;
  report.on_cpu_share = static_cast<double>(totals.on_cpu_ns) / static_cast<double>(totals.clocked_ns);
  double& off_cpu = report.parts[static_cast<size_t>(Part::kOffCpu)];
  for (const Part part : {Part::kDecode, Part::kAugment}) {
    double& share = report.parts[static_cast<size_t>(part)];
    off_cpu += share * (1 - *report.on_cpu_share);
    share *= *report.on_cpu_share;
  }
}

void FillCeilings(const StallTotals& totals, const StageServers& servers, StallReport& report) {
  const int64_t work_ns = totals.decode_ns + totals.augment_ns;
  const auto fill = [&](Stage stage, double count, int64_t work, int64_t busy) {
    report.ceilings[static_cast<size_t>(stage)] = Ceiling(count, totals.samples, work);
    report.busy[static_cast<size_t>(stage)] = static_cast<double>(busy) / (count * static_cast<double>(totals.wall_ns));
  };
  fill(Stage::kIo, servers.readers, totals.read_ns, totals.read_ns);
  fill(Stage::kDecode, servers.workers, work_ns, work_ns + totals.cached_read_ns);
  fill(Stage::kCopy, 1, totals.copy_ns, totals.copy_ns);
  // Where the step is a device's, the host comes back at once.
  const int64_t device_ns = totals.device_steps > 0 ? totals.device_step_ns / totals.device_steps * totals.batches : 0;
  const int64_t step_ns = std::max(totals.consumer_ns, device_ns);
  fill(Stage::kConsumer, 1, step_ns, step_ns);
}

void FillGains(StallReport& report) {
  for (size_t i = 0; i < kServedStages; ++i) {
    // The time of a path is the sum of what lies on it: this holds for small changes, as long as the path stays.
    double faster = 1 / (1 - report.shares[i] * (1 - 1 / kGainSpeedUp));
    for (size_t other = 0; other < kServedStages; ++other) {
      if (other == i || report.ceilings[other] <= 0) continue;
      faster = std::min(faster, std::max(1.0, report.ceilings[other] / report.images_per_second));
    }
    report.gains[i] = faster - 1;
  }
}

}  // namespace

void Judge(const StallTotals& totals, const StageServers& servers, StallReport& report) {
  report.seconds = static_cast<double>(totals.wall_ns) / kNsPerSecond;
  report.samples = totals.samples;
  report.batches = totals.batches;
  report.bytes_read = totals.bytes;
  if (totals.wall_ns == 0) {
    report.verdict = kCountersOn ? "nothing was loaded" : "no verdict: the counters are compiled out";
    return;
  }
  const auto wall = static_cast<double>(totals.wall_ns);
  report.images_per_second = static_cast<double>(totals.samples) * kNsPerSecond / wall;
  report.device_stall_share = static_cast<double>(totals.device_stall_ns) / wall;
  // A wait that the device made up for is known only later, so that a report may be a little ahead of it.
  report.stall_share = std::clamp(static_cast<double>(totals.stall_ns) / wall + report.device_stall_share, 0.0, 1.0);
  FillShares(totals, report);
  FillCeilings(totals, servers, report);
  if (totals.samples > 0) {
    const double scale = 1 / (kNsPerMs * static_cast<double>(totals.samples));
    report.read_ms = static_cast<double>(totals.read_ns) * scale;
    report.decode_ms = static_cast<double>(totals.decode_ns) * scale;
    report.augment_ms = static_cast<double>(totals.augment_ns) * scale;
    report.cached_share = static_cast<double>(totals.cached_reads) / static_cast<double>(totals.samples);
    FillGains(report);
  }
  Conclude(report);
}

}  // namespace stoker

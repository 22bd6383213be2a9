#include "loader/reporter.h"

#include <algorithm>
#include <cstdio>

#include "decode/cpu_path.h"
#include "loader/active_workers.h"
#include "loader/delivery.h"
#include "loader/error_policy.h"
#include "loader/feeder.h"
#include "loader/index/index_keeper.h"
#include "loader/read_buffers.h"
#include "loader/sample_task.h"

namespace stoker {
namespace {

// Short epochs are not worth a line each, unless something is wrong.
void PrintLine(const StepReport& report, int64_t every) {
  const bool short_epoch = report.kind == StepReport::Kind::kEpoch && report.stalls.batches < every;
  if (short_epoch && report.warnings.empty()) return;
  std::fprintf(stderr, "stoker: %s\n", FormatStep(report).c_str());
}

}  // namespace

Reporter::Reporter(ReporterParts parts) : parts_(parts), monitor_(PartsForMonitor()) {}

MonitorParts Reporter::PartsForMonitor() {
  MonitorParts parts;
  parts.every = parts_.options.report_every;
  parts.on_report = parts_.options.on_report;
  if (!parts.on_report) {
    parts.on_report = [every = parts.every](const StepReport& report) { PrintLine(report, every); };
  }
  parts.fill = [this](Lap lap, int64_t now_ns, StepReport& report) { FillStep(lap, now_ns, report); };
  parts.start_lap = [this](Lap lap, int64_t now_ns) {
    parts_.log.StartLap(lap, now_ns);
    empties_before_[static_cast<size_t>(lap)] = parts_.delivery.ring().empties();
  };
  if (parts_.options.live_feed) parts.on_live = [this](const StepReport& report) { feed_.Publish(report); };
  if (const Device* const device = parts_.delivery.device()) parts.gpu = device->info().uuid;
  parts.report_file = parts_.options.report_file;
  return parts;
}

StallReport Reporter::Report() {
  parts_.delivery.LogCopies(parts_.log);
  StallReport report = ReportOf(parts_.log.Totals(parts_.now()));
  report.empties -= empties_before_all_;
  return report;
}

void Reporter::Restart() {
  parts_.delivery.LogCopies(parts_.log);
  const int64_t now = parts_.now();
  parts_.log.Restart(now);
  empties_before_all_ = parts_.delivery.ring().empties();
  monitor_.Restart(now);
}

StallReport Reporter::ReportOf(const StallTotals& totals) const {
  const LoaderOptions& options = parts_.options;
  StallReport report;
  const bool cached_first = options.reader == ReaderKind::kAuto;
  const bool all_cached = cached_first && totals.samples > 0 && totals.cached_reads == totals.samples;
  // On average over the time: their number may have changed.
  const double workers = options.num_workers > 0 && totals.wall_ns > 0
                             ? static_cast<double>(totals.workers_ns) / static_cast<double>(totals.wall_ns)
                             : 1;
  Judge(totals, {.readers = all_cached ? workers : options.queue_depth, .workers = workers}, report);
  report.reader = parts_.feeder.reader_choice();
  report.device = parts_.delivery.device() != nullptr ? parts_.delivery.device()->info().name : "cpu";
  report.pinned = parts_.delivery.pinned();
  report.workers = parts_.workers.active();
  report.max_workers = options.num_workers;
  report.auto_workers = parts_.workers.chooses();
  report.empties = parts_.delivery.ring().empties();
  report.cached_known = cached_first;
  report.buffers = parts_.plan;
  report.scratch_bytes = parts_.task.scratch_bytes();
  const std::array<uint64_t, kJpegPaths> decoded = parts_.task.decoded();
  report.jpegs_own = decoded[static_cast<size_t>(JpegPath::kOwn)];
  report.jpegs_library = decoded[static_cast<size_t>(JpegPath::kLibrary)];
  report.jpegs_started_over = decoded[static_cast<size_t>(JpegPath::kStartedOver)];
  report.cpu_path = CpuPathName(ChosenCpuPath());
  if (parts_.index != nullptr) {
    const IndexReport index = parts_.index->report();
    report.index_used_bytes = index.learned.bytes;
    report.index_entries = index.learned.entries;
    report.index_full = index.learned.full;
    report.index_file_entries = index.file_entries;
    report.index_file = parts_.index->path();
  }
  report.budget_bytes = parts_.plan.host_bytes() + report.scratch_bytes;
  report.oversized_bytes_peak = parts_.buffers.oversized_bytes_peak();
  report.extra_slots = parts_.delivery.ring().extra_slots();
  report.extra_slots_peak = parts_.delivery.ring().extra_slots_peak();
  parts_.errors.Report(report);
  report.abandoned = parts_.feeder.abandoned();
  return report;
}

void Reporter::FillStep(Lap lap, int64_t now_ns, StepReport& report) {
  parts_.delivery.LogCopies(parts_.log);
  report.stalls = ReportOf(parts_.log.LapTotals(lap, now_ns));
  report.stalls.empties -= empties_before_[static_cast<size_t>(lap)];
  const BufferPlan& plan = parts_.plan;
  report.loader_bytes = static_cast<int64_t>(report.stalls.budget_bytes + report.stalls.extra_slots * plan.slot_bytes);
  if (parts_.delivery.device() != nullptr && report.stalls.pinned) {
    report.pinned_bytes = static_cast<int64_t>(plan.slots * plan.slot_bytes);
  }
  report.slots_full = parts_.delivery.ready();
  report.slots = plan.slots + report.stalls.extra_slots + plan.device_slots;
}

}  // namespace stoker

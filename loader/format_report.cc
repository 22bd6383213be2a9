#include <fmt/format.h>

#include <algorithm>

#include "loader/loader.h"

namespace stoker {
namespace {

constexpr size_t kShownSkips = 10;

std::string Bytes(size_t bytes) {
  constexpr double kMega = 1e6;
  return fmt::format("{:.1f} MB", static_cast<double>(bytes) / kMega);
}

std::string Ceilings(const StallReport& report) {
  std::string text;
  for (size_t i = 0; i < kServedStages; ++i) {
    text += report.ceilings[i] > 0 ? fmt::format("  {} {:.0f}", kStageNames[i], report.ceilings[i])
                                   : fmt::format("  {} -", kStageNames[i]);
  }
  return text;
}

std::string Shares(const StallReport& report) {
  std::string text;
  for (size_t i = 0; i < kStages; ++i) {
    text += fmt::format("  {} {:.1f}{} %", kStageNames[i], 100 * report.shares[i],
                        report.margins[i] > 0 ? fmt::format(" +/- {:.1f}", 100 * report.margins[i]) : "");
  }
  return text;
}

// What the stages' shares went into, as far as it is worth a word.
std::string Parts(const StallReport& report) {
  constexpr double kWorthAWord = 0.005;
  std::string text;
  for (size_t i = 0; i < kParts; ++i) {
    if (report.parts[i] >= kWorthAWord) text += fmt::format("  {} {:.1f} %", kPartNames[i], 100 * report.parts[i]);
  }
  return text;
}

std::string Gains(const StallReport& report) {
  std::string text;
  for (size_t i = 0; i < kServedStages; ++i)
    text += fmt::format("  {} {:+.1f} %", kStageNames[i], 100 * report.gains[i]);
  return text;
}

std::string WorkersOf(const StallReport& report) {
  if (report.auto_workers) return fmt::format("workers {} of {} (auto)", report.workers, report.max_workers);
  if (report.workers != report.max_workers) return fmt::format("workers {} of {}", report.workers, report.max_workers);
  return fmt::format("{} workers", report.workers);
}

std::string Jpegs(const StallReport& report) {
  std::string text = fmt::format("  JPEGs        {} by the own decoder ({}), {} by libjpeg-turbo", report.jpegs_own,
                                 report.cpu_path, report.jpegs_library + report.jpegs_started_over);
  if (report.jpegs_started_over > 0) text += fmt::format(", {} of them for odd data", report.jpegs_started_over);
  return text + '\n';
}

std::string RowIndex(const StallReport& report) {
  std::string text = fmt::format("  row index    {} pictures learned: {} of {}", report.index_entries,
                                 Bytes(report.index_used_bytes), Bytes(report.buffers.index_bytes));
  if (report.index_entries > 0) {
    text += fmt::format(", {:.0f} bytes each",
                        static_cast<double>(report.index_used_bytes) / static_cast<double>(report.index_entries));
  }
  if (report.index_full) text += "; no room for all (index_bytes)";
  if (!report.index_file.empty()) text += fmt::format("; {} in {}", report.index_file_entries, report.index_file);
  return text + '\n';
}

std::string Skips(const StallReport& report) {
  std::string text = fmt::format("  bad samples  {}\n", report.skipped_count);
  const size_t shown = std::min(report.skipped.size(), kShownSkips);
  for (size_t i = 0; i < shown; ++i)
    text += fmt::format("    {}: {}\n", report.skipped[i].name, report.skipped[i].reason);
  if (report.skipped.size() > shown) text += fmt::format("    ... and {} more\n", report.skipped.size() - shown);
  return text;
}

}  // namespace

std::string FormatLine(const StallReport& report) {
  return fmt::format("{:.0f} images/s, {:.1f} % of the time waiting for data: {}{}", report.images_per_second,
                     100 * report.stall_share, report.verdict, report.pinned ? "" : "; host memory NOT pinned");
}

std::string FormatReport(const StallReport& report) {
  const BufferPlan& buffers = report.buffers;
  std::string text;
  text += fmt::format("stall report\n  verdict      {}\n  advice       {}\n", report.verdict, report.advice);
  text += fmt::format("  rate         {:.0f} images/s, {} images in {:.2f} s, {} batches\n", report.images_per_second,
                      report.samples, report.seconds, report.batches);
  text += fmt::format("  stall        {:.1f} % of the time was spent waiting for a batch, {} times none was ready\n",
                      100 * report.stall_share, report.empties);
  if (report.device_stall_share > 0) {
    text += fmt::format("               {:.2f} % of it on the device, whose stream waited for copies\n",
                        100 * report.device_stall_share);
  }
  text += fmt::format("  path        {}\n", Shares(report));
  text += fmt::format("  parts       {}\n", Parts(report));
  text += fmt::format("  10 % faster {}  images/s if that stage alone were\n", Gains(report));
  text += fmt::format("  ceilings    {}  images/s if only that stage worked\n", Ceilings(report));
  text += fmt::format("  a sample      read {:.3f} ms  decode {:.3f} ms  augment {:.3f} ms", report.read_ms,
                      report.decode_ms, report.augment_ms);
  if (report.on_cpu_share) text += fmt::format("  {:.0f} % of it on a CPU", 100 * *report.on_cpu_share);
  text += '\n';
  text += fmt::format("  reader       {}\n", report.reader.empty() ? "none yet" : report.reader);
  if (report.cached_known) text += fmt::format("  page cache   {:.1f} % of the reads\n", 100 * report.cached_share);
  text += fmt::format("  device       {}{}, {}\n", report.device, report.pinned ? "" : " (host memory NOT pinned)",
                      WorkersOf(report));
  text += fmt::format("  memory       {} planned: {} slots of {}, {} read buffers of {}, scratch {}",
                      Bytes(report.budget_bytes), buffers.slots, Bytes(buffers.slot_bytes), buffers.read_buffers,
                      Bytes(buffers.read_buffer_bytes), Bytes(report.scratch_bytes));
  if (report.oversized_bytes_peak > 0) text += ", beside it large files " + Bytes(report.oversized_bytes_peak);
  if (report.extra_slots_peak > 0) {
    text += fmt::format(", and {} slots more for kept batches (now {})", report.extra_slots_peak, report.extra_slots);
  }
  text += '\n';
  if (report.jpegs_own + report.jpegs_library + report.jpegs_started_over > 0) text += Jpegs(report);
  if (report.buffers.index_bytes > 0 || !report.index_file.empty()) text += RowIndex(report);
  if (report.decoder_warnings > 0) {
    text += fmt::format("  warnings     {} decodes gave pixels with a complaint (strict refuses them)\n",
                        report.decoder_warnings);
  }
  if (report.skipped_count > 0) text += Skips(report);
  if (report.abandoned) text += "  abandoned    a read was stuck: its buffers and ring were given up on purpose\n";
  return text;
}

}  // namespace stoker

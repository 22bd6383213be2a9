#include "bench/top/report_lines.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "loader/machine/words.h"
#include "loader/stall_totals.h"

namespace stoker {
namespace {

// From here on there is room for the ceilings beside the bars.
constexpr size_t kWideFrom = 76;
// A smaller share of the path is not worth a word.
constexpr double kWorthAWord = 0.005;

std::string Percent(double share) { return fmt::format("{:.0f} %", 100 * share); }

std::string Bytes(double bytes) { return BytesWords(static_cast<int64_t>(bytes)); }

// What stands beside a stage's bar: what it could do alone, times the rate; how busy it is; and what 10 % would give.
std::string Columns(const ReportView& report, const std::string& stage) {
  const double ceiling = report.NumberOr("/stalls/ceilings/" + stage, 0);
  const double rate = report.NumberOr("/stalls/images_per_second", 0);
  const auto busy = report.Number("/stalls/busy/" + stage);
  const auto gain = report.Number("/stalls/gains/" + stage);
  return fmt::format("{:>6}{:>8}{:>7}{:>8}", ceiling > 0 ? RateWords(ceiling) : "-",
                     ceiling > 0 && rate > 0 ? fmt::format("x{:.1f}", ceiling / rate) : "-",
                     busy ? Percent(*busy) : "-", gain ? fmt::format("{:+.1f} %", 100 * *gain) : "-");
}
constexpr std::string_view kColumnsHeading = " img/s  x rate   busy  +10 % ";

void AddStage(Lines& lines, const ReportView& report, size_t stage, size_t width) {
  constexpr size_t kFigures = 14;  // "100 % +/-12 "
  const std::string name = kStageNames[stage];
  const bool served = stage < kServedStages;
  const double share = report.NumberOr("/stalls/shares/" + name, 0);
  const double margin = report.NumberOr("/stalls/margins/" + name, 0);
  if (!served && share < kWorthAWord) return;
  const bool leads = report.Text("/stalls/leader") == name;
  std::string figures = fmt::format("{:>5}", Percent(share));
  if (margin >= kWorthAWord) figures += fmt::format(" +/-{:.0f}", 100 * margin);
  const size_t beside = width >= kWideFrom ? kColumnsHeading.size() + 1 : 0;
  ScreenLine spans = {{Label(name), leads ? Tone::kTitle : Tone::kPlain},
                      {fmt::format("{:<{}}", figures, kFigures), leads ? Tone::kTitle : Tone::kPlain}};
  AddBar(spans, share, width - kLabelWidth - kFigures - beside - 2);
  if (beside > 0 && served) spans.push_back({" " + Columns(report, name)});
  lines.push_back({served ? Rank::kStageBars : Rank::kOtherStages, std::move(spans)});
}

void AddPath(Lines& lines, const ReportView& report, size_t width) {
  const std::string heading = "path      of the wall time";
  const size_t gap = width >= kWideFrom ? width - heading.size() - kColumnsHeading.size() : 0;
  const std::string columns = gap > 0 ? std::string(gap, ' ') + std::string(kColumnsHeading) : "";
  lines.push_back({Rank::kHeading, {{heading + columns, Tone::kDim}}});
  for (size_t stage = 0; stage < kStages; ++stage) AddStage(lines, report, stage, width);
  std::string parts;
  for (const char* const part : kPartNames) {
    const double share = report.NumberOr(fmt::format("/stalls/parts/{}", part), 0);
    if (share >= kWorthAWord) parts += fmt::format("{}{} {}", parts.empty() ? "" : ", ", part, Percent(share));
  }
  AddText(lines, Rank::kPathParts, "parts", parts, width);
}

void AddStep(Lines& lines, const ReportView& report, size_t width) {
  AddPhrases(
      lines, Rank::kStep, "step",
      {fmt::format("{:.0f}", report.NumberOr("/step", 0)), fmt::format("{:.1f} ms", report.NumberOr("/step_ms", 0)),
       fmt::format("{:.0f} img/s", report.NumberOr("/stalls/images_per_second", 0)),
       fmt::format("epoch {:.0f}", report.NumberOr("/epoch", 0)),
       fmt::format("average {:.1f} ms", report.NumberOr("/smoothed_step_ms", 0)),
       fmt::format("(over {} steps)", report.NumberOr("/stalls/batches", 0))},
      width, Tone::kTitle);
}

void AddStall(Lines& lines, const ReportView& report, size_t width) {
  const double stall = report.NumberOr("/stalls/stall_share", 0);
  const double device = report.NumberOr("/stalls/device_stall_share", 0);
  const double step_ms = report.NumberOr("/step_ms", 0);
  AddPhrases(lines, Rank::kStall, "stall",
             {fmt::format("{:.1f} %", 100 * stall), fmt::format("host {:.1f} ms", step_ms * (stall - device)),
              fmt::format("device {:.1f} ms", step_ms * device),
              fmt::format("{:.0f} times none was ready", report.NumberOr("/stalls/empties", 0))},
             width);
}

void AddPrediction(Lines& lines, const ReportView& report, size_t width) {
  const std::string leader = report.Text("/stalls/leader");
  for (size_t stage = 0; stage < kServedStages; ++stage) {
    if (leader != kStageNames[stage]) continue;
    if (const auto gain = report.Number("/stalls/gains/" + leader)) {
      const std::string prediction = fmt::format("if {} were 10 % faster: {:+.1f} % images/s", leader, 100 * *gain);
      AddText(lines, Rank::kPrediction, "predict", prediction, width);
    }
  }
}

void AddMachine(Lines& lines, const ReportView& report, size_t width) {
  const auto phrase = [&](const char* pointer, const auto& words) {
    const auto value = report.Number(pointer);
    return value ? words(*value) : std::string();
  };
  const auto share_of = [&](const char* pointer, const char* name) {
    return phrase(pointer, [&](double value) { return fmt::format("{} {}", name, Percent(value)); });
  };
  AddPhrases(lines, Rank::kMemory, "memory",
             {phrase("/rss_bytes", Bytes),
              phrase("/growth_bytes_per_epoch",
                     [](double value) { return fmt::format("{}{} an epoch", value < 0 ? "" : "+", Bytes(value)); }),
              phrase("/loader_bytes", [](double value) { return "loader " + Bytes(value); }),
              phrase("/pinned_bytes", [](double value) { return value > 0 ? "pinned " + Bytes(value) : ""; }),
              share_of("/memory_pressure", "pressure")},
             width);
  AddPhrases(lines, Rank::kCpu, "cpu",
             {share_of("/cpu_share", "busy"),
              phrase("/cpu_cores", [](double value) { return fmt::format("{:.1f} cores", value); }),
              share_of("/run_queue_share", "run queue"), share_of("/cache_hit_share", "cache hits"),
              share_of("/io_pressure", "I/O pressure")},
             width);
  const auto used = report.Number("/vram_used_bytes"), total = report.Number("/vram_total_bytes");
  AddPhrases(lines, Rank::kGpu, "gpu",
             {phrase("/gpu_busy_percent", [](double value) { return fmt::format("busy {:.0f} %", value); }),
              used && total ? fmt::format("{} of {}", Bytes(*used), Bytes(*total)) : ""},
             width);
}

void AddSlots(Lines& lines, const ReportView& report, size_t width) {
  constexpr size_t kMostCells = 16;
  const double slots = report.NumberOr("/slots", 0), full = report.NumberOr("/slots_full", 0);
  if (slots < 1) return;
  const auto cells = static_cast<size_t>(std::min(slots, static_cast<double>(kMostCells)));
  ScreenLine spans = {{Label("slots"), Tone::kDim}};
  AddBar(spans, full / slots, cells);
  const bool unpinned = report.IsFalse("/stalls/pinned");
  spans.push_back({fmt::format(" {:.0f} of {:.0f} full", full, slots)});
  if (unpinned && width >= kWideFrom) spans.push_back({"  NOT page-locked", Tone::kWarning});
  lines.push_back({Rank::kSlots, std::move(spans)});
}

void AddWarnings(Lines& lines, const ReportView& report, size_t width) {
  for (const std::string& warning : report.Texts("/warnings")) {
    AddText(lines, Rank::kWarnings, "WARNING", warning, width, Tone::kWarning);
  }
  const double bad = report.NumberOr("/stalls/skipped_count", 0);
  if (bad > 0) {
    AddText(lines, Rank::kWarnings, "bad", CountWords(static_cast<int64_t>(bad), "bad sample") + " so far", width,
            Tone::kWarning);
  }
}

void AddReader(Lines& lines, const ReportView& report, size_t width) {
  AddPhrases(lines, Rank::kReader, "reader",
             {fmt::format("{:.0f} workers", report.NumberOr("/stalls/workers", 0)),
              "device " + report.Text("/stalls/device"), report.Text("/stalls/reader")},
             width);
}

}  // namespace

void AddReport(Lines& lines, const ReportView& report, size_t width) {
  AddStep(lines, report, width);
  AddStall(lines, report, width);
  AddText(lines, Rank::kVerdict, "verdict", report.Text("/stalls/verdict"), width, Tone::kTitle);
  AddText(lines, Rank::kAdvice, "advice", report.Text("/stalls/advice"), width);
  lines.push_back({Rank::kEmpty, {}});
  AddPath(lines, report, width);
  AddPrediction(lines, report, width);
  lines.push_back({Rank::kEmpty, {}});
  AddMachine(lines, report, width);
  AddSlots(lines, report, width);
  AddReader(lines, report, width);
  AddWarnings(lines, report, width);
}

}  // namespace stoker

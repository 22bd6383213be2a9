#include "bench/sweep/sweep_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace stoker {
namespace {

constexpr double kMega = 1e6;

// "2,180 img/s +/- 1.2 %".
std::string RateWords(const Interval& rate) {
  std::string words = fmt::format("{:.0f} img/s", rate.mean);
  if (rate.margin && rate.mean > 0) words += fmt::format(" +/- {:.1f} %", 100 * *rate.margin / rate.mean);
  return words;
}

std::string Row(const std::string& name, const std::string& words) { return fmt::format("  {:<13} {}\n", name, words); }

std::string LaneRow(const std::string& name, const Lane& lane) {
  std::string words = fmt::format("{:<42} {}", SettingWords(lane.setting), RateWords(lane.rate()));
  if (lane.against) words += fmt::format(", {:.2f} of the best", lane.against->mean);
  return Row(name, words);
}

std::string CostWords(const Finding& finding) {
  return fmt::format(
      "{:.2f} CPU-seconds for 1,000 pictures, {:.0f} MB ({:.0f} MB of it planned), first batch after "
      "{:.0f} ms",
      finding.typical.cpu_seconds_per_1000, static_cast<double>(finding.typical.memory_bytes) / kMega,
      static_cast<double>(finding.typical.planned_bytes) / kMega, 1000 * finding.typical.first_batch_seconds);
}

std::string PredictionWords(const Finding& finding) {
  if (finding.predictions.empty()) return "";
  double sum = 0, worst = 0;
  for (const Prediction& one : finding.predictions) {
    const double off = one.measured > 0 ? std::abs(one.predicted / one.measured - 1) : 0;
    sum += off;
    worst = std::max(worst, off);
  }
  return fmt::format("; the model's predictions were off by {:.1f} % on average, {:.1f} % at worst",
                     100 * sum / static_cast<double>(finding.predictions.size()), 100 * worst);
}

std::string FormatFinding(const Finding& finding, const Scenario& scenario) {
  std::string text = LaneRow("take", finding.recommended);
  text += LaneRow("the best", finding.best);
  text += Row("costs", CostWords(finding));
  text += Row("limit", finding.typical.verdict);
  text += Row("advice", finding.typical.advice);
  for (const Finding::Beside& beside : finding.baselines) {
    text += fmt::format("  beside it, {}:\n", beside.name) + LaneRow("", beside.lane);
  }
  if (finding.falls_beyond) text += Row("note", "more workers than the best number make it slower");
  text += Row("C++", CppLine(scenario, finding.recommended.setting));
  text += Row("Python", PythonLine(scenario, finding.recommended.setting));
  const int32_t saved = finding.grid_runs - finding.runs;
  text += Row("runs",
              fmt::format("{}{}{}", finding.runs, saved > 0 ? fmt::format(", {} fewer than the whole grid", saved) : "",
                          PredictionWords(finding)));
  for (const std::string& failure : finding.failures) text += Row("failed", failure);
  return text;
}

std::string FormatAlternatives(const std::vector<Alternative>& alternatives) {
  std::string text = "\nother choices, with that setting (they change what a batch holds)\n";
  for (const Alternative& one : alternatives) {
    std::string words = one.error;
    if (!one.lane.rates.empty()) {
      words = fmt::format("{}, {:.0f} MB", RateWords(one.lane.rate()), static_cast<double>(one.memory_bytes) / kMega);
      if (one.lane.against) words += fmt::format(", {:.2f} of as it is", one.lane.against->mean);
    }
    text += Row(one.name, words);
  }
  return text;
}

}  // namespace

std::string FormatSweep(const SweepResult& result, const SweepFacts& facts) {
  std::string text =
      fmt::format("{}: {} of {} pictures, {} CPUs\n", facts.data, facts.pictures, facts.pictures_in_all, facts.cpus);
  for (const ScenarioResult& one : result.scenarios) {
    text += fmt::format("\n{}\n", ScenarioWords(one.scenario));
    text += one.finding ? FormatFinding(*one.finding, one.scenario) : "";
    if (one.finding) continue;
    const std::string error = one.runs.empty() ? "no run was made" : one.runs.front().error;
    text += Row("nothing", error.empty() ? "no run was over" : error);
  }
  if (!result.alternatives.empty()) text += FormatAlternatives(result.alternatives);
  for (const StepLimit& limit : result.step_limits) {
    text += fmt::format("\na step of {:g} ms alone takes {} (batches that are there already)\n", limit.step_ms,
                        RateWords({limit.images_per_second, std::nullopt, 1}));
  }
  if (result.repeated > 0 || result.restarts > 0) {
    text += fmt::format("\n{} runs were made again because the machine's other work changed; {} searches began again\n",
                        result.repeated, result.restarts);
  }
  if (result.unsteady) text += "it went on changing: do not trust small differences\n";
  if (result.foreign_cpus > 0.1 * facts.cpus) {
    text += fmt::format("{:.1f} of the {} CPUs were busy with something else all the time: rates are lower for it\n",
                        result.foreign_cpus, facts.cpus);
  }
  return text;
}

}  // namespace stoker

#include "bench/validate/scores.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace stoker {
namespace {

constexpr double kSumTolerance = 0.005;  // of the wall time
constexpr double kGainTolerance = 0.03;  // of the rate

const char* Mark(bool passed) { return passed ? "pass" : "FAIL"; }

std::string Percent(int part, int whole) { return whole == 0 ? "-" : fmt::format("{:.0f} %", 100.0 * part / whole); }

}  // namespace

Outcome Judged(const Experiment& experiment, StallReport report, Stage measured) {
  Outcome outcome;
  outcome.right = IsRight(experiment, report, measured);
  outcome.sum_error = std::abs(std::accumulate(report.shares.begin(), report.shares.end(), 0.0) - 1);
  outcome.report = std::move(report);
  return outcome;
}

Outcome RunOutcome(const Experiment& experiment, const TrialConfig& config, const RunOnce& run, bool with_gain,
                   double faster) {
  const StallReport report = run(config).report;
  Stage measured = Stage::kOther;
  if (experiment.truth == Truth::kElasticity) {
    const std::array<double, kServedStages> gains = MeasuredGains(config, report, faster, run);
    measured = static_cast<Stage>(std::ranges::max_element(gains) - gains.begin());
  }
  Outcome outcome = Judged(experiment, report, measured);
  const auto leader = static_cast<size_t>(report.leader);
  if (with_gain && leader < kServedStages) {
    TrialConfig sped_up = config;
    sped_up.speed[leader] *= kGainSpeedUp;
    outcome.gain_error = report.gains[leader] - (report.seconds / run(sped_up).report.seconds - 1);
    outcome.gain_measured = true;
  }
  return outcome;
}

Scores::Row& Scores::RowOf(const Experiment& experiment) {
  const auto same = [&](const Row& row) {
    return row.experiment.name == experiment.name && ClassOf(row.experiment) == ClassOf(experiment) &&
           row.experiment.factor == experiment.factor;
  };
  const auto row = std::ranges::find_if(rows_, same);
  if (row != rows_.end()) return *row;
  rows_.push_back({.experiment = experiment, .kinds = {}});
  return rows_.back();
}

void Scores::Add(const Experiment& experiment, const Outcome& outcome) {
  Row& row = RowOf(experiment);
  const StallReport& report = outcome.report;
  ++row.runs;
  row.right += outcome.right ? 1 : 0;
  ++row.named[report.bound == Bound::kMixed ? kStages : static_cast<size_t>(report.leader)];
  ++row.kinds[fmt::format("{}{}", report.bound == Bound::kMixed ? "" : std::string(NamedBy(report)) + " ",
                          kBoundNames[static_cast<size_t>(report.bound)])];
  row.sum_error = std::max(row.sum_error, outcome.sum_error);
  if (!outcome.gain_measured) return;
  ++row.gains;
  row.gains_right += std::abs(outcome.gain_error) <= kGainTolerance ? 1 : 0;
  row.gain_error = std::max(row.gain_error, std::abs(outcome.gain_error));
}

void Scores::AddDisturbed(const Experiment& experiment) { ++RowOf(experiment).disturbed; }

bool Scores::Row::passed() const { return right >= experiment.bar * runs && (runs > 0 || disturbed == 0); }

bool Scores::SumsPassed() const {
  return std::ranges::all_of(rows_, [](const Row& row) { return row.sum_error <= kSumTolerance; });
}

// Where times differ much a tenth is no small change: other stages get their turn. Such rows are shown, and no bar.
bool Scores::GainsPassed() const {
  return std::ranges::all_of(
      rows_, [](const Row& row) { return row.experiment.truth == Truth::kElasticity || row.gains_right == row.gains; });
}

bool Scores::passed() const {
  return SumsPassed() && GainsPassed() && std::ranges::all_of(rows_, [](const Row& row) { return row.passed(); });
}

std::string Scores::text() const {
  std::string text;
  std::string_view shown;
  for (const Row& row : rows_) {
    if (ClassOf(row.experiment) != shown) {
      shown = ClassOf(row.experiment);
      text += fmt::format("\n{}\n  {:<28}", shown, "injected \\ named");
      for (const char* const stage : kStageNames) text += fmt::format("{:>9}", stage);
      text += fmt::format("{:>9} | {:>7} {:>6}        gain off by\n", kMixedName, "right", "bar");
    }
    const bool wide = row.experiment.truth == Truth::kElasticity;
    text += fmt::format(
        "  {:<28}", wide ? fmt::format("{} x{:.1f}", row.experiment.name, row.experiment.factor) : row.experiment.name);
    for (const int count : row.named) text += fmt::format("{:>9}", count == 0 ? "." : std::to_string(count));
    text += fmt::format(" | {:>7} {:>4.0f} %  {}", Percent(row.right, row.runs), 100 * row.experiment.bar,
                        row.runs == 0 ? "NOT JUDGED" : Mark(row.passed()));
    if (row.gains > 0) text += fmt::format("  {:>4.1f} points", 100 * row.gain_error);
    if (row.disturbed > 0) text += fmt::format("  ({} disturbed)", row.disturbed);
    if (!row.passed()) {
      for (const auto& [kind, count] : row.kinds) text += fmt::format("  [{} x {}]", count, kind);
    }
    text += '\n';
  }
  double sum_error = 0, gain_error = 0;
  int disturbed = 0;
  for (const Row& row : rows_) {
    disturbed += row.disturbed;
    sum_error = std::max(sum_error, row.sum_error);
    if (row.experiment.truth != Truth::kElasticity) gain_error = std::max(gain_error, row.gain_error);
  }
  text += fmt::format("\nshares sum to the wall time within {:.2f} % (bar {:.1f} %)  {}\n", 100 * sum_error,
                      100 * kSumTolerance, Mark(SumsPassed()));
  text += fmt::format(
      "predicted gain of a stage 10 % faster off by at most {:.1f} points (bar {:.0f}, wide times aside)  {}\n",
      100 * gain_error, 100 * kGainTolerance, Mark(GainsPassed()));
  if (disturbed > 0) {
    text += fmt::format(
        "{} runs were disturbed: the machine was busy with something else, and held them back more than "
        "was injected\n",
        disturbed);
  }
  return text;
}

nlohmann::json Scores::json() const {
  nlohmann::json rows = nlohmann::json::array();
  for (const Row& row : rows_) {
    nlohmann::json named;
    for (size_t i = 0; i < kStages; ++i) named[kStageNames[i]] = row.named[i];
    named[std::string(kMixedName)] = row.named[kStages];
    rows.push_back({{"class", ClassOf(row.experiment)},
                    {"injected", row.experiment.name},
                    {"factor", row.experiment.factor},
                    {"runs", row.runs},
                    {"right", row.right},
                    {"disturbed", row.disturbed},
                    {"bar", row.experiment.bar},
                    {"passed", row.passed()},
                    {"named", named},
                    {"kinds", row.kinds},
                    {"worst_sum_error", row.sum_error},
                    {"gains", row.gains},
                    {"gains_within_3_points", row.gains_right},
                    {"worst_gain_error", row.gain_error}});
  }
  return {{"schema_version", 1}, {"passed", passed()}, {"experiments", rows}};
}

}  // namespace stoker

#include "bench/sweep/sweep.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <system_error>
#include <utility>

namespace stoker {
namespace {

// Of the usable CPUs, what others may take more or less than before, until a run is spoiled.
constexpr double kSpoiled = 0.1;
constexpr int kRepeats = 2;
constexpr int kRestarts = 2;
constexpr int32_t kAlternativeRounds = 3;

double Median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::ranges::sort(values);
  return values[values.size() / 2];
}

}  // namespace

Sweep::Sweep(SweepPlan plan, RunOnce run, RunLog& log, SweepListener listener, std::function<bool()> stop)
    : plan_(std::move(plan)), run_(std::move(run)), log_(log), listener_(std::move(listener)), stop_(std::move(stop)) {}

SweepResult Sweep::Run() {
  for (size_t i = 0; i < plan_.scenarios.size() && !stop_(); ++i) {
    result_.scenarios.push_back(SearchOne(static_cast<int>(i), plan_.scenarios[i]));
  }
  if (plan_.alternatives && !stop_() && result_.scenarios.front().finding) {
    CompareAlternatives(result_.scenarios.front());
  }
  result_.interrupted = stop_();
  if (!result_.interrupted) Keep([this] { log_.End(); });
  result_.foreign_cpus = Median(foreign_);
  return result_;
}

ScenarioResult Sweep::SearchOne(int part, const Scenario& scenario) {
  while (true) {
    ScenarioResult result = {.scenario = scenario};
    Search search(plan_.space);
    again_ = false;
    while (const std::optional<Setting> next = search.Next()) {
      Show(scenario, search.phase_words(), *next, search.runs_left());
      std::optional<Measurement> run = RunSteadily(part, scenario, *next, search.round());
      if (!run) break;
      search.Add(*run);
      result.runs.push_back(std::move(*run));
    }
    if (again_) continue;
    result.finding = search.Found();
    return result;
  }
}

bool Sweep::IsSpoiled(const Measurement& measurement) const {
  constexpr size_t kTellsFrom = 2;
  if (!measurement.error.empty() || foreign_.size() < kTellsFrom) return false;
  return std::abs(measurement.foreign_cpus - Median(foreign_)) > kSpoiled * plan_.space.cpus;
}

std::optional<Measurement> Sweep::RunSteadily(int part, const Scenario& scenario, const Setting& setting,
                                              int32_t round) {
  if (stop_()) return std::nullopt;
  if (std::optional<Measurement> made = log_.Take(part)) {
    if (made->setting == setting && made->round == round) {
      foreign_.push_back(made->foreign_cpus);
      ++result_.runs;
      return made;
    }
  }
  Measurement measurement;
  for (int attempt = 0; attempt <= kRepeats; ++attempt) {
    measurement = run_(scenario, setting);
    measurement.round = round;
    if (stop_()) return std::nullopt;
    ++result_.runs;
    if (!IsSpoiled(measurement)) break;
    ++result_.repeated;
    listener_.remark(
        fmt::format("the machine's other work changed ({:.1f} CPUs busy with it, {:.1f} before): the run "
                    "is made again",
                    measurement.foreign_cpus, Median(foreign_)));
  }
  if (IsSpoiled(measurement)) {
    foreign_.clear();  // from now on this is what is usual
    if (result_.restarts < kRestarts) {
      ++result_.restarts;
      again_ = true;
      Keep([&] { log_.Restart(part); });
      listener_.remark("it stays that way: what was run before cannot be compared, and is made again");
      return std::nullopt;
    }
    result_.unsteady = true;
  }
  if (measurement.error.empty()) foreign_.push_back(measurement.foreign_cpus);
  Keep([&] { log_.Add(part, measurement); });
  return measurement;
}

void Sweep::Keep(const std::function<void()>& write) {
  if (!kept_) return;
  try {
    write();
  } catch (const std::system_error& error) {
    kept_ = false;
    listener_.remark(fmt::format("{}: the sweep goes on, but cannot be resumed", error.what()));
  }
}

void Sweep::CompareAlternatives(const ScenarioResult& first) {
  again_ = false;
  const Setting setting = first.finding->recommended.setting;
  std::vector<Scenario> scenarios = Alternatives(first.scenario);
  scenarios.insert(scenarios.begin(), first.scenario);
  std::vector<Alternative> found;
  found.reserve(scenarios.size());
  for (const Scenario& scenario : scenarios) {
    found.push_back({.name = DifferenceWords(first.scenario, scenario), .lane = {.setting = setting}});
  }
  const int part = static_cast<int>(plan_.scenarios.size());
  const auto count = static_cast<int32_t>(scenarios.size());
  for (int32_t round = 0; round < kAlternativeRounds; ++round) {
    for (int32_t i = 0; i < count; ++i) {
      const auto index = static_cast<size_t>(round % 2 == 0 ? i : count - 1 - i);
      Alternative& one = found[index];
      if (!one.error.empty()) continue;
      Show(scenarios[index], "other choices", setting, (kAlternativeRounds - round) * count - i);
      const std::optional<Measurement> run = RunSteadily(part, scenarios[index], setting, round);
      if (!run && again_) return CompareAlternatives(first);
      if (!run) return;
      one.error = run->error;
      if (!run->error.empty()) continue;
      one.lane.rates.push_back(run->images_per_second);
      one.lane.rounds.push_back(round);
      one.memory_bytes = std::max(one.memory_bytes, run->memory_bytes);
    }
  }
  for (Alternative& one : found) {
    std::vector<double> ratios;
    for (size_t i = 0; i < std::min(one.lane.rates.size(), found.front().lane.rates.size()); ++i) {
      ratios.push_back(one.lane.rates[i] / found.front().lane.rates[i]);
    }
    if (!ratios.empty()) one.lane.against = MeanOf(ratios);
  }
  result_.alternatives = std::move(found);
}

void Sweep::Show(const Scenario& scenario, const char* phase, const Setting& setting, int32_t left) {
  // Scenarios that have not begun are taken to need as much as this one.
  const auto done = static_cast<double>(result_.runs);
  const auto scenarios = static_cast<double>(plan_.scenarios.size());
  const auto begun = static_cast<double>(std::min(result_.scenarios.size() + 1, plan_.scenarios.size()));
  const double all = (done + left) * scenarios / begun;
  listener_.progress(done / std::max(all, 1.0),
                     fmt::format("{}: {}, {}", ScenarioWords(scenario), phase, SettingWords(setting)));
}

}  // namespace stoker

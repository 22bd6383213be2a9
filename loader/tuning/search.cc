#include "loader/tuning/search.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace stoker {
namespace {

void AddOnce(std::vector<Setting>& settings, const Setting& setting) {
  if (std::ranges::find(settings, setting) == settings.end()) settings.push_back(setting);
}

Setting Workers(Setting setting, int32_t workers) {
  setting.num_workers = workers;
  return setting;
}

Lane WithInterval(Lane lane, const Lane& best) {
  if (lane.against || lane.rates.empty() || best.rates.empty()) return lane;
  lane.against = Interval{lane.rate().mean / best.rate().mean, std::nullopt, lane.rate().runs};
  return lane;
}

}  // namespace

SearchSpace DefaultSpace(int32_t cpus) {
  SearchSpace space;
  space.cpus = std::max(cpus, 1);
  space.most_workers = std::max(2 * space.cpus, 4);
  return space;
}

std::vector<int32_t> GridWorkers(int32_t most) {
  std::vector<int32_t> workers;
  for (int32_t power = 1; power <= most; power *= 2) {
    workers.push_back(power);
    if (power > 1 && power + power / 2 <= most) workers.push_back(power + power / 2);
  }
  if (workers.back() != most) workers.push_back(most);
  return workers;
}

std::vector<Baseline> Baselines(int32_t cpus, const Setting& start) {
  Setting usual = start;
  usual.prefetch_factor = Setting().prefetch_factor;
  const auto of = [&](double share) { return std::max(static_cast<int32_t>(std::lround(share * cpus)), int32_t{1}); };
  std::vector<Baseline> baselines;
  baselines.push_back({"0.5 workers a CPU", Workers(usual, of(0.5))});
  if (of(0.8) != of(0.5)) baselines.push_back({"0.8 workers a CPU", Workers(usual, of(0.8))});
  if (of(0.8) == of(0.5)) baselines.back().name = "0.5 to 0.8 workers a CPU";
  baselines.push_back({"PyTorch's usual start, 4 workers and prefetch 2", Workers(usual, 4)});
  baselines.push_back({"the default, a worker a CPU", Workers(usual, std::max(cpus, int32_t{1}))});
  return baselines;
}

Search::Search(SearchSpace space) : space_(std::move(space)) { Enter(space_.full ? Phase::kGrid : Phase::kProbes); }
Search::~Search() = default;

std::optional<Setting> Search::Next() const { return race_ ? race_->Next() : std::nullopt; }
int32_t Search::round() const { return race_ ? race_->round() : 0; }

const char* Search::phase_words() const {
  switch (phase_) {
    case Phase::kProbes:
      return "probes";
    case Phase::kWorkers:
      return "number of workers";
    case Phase::kPrefetch:
      return "prefetch";
    case Phase::kReading:
      return "queue depth and reader";
    case Phase::kFinal:
      return "against the usual settings";
    case Phase::kGrid:
      return "grid";
    case Phase::kOver:
      break;
  }
  return "over";
}

void Search::Enter(Phase phase) {
  const int32_t first_round = runs_.empty() ? 0 : runs_.back().round + 1;
  phase_ = phase;
  race_.reset();
  if (phase == Phase::kOver) return;
  constexpr int32_t kProbeRounds = 2;
  const bool probes = phase == Phase::kProbes;
  race_.emplace(Candidates(phase),
                Race::Limits{probes ? kProbeRounds : space_.least_rounds, probes ? kProbeRounds : space_.most_rounds},
                first_round);
  if (!race_->Next()) Advance();  // nothing to run
}

std::vector<Setting> Search::Candidates(Phase phase) const {
  std::vector<Setting> settings;
  const Measurement* const typical = TypicalOf(so_far_);
  switch (phase) {
    case Phase::kProbes:
      settings = {Workers(space_.start, 1), Workers(space_.start, std::max(space_.cpus, int32_t{2}))};
      break;
    case Phase::kWorkers:
      for (const int32_t workers : space_.workers) AddOnce(settings, Workers(so_far_, workers));
      if (!settings.empty()) break;
      settings = {Workers(so_far_, 1), so_far_};
      if (model_) {
        for (const int32_t workers : WorkersAround(model_->Knee(space_.most_workers), space_.most_workers)) {
          AddOnce(settings, Workers(so_far_, workers));
        }
      }
      std::ranges::sort(settings, [](const Setting& a, const Setting& b) { return CompareCost(a, b) < 0; });
      break;
    case Phase::kPrefetch:
      for (const int32_t batches : space_.prefetch_factors) {
        const bool near = batches == 1 || batches == 2 * so_far_.prefetch_factor;
        if (!near && (typical == nullptr || !PrefetchMatters(*typical))) continue;
        AddOnce(settings, {so_far_.num_workers, batches, so_far_.queue_depth, so_far_.reader});
      }
      if (!settings.empty()) AddOnce(settings, so_far_);
      break;
    case Phase::kReading: {
      if (typical == nullptr || !ReadingMatters(*typical)) break;
      Setting setting = so_far_;
      std::vector<int32_t> depths = space_.queue_depths;
      depths.push_back(DepthFor(*typical));
      for (const int32_t depth : depths) {
        setting.queue_depth = depth;
        AddOnce(settings, setting);
      }
      setting.queue_depth = so_far_.queue_depth;
      for (const ReaderKind reader : space_.readers) {
        setting.reader = reader;
        AddOnce(settings, setting);
      }
      AddOnce(settings, so_far_);
      break;
    }
    case Phase::kFinal:
      return FinalSettings();
    case Phase::kGrid:
      return GridSettings();
    case Phase::kOver:
      break;
  }
  return settings;
}

std::vector<Setting> Search::FinalSettings() const {
  std::vector<Setting> settings = {so_far_};
  const Measurement* best = nullptr;
  for (const Measurement& run : runs_) {
    if (!run.error.empty()) continue;
    const Measurement* const typical = TypicalOf(run.setting);
    if (best == nullptr || typical->images_per_second > best->images_per_second) best = typical;
  }
  if (best == nullptr) return {};
  AddOnce(settings, best->setting);
  for (const Baseline& baseline : Baselines(space_.cpus, space_.start)) AddOnce(settings, baseline.setting);
  return settings;
}

std::vector<Setting> Search::GridSettings() const {
  std::vector<Setting> settings;
  for (const int32_t workers : space_.workers.empty() ? GridWorkers(space_.most_workers) : space_.workers) {
    for (const int32_t prefetch : space_.prefetch_factors) {
      for (const int32_t depth : space_.queue_depths) {
        for (const ReaderKind reader : space_.readers) settings.push_back({workers, prefetch, depth, reader});
      }
    }
  }
  for (const Baseline& baseline : Baselines(space_.cpus, space_.start)) AddOnce(settings, baseline.setting);
  return settings;
}

void Search::Add(const Measurement& measurement) {
  runs_.push_back(measurement);
  race_->Add(measurement);
  if (!race_->Next()) Advance();
}

void Search::Advance() {
  const Lane* const knee = race_->knee();
  if (knee != nullptr) so_far_ = knee->setting;
  if (const Lane* const best = race_->best(); best != nullptr && phase_ != Phase::kProbes) {
    for (const Lane& lane : race_->lanes()) {
      if (lane.setting.num_workers <= best->setting.num_workers || !lane.against || !lane.against->margin) continue;
      falls_beyond_ = falls_beyond_ || lane.against->mean + *lane.against->margin < 1 - kAsGood;
    }
  }
  switch (phase_) {
    case Phase::kProbes:
      so_far_ = Workers(space_.start, std::max(space_.cpus, int32_t{2}));
      if (TypicalOf(so_far_) == nullptr && knee != nullptr) so_far_ = knee->setting;
      return Enter(knee == nullptr ? Phase::kOver : Phase::kReading);
    case Phase::kReading:
      MakeModel();
      return Enter(Phase::kWorkers);
    case Phase::kWorkers:
      return Enter(Phase::kPrefetch);
    case Phase::kPrefetch:
      return Enter(Phase::kFinal);
    case Phase::kFinal:
    case Phase::kGrid:
      settled_ = std::move(race_);
      return Enter(Phase::kOver);
    case Phase::kOver:
      return;
  }
}

void Search::MakeModel() {
  const Measurement* const few = TypicalOf(Workers(space_.start, 1));
  const Measurement* const many = TypicalOf(so_far_);
  if (few == nullptr || many == nullptr) return;
  model_.emplace(*few, *many, space_.cpus);
  modelled_ = so_far_;
}

int32_t Search::runs_left() const {
  // What the phases that are still to come take, where each needs few rounds.
  constexpr int32_t kWorkersLanes = 5, kPrefetchLanes = 3, kFinalLanes = 4;
  int32_t lanes = 0;
  if (phase_ < Phase::kWorkers) lanes += kWorkersLanes;
  if (phase_ < Phase::kPrefetch) lanes += kPrefetchLanes;
  if (phase_ < Phase::kFinal) lanes += kFinalLanes;
  return (race_ ? race_->runs_left() : 0) + space_.least_rounds * lanes;
}

const Measurement* Search::TypicalOf(const Setting& setting) const {
  std::vector<const Measurement*> runs;
  for (const Measurement& run : runs_) {
    if (run.setting == setting && run.error.empty()) runs.push_back(&run);
  }
  if (runs.empty()) return nullptr;
  std::ranges::sort(runs, {}, &Measurement::images_per_second);
  return runs[runs.size() / 2];
}

Lane Search::LaneOf(const Setting& setting) const {
  Lane lane = {.setting = setting};
  for (const Measurement& run : runs_) {
    if (run.setting != setting) continue;
    lane.failed = lane.failed || !run.error.empty();
    if (!run.error.empty()) continue;
    lane.rates.push_back(run.images_per_second);
    lane.rounds.push_back(run.round);
  }
  return lane;
}

std::optional<Finding> Search::Found() const {
  Finding finding;
  for (const Measurement& run : runs_) {
    if (!run.error.empty()) finding.failures.push_back(fmt::format("{}: {}", SettingWords(run.setting), run.error));
    const auto same = [&](const Lane& lane) { return lane.setting == run.setting; };
    if (std::ranges::none_of(finding.lanes, same)) finding.lanes.push_back(LaneOf(run.setting));
  }
  // The last race's own rounds where it was run to its end: there all that matter stand side by side.
  const bool settled = settled_.has_value() && settled_->best() != nullptr;
  const Lane *best = nullptr, *knee = nullptr;
  if (settled) {
    best = settled_->best();
    knee = settled_->knee();
  } else {
    for (const Lane& lane : finding.lanes) {
      if (lane.rates.empty() || lane.failed) continue;
      if (best == nullptr || lane.rate().mean > best->rate().mean) best = &lane;
    }
    for (const Lane& lane : finding.lanes) {
      if (best == nullptr || lane.rates.empty() || lane.rate().mean < (1 - kAsGood) * best->rate().mean) continue;
      if (knee == nullptr || CompareCost(lane.setting, knee->setting) < 0) knee = &lane;
    }
  }
  if (best == nullptr || knee == nullptr) return std::nullopt;
  finding.best = *best;
  finding.recommended = WithInterval(*knee, *best);
  finding.typical = *TypicalOf(knee->setting);
  for (const Baseline& baseline : Baselines(space_.cpus, space_.start)) {
    Lane lane = LaneOf(baseline.setting);
    if (settled) {
      const auto same = [&](const Lane& other) { return other.setting == baseline.setting; };
      const auto found = std::ranges::find_if(settled_->lanes(), same);
      if (found != settled_->lanes().end()) lane = *found;
    }
    if (!lane.rates.empty()) finding.baselines.push_back({baseline.name, WithInterval(lane, *best)});
  }
  finding.predictions = Predictions();
  finding.runs = static_cast<int32_t>(runs_.size());
  finding.grid_runs = static_cast<int32_t>(GridSettings().size()) * space_.least_rounds;
  finding.falls_beyond = falls_beyond_;
  return finding;
}

std::vector<Prediction> Search::Predictions() const {
  std::vector<Prediction> predictions;
  if (!model_) return predictions;
  for (int32_t workers = 1; workers <= space_.most_workers; ++workers) {
    const Lane lane = LaneOf(Workers(modelled_, workers));
    // Those that told the model are no predictions.
    if (lane.rates.empty() || workers == 1 || workers == modelled_.num_workers) continue;
    predictions.push_back({workers, model_->Rate(workers), lane.rate().mean});
  }
  return predictions;
}

}  // namespace stoker

// The search for the smallest setting that is as good as the best: what to run next, and what that came to.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "loader/tuning/model.h"
#include "loader/tuning/race.h"
#include "loader/tuning/setting.h"

namespace stoker {

// What may be chosen from. Lists are ascending, without repeats, and not empty but where that means something.
struct SearchSpace {
  int32_t cpus = 1;                   // that may be used
  int32_t most_workers = 2;           // 1 or more
  Setting start = {};                 // what knobs are that have not been looked at yet
  std::vector<int32_t> workers = {};  // the numbers to run; empty: around what the model predicts, and the grid's
  std::vector<int32_t> prefetch_factors = {1, 2, 4, 8};
  std::vector<int32_t> queue_depths = {8, 32, 128};
  std::vector<ReaderKind> readers = {ReaderKind::kAuto, ReaderKind::kUring, ReaderKind::kPread};
  // The grid instead of the model: every combination, the workers of GridWorkers().
  bool full = false;
  int32_t least_rounds = 3, most_rounds = 7;
};

// The space for a machine with `cpus` CPUs.
SearchSpace DefaultSpace(int32_t cpus);
// 1, 2, 3, 4, 6, 8, 12, ... to most_workers.
std::vector<int32_t> GridWorkers(int32_t most);

// What people start with.
struct Baseline {
  std::string name;  // "PyTorch's usual 4 workers, prefetch 2"
  Setting setting;
};
// A rule of 0.5 to 0.8 workers a CPU, at both ends; PyTorch's usual start; a worker a CPU. With the reading of `start`.
std::vector<Baseline> Baselines(int32_t cpus, const Setting& start);

// A setting that was predicted and then run.
struct Prediction {
  int32_t num_workers = 0;
  double predicted = 0, measured = 0;  // images a second
};

// What a search found.
struct Finding {
  Lane best;         // the highest rate
  Lane recommended;  // the cheapest within kAsGood of it
  struct Beside {
    std::string name;
    Lane lane;
  };
  std::vector<Beside> baselines;  // run in the same rounds
  std::vector<Lane> lanes;        // all that was run; rates of one lane may stem from several races
  std::vector<Prediction> predictions;
  Measurement typical;                // the median run of `recommended`
  int32_t runs = 0;                   // that were made
  int32_t grid_runs = 0;              // that the whole grid would have taken, at the fewest
  bool falls_beyond = false;          // more workers than the best number are slower: by more than kAsGood, for sure
  std::vector<std::string> failures;  // settings that could not be run, and why
};

// Asks for runs and is told what came of them; the same answers always lead to the same questions, so that a search
// which was broken off can be told its old answers and goes on.
//  1. two probes: 1 worker, and as many as CPUs;
//  2. reading (queue depth and reader) with as many workers as CPUs, where it can matter; raced;
//  3. workers: around the knee that the model predicts, and the probes' numbers; raced;
//  4. prefetch, at the knee; raced;
//  5. what came of it, against the baselines and the best of all; raced.
// With SearchSpace::full instead: the whole grid, raced.
// Threads: one.
class Search {
 public:
  explicit Search(SearchSpace space);
  ~Search();

  // What to run next; nothing: it is over.
  std::optional<Setting> Next() const;
  // Its round's number, which the measurement carries.
  int32_t round() const;
  // What it is about, for whoever waits: "number of workers".
  const char* phase_words() const;
  void Add(const Measurement& measurement);
  // About how many runs may still come; falls short of none by much, exceeds them where little has to be repeated.
  int32_t runs_left() const;

  // Also before the end: of what was run so far. Nothing where no run has succeeded.
  std::optional<Finding> Found() const;

 private:
  enum class Phase : uint8_t { kProbes, kReading, kWorkers, kPrefetch, kFinal, kGrid, kOver };
  void Enter(Phase phase);
  void Advance();
  void MakeModel();
  std::vector<Setting> Candidates(Phase phase) const;
  std::vector<Setting> GridSettings() const;
  std::vector<Setting> FinalSettings() const;
  // The median run of a setting, by rate; nothing where none succeeded.
  const Measurement* TypicalOf(const Setting& setting) const;
  Lane LaneOf(const Setting& setting) const;
  std::vector<Prediction> Predictions() const;

  const SearchSpace space_;
  Phase phase_ = Phase::kOver;
  bool falls_beyond_ = false;
  std::optional<Race> race_;
  std::optional<Race> settled_;  // the last one, once it is over
  Setting so_far_;               // the knee of the phases that are over
  std::optional<RateModel> model_;
  Setting modelled_;  // the one of the second run that the model was made of
  std::vector<Measurement> runs_;
};

}  // namespace stoker

// How often verdicts were right: the confusion matrix, and the bars that it has to pass.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "bench/validate/experiments.h"

namespace stoker {

// One verdict beside the truth.
struct Outcome {
  StallReport report;
  bool right = false;
  double sum_error = 0;   // of the shares, from 1
  double gain_error = 0;  // predicted for the leading stage at kGainSpeedUp less what a rerun measured; 0: not measured
  bool gain_measured = false;
};

// Runs a trial, and the reruns that tell the truth about it, with each stage faster by `faster` where elasticity does;
// `with_gain`: and the one that measures the gain.
Outcome RunOutcome(const Experiment& experiment, const TrialConfig& config, const RunOnce& run, bool with_gain,
                   double faster = 0.02);

// Of a run that was made elsewhere.
Outcome Judged(const Experiment& experiment, StallReport report, Stage measured = Stage::kOther);

class Scores {
 public:
  void Add(const Experiment& experiment, const Outcome& outcome);
  // A run that the machine disturbed says nothing.
  void AddDisturbed(const Experiment& experiment);

  // Every bar is passed; one whose runs were all disturbed is not.
  bool passed() const;
  // Rows injected, columns named, a table for each class; then the bars.
  std::string text() const;
  nlohmann::json json() const;

 private:
  static constexpr size_t kColumns = kStages + 1;  // the stages, and mixed
  struct Row {
    Experiment experiment;
    int runs = 0, right = 0, disturbed = 0;
    std::array<int, kColumns> named = {};
    std::map<std::string, int> kinds;  // "io capacity" -> how often
    double sum_error = 0;              // the worst
    double gain_error = 0;             // the worst
    int gains = 0, gains_right = 0;

    bool passed() const;
  };
  Row& RowOf(const Experiment& experiment);
  bool SumsPassed() const;
  bool GainsPassed() const;

  std::vector<Row> rows_;
};

}  // namespace stoker

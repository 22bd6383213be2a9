// Searches for each scenario of a job, run after run, and what came out of them.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "bench/sweep/run_log.h"
#include "bench/sweep/scenario.h"
#include "loader/tuning/search.h"

namespace stoker {

struct ScenarioResult {
  Scenario scenario;
  std::optional<Finding> finding = {};  // nothing where no run has succeeded
  std::vector<Measurement> runs = {};
};

// Another way to do the job, at the recommended setting.
struct Alternative {
  std::string name;  // "decode fast"
  Lane lane;         // `against`: the rate as it is
  int64_t memory_bytes = 0;
  std::string error = {};  // of a run that failed
};

// The rate of a training step that never waits.
struct StepLimit {
  double step_ms = 0;
  double images_per_second = 0;
};

struct SweepResult {
  std::vector<ScenarioResult> scenarios;
  std::vector<Alternative> alternatives;  // of the first scenario; the first one is itself
  std::vector<StepLimit> step_limits;     // where they were asked for
  int32_t runs = 0, repeated = 0, restarts = 0;
  double foreign_cpus = 0;  // the median of all runs
  bool unsteady = false;    // the machine's other work changed too often to begin again each time
  bool interrupted = false;
};

struct SweepPlan {
  std::vector<Scenario> scenarios;
  SearchSpace space;
  bool alternatives = true;
};

// Makes one run of a scenario.
using RunOnce = std::function<Measurement(const Scenario& scenario, const Setting& setting)>;
// Told before each run: how far the sweep is, 0 to 1, and what is run. And in words what is worth a line.
struct SweepListener {
  std::function<void(double done, const std::string& words)> progress;
  std::function<void(const std::string& line)> remark;
};

// A run during which the CPUs were busy with something else, more or less than during the runs before, is made again;
// where that has become the rule, its scenario begins again. `stop` is asked between runs. Where the log cannot be
// written any more, a remark says so and the sweep goes on.
class Sweep {
 public:
  Sweep(SweepPlan plan, RunOnce run, RunLog& log, SweepListener listener, std::function<bool()> stop);

  SweepResult Run();

 private:
  // The run, repeated as often as it takes; nothing where the part has to begin again or the sweep was stopped.
  std::optional<Measurement> RunSteadily(int part, const Scenario& scenario, const Setting& setting, int32_t round);
  bool IsSpoiled(const Measurement& measurement) const;
  ScenarioResult SearchOne(int part, const Scenario& scenario);
  void CompareAlternatives(const ScenarioResult& first);
  void Keep(const std::function<void()>& write);
  void Show(const Scenario& scenario, const char* phase, const Setting& setting, int32_t left);

  const SweepPlan plan_;
  const RunOnce run_;
  RunLog& log_;
  const SweepListener listener_;
  const std::function<bool()> stop_;
  SweepResult result_;
  std::vector<double> foreign_;  // of the runs that count, since the last restart
  bool kept_ = true;             // all runs are in the log
  bool again_ = false;           // the part has to begin again
};

}  // namespace stoker

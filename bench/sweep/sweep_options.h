// The command line of `stoker bench`.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "bench/run_options.h"
#include "bench/sweep/sweep.h"

namespace stoker {

struct SweepOptions {
  RunOptions job;
  SweepPlan plan;
  double seconds = 2;
  double warm_up_seconds = 0.5;
  uint64_t pictures = 4096;
  int32_t replay = 0;  // batches; 0: not asked for
  std::string out = "stoker-bench";
  bool resume = false;
  bool peers = false;
  std::string python = "python3";
  std::vector<std::string> peers_arguments;
};

class SweepCommandLine {
 public:
  // Adds the options to `command`, which must outlive this object's use.
  void AddTo(CLI::App& command);
  // What was given, checked as a whole; `rest`: what is for the program of --peers. Throws std::invalid_argument naming
  // the option, its value and what is allowed.
  SweepOptions Finish(std::vector<std::string> rest = {}) const;

 private:
  void AddKnobs(CLI::App& command);
  void AddScenarios(CLI::App& command);
  void AddRuns(CLI::App& command);
  std::vector<Scenario> MakeScenarios(const RunOptions& job) const;
  SearchSpace MakeSpace() const;

  RunCommandLine job_;
  SweepOptions options_;
  std::vector<int32_t> workers_, prefetch_factors_, queue_depths_, batch_sizes_;
  std::vector<ReaderKind> readers_;
  std::vector<ElementType> elements_;
  std::vector<DecodeMode> decodes_;
  std::vector<double> steps_ms_;
  std::string step_from_;
  std::string cache_ = "both";
  bool full_ = false;
  int32_t rounds_ = 3, most_rounds_ = 7;
};

// The median step of the caller's own, of the last reports in a file that LoaderOptions::report_file has written, ms.
// Throws std::invalid_argument where it holds none.
double StepOfReports(const std::string& file);

}  // namespace stoker

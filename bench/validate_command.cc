#include "bench/validate_command.h"

#include <fmt/format.h>
#include <sys/prctl.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <system_error>

#include "bench/interrupt_scope.h"
#include "bench/run_command.h"
#include "bench/status_line.h"
#include "bench/validate/cache_trial.h"
#include "bench/validate/scores.h"
#include "loader/options.h"

namespace stoker {
namespace {

// Sleeps end this late at most, where the machine is idle: the default of 50 us is felt in a step of milliseconds.
constexpr unsigned long kTimerSlackNs = 1000;
constexpr double kShortestPeriodNs = 10e6;
// What the loader does of its own accord may take this share of a period.
constexpr double kUnloadedShare = 0.02;
constexpr int64_t kFewestBatches = 40;
// Of the reruns that measure what helps most: what less would change is lost in what no two runs have in common.
constexpr double kFaster = 0.1;
// How often a run is repeated that the machine has disturbed.
constexpr int kTries = 3;

// How late a run's own times may be, before that is as much as what was injected.
double Tolerance(const Experiment& experiment) {
  constexpr double kLeast = 0.02, kMost = 0.2;
  return std::clamp((experiment.factor - 1) / 3, kLeast, kMost);
}

// About how many runs' time one run of it takes.
double WorkOf(const Experiment& experiment) {
  const double reruns = experiment.truth == Truth::kElasticity ? kServedStages : 0;
  return (2 + reruns) * (experiment.spread == Spread::kEven ? 1 : 2);
}

// How far all experiments are.
class Display {
 public:
  explicit Display(double work) : work_(work) {}
  void Show(const std::string& name, int run, int runs) {
    line_.Show(done_ / work_, fmt::format("{}, run {} of {}", name, run + 1, runs));
  }
  void Done(double work) { done_ += work; }
  void End() const { line_.End(); }

 private:
  StatusLine line_;
  const double work_;
  double done_ = 0;
};

// A period that is long against what this machine needs for a batch in which nothing is slow.
TrialScale ScaleFor(const ValidateOptions& options) {
  TrialScale scale;
  scale.workers = {std::max(1, UsableCpus() - 1)};  // decoding burns a CPU, and the caller wants one
  TrialConfig unloaded;
  unloaded.workers = scale.workers.front();
  unloaded.copy_ns = 1000;
  unloaded.batch_size = scale.batch_size;
  unloaded.batches = 400;
  const StallReport report = RunTrial(unloaded, RealClock()).report;
  const double batch_ns = report.seconds * 1e9 / static_cast<double>(report.batches);
  scale.period_ns = std::max(kShortestPeriodNs, batch_ns / kUnloadedShare);
  scale.batches = std::max(kFewestBatches, static_cast<int64_t>(options.seconds * 1e9 / scale.period_ns));
  fmt::print(stderr, "{} workers; a batch takes {:.2f} ms where nothing is slow; stages are given {:.0f} ms a batch\n",
             scale.workers.front(), batch_ns / 1e6, scale.period_ns / 1e6);
  return scale;
}

std::vector<Experiment> Chosen(const ValidateOptions& options) {
  std::vector<Experiment> chosen = AllExperiments();
  chosen.push_back(CacheTrial::WarmExperiment());
  chosen.push_back(CacheTrial::ColdExperiment());
  std::erase_if(chosen, [&](const Experiment& one) { return one.name.find(options.only) == std::string::npos; });
  if (!chosen.empty()) return chosen;
  throw std::invalid_argument(fmt::format("--only {}: no experiment has that in its name", options.only));
}

class Validation {
 public:
  Validation(const ValidateOptions& options, const TrialScale& scale)
      : options_(options), scale_(scale), clock_(RealClock()) {}

  void Run(const Experiment& experiment, Display& display) {
    for (int run = 0; run < options_.runs && interrupted == 0; ++run) {
      display.Show(experiment.name, run, options_.runs);
      if (experiment.injection == Injection::kFiles) {
        RunFiles(experiment);
      } else {
        RunOne(experiment, options_.seed + static_cast<uint64_t>(run));
      }
      display.Done(WorkOf(experiment));
    }
  }
  const Scores& scores() const { return scores_; }

 private:
  void RunOne(const Experiment& experiment, uint64_t seed) {
    const TrialConfig config = MakeTrial(experiment, seed, scale_);
    for (int i = 0; i < kTries && interrupted == 0; ++i) {
      double late = 0;
      const auto once = [&](const TrialConfig& trial) {
        TrialResult result = RunTrial(trial, clock_);
        late = std::max(late, result.late);
        return result;
      };
      // How much of a CPU neighbours leave is another thing in every run.
      const bool with_gain = experiment.injection != Injection::kBusyNeighbour;
      const Outcome outcome = RunOutcome(experiment, config, once, with_gain, kFaster);
      if (late <= Tolerance(experiment)) return scores_.Add(experiment, outcome);
    }
    scores_.AddDisturbed(experiment);
  }

  void RunFiles(const Experiment& experiment) {
    if (files_ == nullptr) {
      files_ = std::make_unique<CacheTrial>(options_.folder.empty() ? std::filesystem::temp_directory_path()
                                                                    : std::filesystem::path(options_.folder));
    }
    const bool warm = experiment.name == CacheTrial::WarmExperiment().name;
    const std::optional<StallReport> report = warm ? files_->Warm() : files_->Cold();
    if (report) return scores_.Add(experiment, Judged(experiment, *report));
    if (!told_)
      fmt::print(stderr, "\ncold cache: left out, the file system keeps all files in memory (see --folder)\n");
    told_ = true;
  }

  const ValidateOptions options_;
  const TrialScale scale_;
  const TrialClock clock_;
  Scores scores_;
  std::unique_ptr<CacheTrial> files_;
  bool told_ = false;
};

// Of the matrix: opened before anything is run, so that nothing is run in vain.
std::ofstream OpenJson(const std::string& file) {
  if (file.empty() || file == "-") return {};
  std::ofstream out(file);
  if (!out) throw std::system_error(errno, std::generic_category(), "cannot write the matrix to " + file);
  return out;
}

void WriteJson(const std::string& file, std::ofstream& out, const Scores& scores) {
  const std::string text = scores.json().dump(2) + "\n";
  if (file == "-") {
    std::cout << text;
    return;
  }
  out << text;
  out.flush();
  if (!out) throw std::system_error(errno, std::generic_category(), "cannot write the matrix to " + file);
}

}  // namespace

void AddValidateOptions(CLI::App& command, ValidateOptions& options) {
  command.add_option("--runs", options.runs, "Runs of each experiment, with other loads and dice, 1 to 1000")
      ->option_text("N [3]")
      ->check(CLI::Range(1, 1000).description(""));
  command.add_option("--seconds", options.seconds, "About how long a run takes, 0.1 to 3600")
      ->option_text("S [1]")
      ->check(CLI::Range(0.1, 3600.0).description(""));
  command.add_option("--only", options.only, "Only experiments with this in their name")->option_text("NAME");
  command.add_option("--seed", options.seed, "Another seed draws other loads")->option_text("N [1]");
  command
      .add_option("--folder", options.folder, "Where 130 MB of files are made, to be read cold and warm, and removed")
      ->option_text("DIR");
  command.add_option("--json", options.json, "Write the matrix there too; - for stdout, instead of the text")
      ->option_text("FILE");
}

int ValidateCommand(const ValidateOptions& options) {
  const std::vector<Experiment> experiments = Chosen(options);
  std::ofstream json = OpenJson(options.json);
  (void)prctl(PR_SET_TIMERSLACK, kTimerSlackNs, 0, 0, 0);
  const InterruptScope scope;
  double work = 0;
  for (const Experiment& experiment : experiments) work += WorkOf(experiment) * options.runs;
  Validation validation(options, ScaleFor(options));
  Display display(work);
  for (const Experiment& experiment : experiments) validation.Run(experiment, display);
  display.End();
  if (options.json != "-") std::cout << validation.scores().text() << std::flush;
  if (!options.json.empty()) WriteJson(options.json, json, validation.scores());
  if (interrupted != 0) fmt::print(stderr, "stoker: interrupted; the bars cover the runs so far\n");
  return interrupted != 0 ? kExitInterrupted : validation.scores().passed() ? kExitOk : kExitFailed;
}

}  // namespace stoker

#include "bench/sweep/sweep_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>

#include "loader/options.h"

namespace stoker {
namespace {

constexpr int32_t kMostWorkers = 1024;
constexpr double kLongestStepMs = 60000;

const std::map<std::string, ReaderKind> kReaderNames = {
    {"auto", ReaderKind::kAuto}, {"io_uring", ReaderKind::kUring}, {"pread", ReaderKind::kPread}};
const std::map<std::string, ElementType> kElementNames = {{"uint8", ElementType::kUint8},
                                                          {"float16", ElementType::kFloat16},
                                                          {"bfloat16", ElementType::kBfloat16},
                                                          {"float32", ElementType::kFloat32}};
const std::map<std::string, DecodeMode> kDecodeNames = {{"exact", DecodeMode::kExact}, {"fast", DecodeMode::kFast}};

template <class T>
CLI::Option* AddList(CLI::App& command, const char* name, std::vector<T>& values, const char* help, const char* text) {
  return command.add_option(name, values, help)->delimiter(',')->option_text(text);
}

template <class T>
void AddNames(CLI::App& command, const char* name, std::vector<T>& values, const std::map<std::string, T>& names,
              const char* help, const char* text) {
  AddList(command, name, values, help, text)
      ->transform(CLI::CheckedTransformer(names, CLI::ignore_case).description(""));
}

// Ascending, each once.
template <class T>
std::vector<T> Sorted(std::vector<T> values) {
  std::ranges::sort(values);
  values.erase(std::unique(values.begin(), values.end()), values.end());
  return values;
}

template <class T>
T UsualOf(const std::vector<T>& values, T usual) {
  return std::ranges::find(values, usual) != values.end() ? usual : values.front();
}

void CheckRange(const char* option, const std::vector<int32_t>& values, int32_t most) {
  for (const int32_t value : values) {
    if (value >= 1 && value <= most) continue;
    throw std::invalid_argument(fmt::format("{} has {} (allowed: 1 to {})", option, value, most));
  }
}

// What was given, or what the job has.
template <class T>
std::vector<T> Or(const std::vector<T>& given, T of_job) {
  return given.empty() ? std::vector<T>{of_job} : given;
}

}  // namespace

void SweepCommandLine::AddKnobs(CLI::App& command) {
  AddList(command, "--try-workers", workers_, "Only these numbers of decoding threads", "N,...");
  AddList(command, "--try-prefetch", prefetch_factors_, "Only these numbers of batches ahead", "N,... [1,2,4,8]");
  AddList(command, "--try-depth", queue_depths_, "Only these numbers of reads in flight", "N,... [8,32,128]");
  AddNames(command, "--try-reader", readers_, kReaderNames, "Only these ways to read",
           "NAME,... [auto,io_uring,pread]");
  command.add_flag("--full", full_, "Run the whole grid instead of what the model picks: slow, for doubters");
}

void SweepCommandLine::AddScenarios(CLI::App& command) {
  AddList(command, "--try-batch-size", batch_sizes_, "A search for each of these batch sizes", "N,...");
  AddNames(command, "--try-dtype", elements_, kElementNames, "A search for each of these dtypes", "NAME,...");
  AddNames(command, "--try-decode", decodes_, kDecodeNames, "A search for each of exact, fast", "NAME,...");
  AddList(command, "--try-step-ms", steps_ms_, "A search for each of these training steps, milliseconds", "MS,...");
  command
      .add_option("--step-from", step_from_,
                  "Take the training step from the reports of a real job (--report-file, report_file=): its median")
      ->option_text("FILE");
  command.add_option("--cache", cache_, "Page cache of the runs: warm, cold, or one after the other")
      ->option_text("warm|cold|both [both]")
      ->check(CLI::IsMember({"warm", "cold", "both"}).description(""));
}

void SweepCommandLine::AddRuns(CLI::App& command) {
  command.add_option("--seconds", options_.seconds, "Measured part of each run, 0.05 to 3600")
      ->option_text("S [2]")
      ->check(CLI::Range(0.05, 3600.0).description(""));
  command.add_option("--warm-up", options_.warm_up_seconds, "Before it, 0 to 3600")
      ->option_text("S [0.5]")
      ->check(CLI::Range(0.0, 3600.0).description(""));
  command.add_option("--rounds", rounds_, "Runs of a setting, at least, 2 to 100")
      ->option_text("N [3]")
      ->check(CLI::Range(2, 100).description(""));
  command.add_option("--most-rounds", most_rounds_, "And at most, where the intervals do not part before")
      ->option_text("N [7]")
      ->check(CLI::Range(2, 1000).description(""));
  command
      .add_option("--pictures", options_.pictures,
                  "Use so many of the pictures, evenly over all: so that they fit into the page cache")
      ->option_text("N [4096]")
      ->check(CLI::Range(uint64_t{1}, uint64_t{1} << 40).description(""));
  command
      .add_option("--replay", options_.replay,
                  "Measure the step's own limit as well, with so many batches that are loaded once, 1 to 64")
      ->option_text("K")
      ->check(CLI::Range(1, 64).description(""));
  command.add_option("--out", options_.out, "Folder of the results")->option_text("DIR [stoker-bench]");
  command.add_flag("--resume", options_.resume, "Go on with the sweep in that folder");
  command.add_flag("--peers", options_.peers,
                   "Compare with the other loaders that are installed instead; what follows -- goes to that program");
  command.add_option("--python", options_.python, "The Python that has them")->option_text("FILE [python3]");
}

void SweepCommandLine::AddTo(CLI::App& command) {
  job_.AddJobTo(command);
  AddKnobs(command);
  AddScenarios(command);
  AddRuns(command);
}

SearchSpace SweepCommandLine::MakeSpace() const {
  CheckRange("--try-workers", workers_, kMostWorkers);
  CheckRange("--try-prefetch", prefetch_factors_, 64);
  CheckRange("--try-depth", queue_depths_, 1024);
  SearchSpace space = DefaultSpace(DefaultWorkers());
  space.full = full_;
  space.least_rounds = rounds_;
  space.most_rounds = std::max(rounds_, most_rounds_);
  space.workers = Sorted(workers_);
  if (!space.workers.empty()) space.most_workers = space.workers.back();
  if (!prefetch_factors_.empty()) space.prefetch_factors = Sorted(prefetch_factors_);
  if (!queue_depths_.empty()) space.queue_depths = Sorted(queue_depths_);
  if (!readers_.empty()) space.readers = Sorted(readers_);
  space.start.prefetch_factor = UsualOf(space.prefetch_factors, space.start.prefetch_factor);
  space.start.queue_depth = UsualOf(space.queue_depths, space.start.queue_depth);
  space.start.reader = UsualOf(space.readers, space.start.reader);
  return space;
}

std::vector<Scenario> SweepCommandLine::MakeScenarios(const RunOptions& job) const {
  CheckRange("--try-batch-size", batch_sizes_, 65536);
  for (const double step : steps_ms_) {
    if (step >= 0 && step <= kLongestStepMs) continue;
    throw std::invalid_argument(fmt::format("--try-step-ms has {} (allowed: 0 to {} ms)", step, kLongestStepMs));
  }
  if (!step_from_.empty() && (job.step_ms > 0 || !steps_ms_.empty())) {
    throw std::invalid_argument("--step-from, --step-ms and --try-step-ms exclude each other");
  }
  const double step_ms = step_from_.empty() ? job.step_ms : StepOfReports(step_from_);
  std::vector<Scenario> scenarios;
  for (const bool cold : {false, true}) {
    if (cache_ == (cold ? "warm" : "cold")) continue;
    for (const int32_t batch_size : Or(batch_sizes_, job.loader.batch_size)) {
      for (const ElementType element : Or(elements_, job.loader.recipe.element)) {
        for (const DecodeMode decode : Or(decodes_, job.loader.decode)) {
          for (const double step : Or(steps_ms_, step_ms)) {
            scenarios.push_back({batch_size, element, decode, step, cold});
          }
        }
      }
    }
  }
  return scenarios;
}

SweepOptions SweepCommandLine::Finish(std::vector<std::string> rest) const {
  SweepOptions options = options_;
  if (!options.peers && !rest.empty()) throw std::invalid_argument("what follows -- is for --peers");
  options.peers_arguments = std::move(rest);
  options.job = job_.Finish();
  options.plan.space = MakeSpace();
  options.plan.scenarios = MakeScenarios(options.job);
  options.plan.alternatives = batch_sizes_.empty() && elements_.empty() && decodes_.empty();
  return options;
}

double StepOfReports(const std::string& file) {
  std::ifstream in(file);
  std::vector<double> steps;
  for (std::string text; std::getline(in, text);) {
    const nlohmann::json line = nlohmann::json::parse(text, nullptr, false);
    if (!line.is_object() || !line.contains("step_ms") || !line.contains("stalls")) continue;
    const nlohmann::json& stalls = line["stalls"];
    if (!line["step_ms"].is_number() || !stalls.contains("stall_share") || !stalls["stall_share"].is_number()) continue;
    steps.push_back(line["step_ms"].get<double>() * (1 - stalls["stall_share"].get<double>()));
  }
  if (steps.empty()) {
    throw std::invalid_argument(
        fmt::format("--step-from {}: no report of a job is in it (train with --report-file or report_file=)", file));
  }
  std::ranges::sort(steps);
  return std::clamp(steps[steps.size() / 2], 0.0, kLongestStepMs);
}

}  // namespace stoker

#include "bench/bench_command.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <ctime>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <system_error>
#include <utility>

#include "bench/interrupt_scope.h"
#include "bench/run_command.h"
#include "bench/run_source.h"
#include "bench/status_line.h"
#include "bench/sweep/html_report.h"
#include "bench/sweep/measure.h"
#include "bench/sweep/page_cache.h"
#include "bench/sweep/peers.h"
#include "bench/sweep/sweep_text.h"
#include "loader/machine/overview.h"

namespace stoker {
namespace {

constexpr uint64_t kFewBatches = 8;

// The job's source, and what is told of it.
struct Job {
  RunOptions options;
  std::shared_ptr<const FileSource> source = {};
  uint64_t in_all = 0;
};

Job OpenJob(const SweepOptions& options) {
  Job job = {options.job};
  std::unique_ptr<FileSource> source = OpenSource(options.job);
  job.in_all = source->size();
  if (options.job.size_from_first) {
    job.options.loader.fixed_size = FirstPictureSize(*source, options.job.loader);
  }
  // A bad sample is no reason to measure nothing.
  if (job.options.loader.on_error == OnError::kRaise) job.options.loader.on_error = OnError::kSkip;
  job.source = SampleOf(std::move(source), options.pictures);
  uint64_t largest = 0;
  for (const Scenario& scenario : options.plan.scenarios) {
    largest = std::max(largest, static_cast<uint64_t>(scenario.batch_size));
  }
  if (job.source->size() < 2 * largest) {
    throw std::invalid_argument(
        fmt::format("{} has {} pictures: too few for two batches of {} (give more pictures, or a smaller --batch-size)",
                    options.job.path.empty() ? options.job.list : options.job.path, job.source->size(), largest));
  }
  if (job.source->size() < kFewBatches * largest) {
    fmt::print(stderr, "stoker: warning: {} pictures are {} batches of {}: each epoch's beginning counts for much\n",
               job.source->size(), job.source->size() / largest, largest);
  }
  return job;
}

// Runs of one job, each in a process of its own.
class Runner {
 public:
  Runner(const SweepOptions& options, const Job& job) : options_(options), job_(job) {}

  Measurement operator()(const Scenario& scenario, const Setting& setting) {
    if (scenario.cold) {
      ThrowOut(*job_.source);
      read_in_ = false;
    } else if (!read_in_) {
      ReadIn(*job_.source);
      read_in_ = true;
    }
    return MeasureApart(PlanFor(scenario), setting, job_.source, interrupted);
  }

  StepLimit LimitOf(const Scenario& scenario, const Setting& setting) {
    RunPlan plan = PlanFor(scenario);
    plan.replay = options_.replay;
    const Measurement measurement = MeasureApart(plan, setting, job_.source, interrupted);
    if (!measurement.error.empty()) fmt::print(stderr, "stoker: --replay: {}\n", measurement.error);
    return {scenario.step_ms, measurement.images_per_second};
  }

 private:
  RunPlan PlanFor(const Scenario& scenario) const {
    RunPlan plan = {.options = WithScenario(job_.options.loader, scenario), .step_ms = scenario.step_ms};
    plan.seconds = options_.seconds;
    plan.warm_up_seconds = options_.warm_up_seconds;
    plan.one_pass = scenario.cold;
    return plan;
  }

  const SweepOptions& options_;
  const Job& job_;
  bool read_in_ = false;
};

SweepFacts FactsOf(const SweepOptions& options, const Job& job, const std::string& command_line) {
  SweepFacts facts;
  facts.command = command_line;
  facts.date = fmt::format("{:%Y-%m-%d}", fmt::localtime(std::time(nullptr)));
  OverviewRequest request;
  request.data_path = options.job.path.empty() ? options.job.list : options.job.path;
  facts.machine = FormatOverview(ReadOverview(request), false);
  facts.data = request.data_path;
  facts.pictures = job.source->size();
  facts.pictures_in_all = job.in_all;
  facts.cpus = options.plan.space.cpus;
  return facts;
}

// What tells one sweep's runs from another's.
nlohmann::json HeaderFor(const SweepOptions& options, const SweepFacts& facts) {
  nlohmann::json scenarios = nlohmann::json::array();
  for (const Scenario& scenario : options.plan.scenarios) scenarios.push_back(ToJson(scenario));
  const SearchSpace& space = options.plan.space;
  const LoaderOptions& loader = options.job.loader;
  return {
      {"schema_version", 1},
      {"data", facts.data},
      {"pictures", facts.pictures},
      {"cpus", facts.cpus},
      {"scenarios", scenarios},
      {"full", space.full},
      {"rounds", {space.least_rounds, space.most_rounds}},
      {"workers", space.workers},
      {"prefetch", space.prefetch_factors},
      {"depths", space.queue_depths},
      {"readers", space.readers},
      {"seconds", {options.warm_up_seconds, options.seconds}},
      {"device", loader.device},
      {"recipe",
       {loader.recipe.ops.size(), static_cast<int>(loader.recipe.layout), static_cast<int>(loader.recipe.channels)}},
      {"alternatives", options.plan.alternatives}};
}

void WriteFile(const std::filesystem::path& file, const std::string& text) {
  std::ofstream out(file, std::ios::binary);
  out << text;
  out.flush();
  if (!out) throw std::system_error(errno, std::generic_category(), "cannot write " + file.string());
}

// The folder is made, and whether it can be written to is seen before anything is measured.
std::filesystem::path MakeFolder(const std::string& name) {
  const std::filesystem::path folder = name;
  std::filesystem::create_directories(folder);
  return folder;
}

int Report(const std::filesystem::path& folder, const SweepResult& result, const SweepFacts& facts) {
  std::cout << FormatSweep(result, facts) << std::flush;
  const nlohmann::json json = ToJson(result, facts);
  WriteFile(folder / "sweep.json", json.dump(1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
  WriteFile(folder / "report.html", HtmlReport(json));
  fmt::print(stderr, "report: {}\n", (folder / "report.html").string());
  if (result.interrupted) {
    fmt::print(stderr, "stoker: interrupted; the same command with --resume goes on\n");
    return kExitInterrupted;
  }
  const bool found =
      std::ranges::any_of(result.scenarios, [](const ScenarioResult& one) { return one.finding.has_value(); });
  return found ? kExitOk : kExitFailed;
}

}  // namespace

int BenchCommand(const SweepOptions& options, const std::string& command_line) {
  if (options.peers) return RunPeers(options);
  Job job;
  std::optional<RunLog> log;
  SweepFacts facts;
  std::filesystem::path folder;
  try {
    job = OpenJob(options);
    facts = FactsOf(options, job, command_line);
    folder = MakeFolder(options.out);
    log.emplace(folder / "runs.jsonl", HeaderFor(options, facts), options.resume);
  } catch (const std::system_error& error) {
    fmt::print(stderr, "stoker: {}\n", error.what());
    return kExitUsage;
  }
  fmt::print(stderr, "{}", facts.machine);
  StatusLine line;
  Runner runner(options, job);
  SweepResult result;
  {
    const InterruptScope scope;
    const SweepListener listener = {[&](double done, const std::string& words) { line.Show(done, words); },
                                    [&](const std::string& words) { line.Print(words); }};
    Sweep sweep(options.plan, std::ref(runner), *log, listener, [] { return interrupted != 0; });
    result = sweep.Run();
    for (const ScenarioResult& one : result.scenarios) {
      if (options.replay == 0 || one.scenario.cold || !one.finding || interrupted != 0) continue;
      line.Show(1, "the step alone");
      result.step_limits.push_back(runner.LimitOf(one.scenario, one.finding->recommended.setting));
    }
  }
  line.End();
  return Report(folder, result, facts);
}

}  // namespace stoker

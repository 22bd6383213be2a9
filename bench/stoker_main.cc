// The `stoker` command.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <exception>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "bench/bench_command.h"
#include "bench/budget_command.h"
#include "bench/doctor_command.h"
#include "bench/explain_command.h"
#include "bench/index_command.h"
#include "bench/run_command.h"
#include "bench/run_options.h"
#include "bench/steady_seconds.h"
#include "bench/synthetic_set.h"
#include "bench/top_command.h"
#include "bench/validate_command.h"

namespace stoker {
namespace {

constexpr const char* kRunHelp =
    "Loads the pictures as a training job would and says what held the batches back.\n"
    "\n"
    "Examples:\n"
    "  stoker run photos/train                       one epoch of torchvision's training recipe, uint8\n"
    "  stoker run photos/val --transform eval --no-shuffle --dtype float32 --classes classes.txt\n"
    "  stoker run photos/train --step-ms 40 --epochs 3 --on-error skip --json report.json\n"
    "\n"
    "Exit codes: 0 done, 1 failed while running, 2 a wrong option, path or list, 130 interrupted (report printed).";

void AddSynthOptions(CLI::App& command, std::string& folder, SyntheticOptions& options) {
  command.add_option("folder", folder, "Where to; left alone where the same set is there already")->required();
  command.add_option("--pictures", options.pictures, "How many, 1 to 1000000")
      ->option_text("N [600]")
      ->check(CLI::Range(1, 1000000).description(""));
  command.add_option("--classes", options.classes, "Class folders, 1 to 1000")
      ->option_text("N [10]")
      ->check(CLI::Range(1, 1000).description(""));
  command.add_option("--seed", options.seed, "Another seed gives other pictures")->option_text("N [1]");
  command.add_flag("!--no-odd-files", options.odd_files, "Only good RGB and gray JPEGs");
}

int Synth(const std::filesystem::path& folder, const SyntheticOptions& options) {
  if (SyntheticSetExists(folder, options)) {
    fmt::print(stderr, "{} is there already\n", folder.string());
    return kExitOk;
  }
  WriteSyntheticSet(folder, options);
  fmt::print(stderr, "wrote {} pictures to {}\n", options.pictures, folder.string());
  return kExitOk;
}

// The command line as it was typed, but for quotes.
std::string Typed(int argc, char** argv) {
  std::string line = "stoker";
  for (int i = 1; i < argc; ++i) line += fmt::format(" {}", argv[i]);
  return line;
}

// What stands behind a bare "--", for the program that `stoker bench --peers` becomes; it is taken away from the
// others.
std::vector<std::string> TakeRest(int& argc, char** argv) {
  if (argc < 2 || std::string_view(argv[1]) != "bench") return {};
  char** const end = argv + argc;
  char** const mark = std::find_if(argv, end, [](const char* word) { return std::string_view(word) == "--"; });
  if (mark == end) return {};
  argc = static_cast<int>(mark - argv);
  return {mark + 1, end};
}

int Main(int argc, char** argv) {
  const double start = SteadySeconds();
  CLI::App app("Stoker keeps GPUs fed with training samples and says what starves them.");
  app.set_version_flag("--version", STOKER_VERSION);
  app.require_subcommand(1);
  app.footer("stoker COMMAND --help explains a command.");

  CLI::App& run = *app.add_subcommand("run", kRunHelp);
  RunCommandLine run_line;
  run_line.AddTo(run);

  CLI::App& bench = *app.add_subcommand("bench", kBenchHelp);
  SweepCommandLine bench_line;
  bench_line.AddTo(bench);

  CLI::App& synth =
      *app.add_subcommand("synth", "Writes a small seeded set of photograph-like pictures to try things on.");
  std::string folder;
  SyntheticOptions synth_options;
  AddSynthOptions(synth, folder, synth_options);

  CLI::App& index = *app.add_subcommand("index", kIndexHelp);
  IndexOptions index_options;
  AddIndexOptions(index, index_options);

  CLI::App& doctor = *app.add_subcommand("doctor", kDoctorHelp);
  DoctorOptions doctor_options;
  AddDoctorOptions(doctor, doctor_options);

  CLI::App& budget = *app.add_subcommand("budget", kBudgetHelp);
  BudgetCommandLine budget_line;
  budget_line.AddTo(budget);

  CLI::App& validate = *app.add_subcommand("validate", kValidateHelp);
  ValidateOptions validate_options;
  AddValidateOptions(validate, validate_options);

  CLI::App& top = *app.add_subcommand("top", kTopHelp);
  TopOptions top_options;
  AddTopOptions(top, top_options);

  CLI::App& explain = *app.add_subcommand("explain", kExplainHelp);
  ExplainOptions explain_options;
  AddExplainOptions(explain, explain_options);

  try {
    const std::string typed = Typed(argc, argv);
    const std::vector<std::string> rest = TakeRest(argc, argv);
    app.parse(argc, argv);
    if (validate.parsed()) return ValidateCommand(validate_options);
    if (top.parsed()) return TopCommand(top_options);
    if (explain.parsed()) return ExplainCommand(explain_options);
    if (bench.parsed()) return BenchCommand(bench_line.Finish(rest), typed);
    if (budget.parsed()) return BudgetCommand(budget_line.Finish());
    if (index.parsed()) return IndexCommand(index_options);
    if (doctor.parsed()) return DoctorCommand(doctor_options);
    if (synth.parsed()) return Synth(folder, synth_options);
    return RunCommand(run_line.Finish(), start);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? kExitOk : kExitUsage;
  } catch (const std::invalid_argument& error) {
    fmt::print(stderr, "stoker: {}\n", error.what());
    return kExitUsage;
  } catch (const std::exception& error) {
    fmt::print(stderr, "stoker: {}\n", error.what());
    return kExitFailed;
  }
}

}  // namespace
}  // namespace stoker

int main(int argc, char** argv) { return stoker::Main(argc, argv); }

#include "bench/budget_command.h"

#include <fmt/format.h>

#include <cerrno>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <system_error>

#include "bench/budget/picture_sizes.h"
#include "bench/budget/quantity.h"
#include "bench/json_output.h"
#include "bench/run_command.h"
#include "bench/run_source.h"
#include "loader/machine/overview.h"
#include "transfer/open_device.h"

namespace stoker {
namespace {

constexpr int kExitDoesNotFit = 1;

// What was given for an option of the loader's, where no loader is asked for.
template <typename T>
T Given(const CLI::App& command, const char* name, const T& otherwise) {
  const CLI::Option* option = command.get_option(name);
  return option->count() > 0 ? option->as<T>() : otherwise;
}

// What the GPU that is meant has free, before anything here takes a part of it.
void FindVram(const Overview& overview, ModelBudget& budget) {
  for (const GpuOverview& gpu : overview.gpus) {
    const bool meant = gpu.chosen || overview.gpus.size() == 1;
    if (!meant || !gpu.state.load.memory_free_bytes) continue;
    budget.vram_bytes = static_cast<double>(*gpu.state.load.memory_free_bytes);
    budget.vram_source = "free on the GPU";
  }
}

ModelBudget BudgetOf(const BudgetCommandLine::Options& options, const Overview& overview,
                     const std::optional<LoaderBudget>& loader) {
  ModelBudget budget;
  budget.terms = ModelTerms(*options.model);
  double slots = 0;
  if (loader && loader->plan.device_slots > 0) {
    slots = static_cast<double>(loader->plan.device_slots) * static_cast<double>(loader->plan.device_slot_bytes);
    budget.terms.push_back({"loader's slots", slots, "as above", Place::kVram, false});
  }
  if (options.vram_bytes) {
    budget.vram_bytes = options.vram_bytes;
    budget.vram_source = "--vram";
  } else {
    FindVram(overview, budget);
  }
  if (budget.vram_bytes) budget.advice = Advise(*options.model, slots, *budget.vram_bytes);
  return budget;
}

}  // namespace

void BudgetCommandLine::AddTo(CLI::App& command) {
  command_ = &command;
  run_.AddTo(command);
  model_.AddTo(command);
  command.add_option("--vram", vram_, "Memory of a GPU that is not here, such as 24GB (24e9 bytes) or 24GiB")
      ->option_text("BYTES")
      ->group("A model");
}

BudgetCommandLine::Options BudgetCommandLine::Finish() const {
  Options options;
  if (!vram_.empty()) options.vram_bytes = ParseBytes("--vram", vram_);
  options.device = Given<std::string>(*command_, "--device", "auto");
  if (!IsDeviceName(options.device)) {
    throw std::invalid_argument(
        fmt::format("--device \"{}\" (allowed: auto, cpu, sim, cuda, cuda:N, a GPU's UUID)", options.device));
  }
  options.json = Given<std::string>(*command_, "--json", "");
  const bool loader = command_->get_option("path")->count() + command_->get_option("--list")->count() > 0;
  const bool model = model_.given();
  if (!loader && !model) {
    throw std::invalid_argument("give a folder or --list FILE, or --parameters N of a model; see stoker budget --help");
  }
  if (loader) options.run = run_.Finish();
  if (model) {
    options.model = model_.Finish({.batch_size = Given<int64_t>(*command_, "--batch-size", 64),
                                   .world_size = Given<int64_t>(*command_, "--world-size", 1),
                                   .picture_size = Given<int64_t>(*command_, "--size", 224)});
  }
  return options;
}

int BudgetCommand(const BudgetCommandLine::Options& options, const std::string& root) {
  std::unique_ptr<FileSource> source;
  LoaderOptions loader_options;
  try {
    if (options.run) {
      source = OpenSource(*options.run);
      loader_options = options.run->loader;
      if (options.run->size_from_first) loader_options.fixed_size = FirstPictureSize(*source, loader_options);
    }
  } catch (const std::system_error& error) {
    fmt::print(stderr, "stoker: {}\n", error.what());
    return kExitUsage;
  }
  OverviewRequest request;
  request.device = options.device;
  const Overview overview = ReadOverview(request, root);
  BudgetReport report;
  if (source != nullptr) {
    report.loader = PlanLoader(loader_options, *source, LookAtPictures(*source, loader_options), RoomOf(overview));
  }
  if (options.model) report.model = BudgetOf(options, overview, report.loader);
  if (options.json != "-") std::cout << FormatBudget(report) << std::flush;
  if (!options.json.empty()) WriteJson(options.json, ToJson(report), "the budget");
  return !report.loader || report.loader->fits() ? kExitOk : kExitDoesNotFit;
}

}  // namespace stoker

#include "bench/run_command.h"

#include <fmt/format.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <iostream>
#include <thread>

#include "bench/json_output.h"
#include "bench/npy.h"
#include "bench/progress.h"
#include "bench/run_report.h"
#include "bench/run_source.h"
#include "bench/steady_seconds.h"
#include "loader/file_source.h"
#include "loader/loader.h"
#include "loader/machine/overview.h"
#include "loader/step_report.h"

namespace stoker {
namespace {

constexpr size_t kShownClasses = 8;

// The loader that Ctrl-C stops; a signal handler can know only globals.
std::atomic<Loader*> interrupted_loader{nullptr};

void HandleInterrupt(int) {
  if (Loader* loader = interrupted_loader.load()) loader->Cancel();
}

// Ctrl-C and SIGTERM stop the loader while this lives.
class InterruptScope {
 public:
  explicit InterruptScope(Loader& loader) {
    interrupted_loader = &loader;
    struct sigaction action = {};
    action.sa_handler = HandleInterrupt;
    sigaction(SIGINT, &action, &old_int_);
    sigaction(SIGTERM, &action, &old_term_);
  }
  ~InterruptScope() {
    sigaction(SIGINT, &old_int_, nullptr);
    sigaction(SIGTERM, &old_term_, nullptr);
    interrupted_loader = nullptr;
  }
  InterruptScope(const InterruptScope&) = delete;
  InterruptScope& operator=(const InterruptScope&) = delete;

 private:
  struct sigaction old_int_ = {};
  struct sigaction old_term_ = {};
};

void PrintClasses(const FileSource& source, const ScanSummary& summary) {
  const ClassNames& classes = source.classes();
  fmt::print(stderr, "{} pictures", source.size());
  if (classes.empty()) {
    fmt::print(stderr, "{}", summary.flat ? ", no class folders: every label is 0" : "");
  } else {
    fmt::print(stderr, ", {} classes:", classes.size());
    for (size_t i = 0; i < std::min(classes.size(), kShownClasses); ++i) {
      fmt::print(stderr, " {}={}", i, ValidUtf8(classes[i]));
    }
    if (classes.size() > kShownClasses) fmt::print(stderr, " ... (all in --json)");
  }
  if (summary.ignored_files > 0) fmt::print(stderr, "; {} other files ignored", summary.ignored_files);
  if (summary.hidden > 0) fmt::print(stderr, "; {} hidden ignored", summary.hidden);
  if (summary.repeated_links > 0) fmt::print(stderr, "; {} repeated links to folders ignored", summary.repeated_links);
  for (const std::string& name : summary.empty_classes) fmt::print(stderr, "; class {} is empty", ValidUtf8(name));
  fmt::print(stderr, "\n");
}

const char* NpyType(ElementType element) {
  switch (element) {
    case ElementType::kUint8:
      return "|u1";
    case ElementType::kFloat16:
      return "<f2";
    case ElementType::kBfloat16:
      return "<u2";  // NumPy has no bfloat16: its bits
    case ElementType::kFloat32:
      return "<f4";
  }
  return "";
}

void Dump(const Batch& batch, const std::string& folder) {
  const std::string prefix = fmt::format("{}/epoch{}-position{:08}", folder, batch.epoch(), batch.position());
  std::vector<std::byte> pixels(batch.pixel_bytes());
  batch.CopyPixelsTo(pixels);
  WriteNpy(prefix + "-pixels.npy", NpyType(batch.spec().element), batch.shape(), pixels);
  const std::array<int64_t, 1> one_axis = {batch.size()};
  WriteNpy(prefix + "-labels.npy", "<i8", one_axis, std::as_bytes(batch.labels()));
  WriteNpy(prefix + "-ids.npy", "<i8", one_axis, std::as_bytes(batch.ids()));
  WriteNpy(prefix + "-valid.npy", "|u1", one_axis, std::as_bytes(batch.valid()));
}

void RunEpochs(const RunOptions& options, Loader& loader, double start_seconds, Progress& progress, RunReport& report) {
  try {
    for (int64_t epoch = 0; epoch < options.epochs; ++epoch) {
      while (const std::optional<Batch> batch = loader.Next()) {
        if (report.first_batch_seconds == 0) report.first_batch_seconds = SteadySeconds() - start_seconds;
        if (!options.dump.empty()) Dump(*batch, options.dump);
        if (options.step_ms > 0)
          std::this_thread::sleep_for(std::chrono::duration<double, std::milli>(options.step_ms));
        progress.Step(loader, *batch);
      }
    }
  } catch (const Error& error) {
    report.interrupted = error.code() == LoadError::kCancelled;
    if (!report.interrupted) report.error = error.what();
  } catch (const std::system_error& error) {
    report.error = error.what();
  }
  progress.End();
}

// The machine, in the lines that matter.
std::string MachineFor(const RunOptions& options, Loader& loader) {
  const StallReport report = loader.Report();
  OverviewRequest request;
  request.data_path = options.list.empty() ? options.path : options.list;
  request.num_workers = report.max_workers;
  request.device = report.device;
  request.planned_bytes = static_cast<int64_t>(report.budget_bytes);
  return FormatOverview(ReadOverview(request), false);
}

// A trace that cannot be written fails a run that did not fail already.
bool WriteTrace(const std::string& file, Loader& loader) {
  if (file.empty()) return true;
  try {
    loader.WriteTrace(file);
    return true;
  } catch (const std::system_error& error) {
    fmt::print(stderr, "stoker: {}\n", error.what());
    return false;
  }
}

}  // namespace

int RunCommand(const RunOptions& options, double start_seconds) {
  RunReport report;
  std::unique_ptr<FileSource> source;
  LoaderOptions loader_options = options.loader;
  try {
    ScanSummary summary;
    source = OpenSource(options, &summary);
    PrintClasses(*source, summary);
    if (options.size_from_first) loader_options.fixed_size = FirstPictureSize(*source, loader_options);
    if (!options.dump.empty()) std::filesystem::create_directories(options.dump);
  } catch (const std::system_error& error) {
    fmt::print(stderr, "stoker: {}\n", error.what());
    return kExitUsage;
  }
  report.classes = source->classes();
  report.usable_cpus = UsableCpus();
  report.before = ReadProcessCounters();
  std::optional<Progress> progress;
  loader_options.on_report = [&](const StepReport& step) {
    const bool stands_below = step.kind == StepReport::Kind::kEpoch && options.epochs == 1;
    if (!stands_below || !step.warnings.empty()) progress->Print(FormatStep(step));
  };
  Loader loader(loader_options, std::move(source));
  fmt::print(stderr, "{}", MachineFor(options, loader));
  progress.emplace(loader.batches_per_epoch() * options.epochs);
  if (loader.batches_per_epoch() == 0) {
    fmt::print(stderr, "stoker: warning: no batch comes out: {} samples on this rank, --batch-size {}{}\n",
               loader.samples_per_epoch(), loader_options.batch_size, loader_options.drop_last ? ", --drop-last" : "");
  }
  {
    const InterruptScope scope(loader);
    RunEpochs(options, loader, start_seconds, *progress, report);
  }
  report.stall = loader.Report();
  const bool traced = WriteTrace(options.trace, loader);
  report.after = ReadProcessCounters();
  if (options.json != "-") std::cout << FormatRunReport(report) << std::flush;
  if (!options.json.empty()) WriteJson(options.json, ToJson(report), "the report");
  if (report.interrupted) fmt::print(stderr, "stoker: interrupted; the report covers the run so far\n");
  if (!report.error.empty()) fmt::print(stderr, "stoker: {}\n", report.error);
  if (report.interrupted) return kExitInterrupted;
  return report.error.empty() && traced ? kExitOk : kExitFailed;
}

}  // namespace stoker

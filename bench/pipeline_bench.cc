// The whole loader against the plain loop, on the same pictures and cores: first epochs, in which the loader learns
// where the rows of JPEGs begin, and later ones, on each CPU path. Prints ratios of interleaved runs: absolute rates
// move with the machine, ratios hold.
//
//   pipeline_bench FOLDER [--rounds N] [--only TEXT]
#include <fmt/format.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "bench/plain_loop.h"
#include "bench/steady_seconds.h"
#include "decode/cpu_path.h"
#include "loader/file_source.h"
#include "loader/loader.h"

namespace stoker {
namespace {

constexpr int kEpochs = 2;  // that are timed after the first

enum class Loop { kPlain, kStoker };

// What is measured, in a process of its own.
struct Contender {
  const char* name;
  Loop loop;
  std::optional<CpuPath> cpu = {};  // the best where none is given
  int cores = 1;
  int workers = 1;
  DecodeMode decode = DecodeMode::kExact;
  ElementType element = ElementType::kFloat32;
};

// Images a second.
struct Rates {
  double first = 0;  // while nothing is known of any picture; of the plain loop as later
  double later = 0;
};

double Rate(Loader& loader, int epochs) {
  const double start = SteadySeconds();
  int64_t samples = 0;
  for (int epoch = 0; epoch < epochs; ++epoch) {
    while (const auto batch = loader.Next()) samples += batch->size();
  }
  return static_cast<double>(samples) / (SteadySeconds() - start);
}

// The epoch before the timed ones touches the memory and lets the threads start.
double RateOf(const Contender& contender, const std::string& folder, int64_t index_bytes) {
  LoaderOptions options;
  options.recipe = TrainRecipe(224, contender.element);
  options.decode = contender.decode;
  options.num_workers = contender.workers;
  options.report_every = 0;
  options.index_bytes = index_bytes;
  Loader loader(options, OpenFolder(folder));
  Rate(loader, 1);
  return Rate(loader, kEpochs);
}

Rates RunLoader(const Contender& contender, const std::string& folder) {
  if (contender.cpu) ForceCpuPath(*contender.cpu);
  // With no room for what is learned every epoch does the work of a first one.
  constexpr int64_t kNoRoom = 1, kDefault = 0;
  return {RateOf(contender, folder, kNoRoom), RateOf(contender, folder, kDefault)};
}

Rates RunHere(const Contender& contender, const std::string& folder) {
  if (contender.loop == Loop::kStoker) return RunLoader(contender, folder);
  const double rate = RunPlainLoop(folder, contender.workers, kEpochs);
  return {rate, rate};
}

// Runs one contender in a process of its own, pinned to its cores, so that no run inherits threads or caches of
// another.
Rates Measure(const Contender& contender, const std::string& folder) {
  int channel[2];
  if (pipe(channel) != 0) return {};
  Rates rates;
  if (const pid_t child = fork(); child == 0) {
    cpu_set_t cpus;
    CPU_ZERO(&cpus);
    for (int i = 0; i < contender.cores; ++i) CPU_SET(static_cast<size_t>(i), &cpus);
    if (sched_setaffinity(0, sizeof cpus, &cpus) != 0) _exit(1);
    rates = RunHere(contender, folder);
    _exit(write(channel[1], &rates, sizeof rates) == sizeof rates ? 0 : 1);
  } else {
    close(channel[1]);
    if (read(channel[0], &rates, sizeof rates) != sizeof rates) rates = {};
    close(channel[0]);
    waitpid(child, nullptr, 0);
  }
  return rates;
}

double Median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2), values.end());
  return values[values.size() / 2];
}

const std::vector<Contender>& Contenders() {
  static const std::vector<Contender> all = {
      {.name = "plain", .loop = Loop::kPlain},
      {.name = "avx512", .loop = Loop::kStoker, .cpu = CpuPath::kAvx512},
      {.name = "avx2", .loop = Loop::kStoker, .cpu = CpuPath::kAvx2},
      {.name = "sse2", .loop = Loop::kStoker, .cpu = CpuPath::kBaseline},
      {.name = "uint8 NHWC", .loop = Loop::kStoker, .element = ElementType::kUint8},
      {.name = "float32 NCHW", .loop = Loop::kStoker},
      {.name = "fast decode", .loop = Loop::kStoker, .decode = DecodeMode::kFast},
      {.name = "plain, 2 cores", .loop = Loop::kPlain, .cores = 2, .workers = 2},
      {.name = "2 cores", .loop = Loop::kStoker, .cores = 2, .workers = 2},
      {.name = "2 cores, 8 workers", .loop = Loop::kStoker, .cores = 2, .workers = 8},
  };
  return all;
}

// A line of the result: how many times as fast, and how fast it is meant to be.
struct Comparison {
  const char* fast;
  const char* slow;
  double first;  // 0: not compared
  double later;
};
constexpr Comparison kComparisons[] = {
    {"avx512", "plain", 3.0, 4.0},
    {"avx2", "plain", 2.6, 3.3},
    {"sse2", "plain", 1.7, 2.1},
    {"uint8 NHWC", "float32 NCHW", 1.05, 1.05},
    {"fast decode", "plain", 3.0, 4.0},
    {"2 cores", "float32 NCHW", 0, 1.9},
    {"2 cores", "plain, 2 cores", 3.0, 4.0},
    {"2 cores, 8 workers", "2 cores", 0, 0.95},
};

using AllRates = std::map<std::string, std::vector<Rates>>;

// Each round's ratio of two contenders: what moves the machine moves both.
void PrintRatio(const AllRates& rates, const Comparison& comparison, double Rates::*epoch, const char* name,
                double wanted) {
  const auto fast = rates.find(comparison.fast);
  const auto slow = rates.find(comparison.slow);
  if (wanted == 0 || fast == rates.end() || slow == rates.end()) return;
  std::vector<double> ratios;
  ratios.reserve(fast->second.size());
  for (size_t i = 0; i < fast->second.size(); ++i) ratios.push_back(fast->second[i].*epoch / (slow->second[i].*epoch));
  const auto [low, high] = std::minmax_element(ratios.begin(), ratios.end());
  fmt::print("{:36} {:12} {:5.2f}  ({:.2f} to {:.2f}; wanted {:.2f})\n",
             fmt::format("{} / {}", comparison.fast, comparison.slow), name, Median(ratios), *low, *high, wanted);
}

// Left out: what --only does not name, and what this CPU has not.
bool Takes(const Contender& contender, const std::string& only) {
  if (contender.cpu && *contender.cpu > BestCpuPath()) return false;
  return only.empty() || std::string(contender.name).find(only) != std::string::npos || contender.loop == Loop::kPlain;
}

int Main(int argc, char** argv) {
  CLI::App app("Compares the loader with a plain loop on warm pictures: train transform, float32 NCHW, batch 64.");
  std::string folder, only;
  int rounds = 7;
  app.add_option("folder", folder, "Class folders of JPEGs (odd and broken ones have no place here)")->required();
  app.add_option("--rounds", rounds, "Interleaved rounds")->check(CLI::Range(1, 1000));
  app.add_option("--only", only, "Runs only contenders whose name holds this text, and the plain loop");
  CLI11_PARSE(app, argc, argv);

  AllRates rates;
  for (int round = -1; round < rounds; ++round) {  // the first one fills the page cache
    for (const Contender& contender : Contenders()) {
      if (!Takes(contender, only)) continue;
      const Rates measured = Measure(contender, folder);
      if (round >= 0) rates[contender.name].push_back(measured);
    }
  }
  for (const auto& [name, of_rounds] : rates) {
    std::vector<double> first, later;
    for (const Rates& one : of_rounds) {
      first.push_back(one.first);
      later.push_back(one.later);
    }
    fmt::print("{:36} {:6.0f} images/s in the first epoch, {:6.0f} later (medians of {})\n", name, Median(first),
               Median(later), rounds);
  }
  for (const Comparison& comparison : kComparisons) {
    PrintRatio(rates, comparison, &Rates::first, "first epoch", comparison.first);
    PrintRatio(rates, comparison, &Rates::later, "later", comparison.later);
  }
  return 0;
}

}  // namespace
}  // namespace stoker

int main(int argc, char** argv) { return stoker::Main(argc, argv); }

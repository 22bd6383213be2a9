// The whole loader against the plain loop, on the same pictures and cores. Prints ratios of interleaved runs: absolute
// rates move with the machine, ratios hold.
//
//   pipeline_bench FOLDER [--rounds N]
#include <fmt/format.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <string>
#include <vector>

#include "bench/plain_loop.h"
#include "loader/file_source.h"
#include "loader/loader.h"

namespace stoker {
namespace {

constexpr int kEpochs = 2;

struct Contender {
  const char* name;
  const char* loop;  // "plain" or "stoker"
  DecodeMode decode;
  int cores;
  std::vector<double> rates = {};
};

double RunLoader(const std::string& folder, DecodeMode decode, int workers) {
  LoaderOptions options;
  options.recipe = TrainRecipe(224, ElementType::kFloat32);
  options.decode = decode;
  options.num_workers = workers;
  Loader loader(options, OpenFolder(folder));
  int64_t samples = 0;
  auto start = std::chrono::steady_clock::now();
  for (int epoch = -1; epoch < kEpochs; ++epoch) {  // the first one warms caches and scratch up
    if (epoch == 0) {
      start = std::chrono::steady_clock::now();
      samples = 0;
    }
    while (const auto batch = loader.Next()) samples += batch->size();
  }
  return static_cast<double>(samples) / std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// Runs one contender in a process of its own, pinned to its cores, so that no run inherits threads or caches of
// another.
double Measure(const Contender& contender, const std::string& folder) {
  int channel[2];
  if (pipe(channel) != 0) return 0;
  if (const pid_t child = fork(); child == 0) {
    cpu_set_t cpus;
    CPU_ZERO(&cpus);
    for (int i = 0; i < contender.cores; ++i) CPU_SET(static_cast<size_t>(i), &cpus);
    if (sched_setaffinity(0, sizeof cpus, &cpus) != 0) _exit(1);
    const bool plain = std::string(contender.loop) == "plain";
    const double rate =
        plain ? RunPlainLoop(folder, contender.cores, kEpochs) : RunLoader(folder, contender.decode, contender.cores);
    _exit(write(channel[1], &rate, sizeof rate) == sizeof rate ? 0 : 1);
  } else {
    close(channel[1]);
    double rate = 0;
    if (read(channel[0], &rate, sizeof rate) != sizeof rate) rate = 0;
    close(channel[0]);
    waitpid(child, nullptr, 0);
    return rate;
  }
}

double Median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2), values.end());
  return values[values.size() / 2];
}

// Each round's ratio of two contenders: what moves the machine moves both.
void PrintRatio(const Contender& fast, const Contender& slow, double wanted) {
  std::vector<double> ratios;
  ratios.reserve(fast.rates.size());
  for (size_t i = 0; i < fast.rates.size(); ++i) ratios.push_back(fast.rates[i] / slow.rates[i]);
  const auto [low, high] = std::minmax_element(ratios.begin(), ratios.end());
  fmt::print("{:34} {:5.2f}  ({:.2f} to {:.2f}; wanted {:.2f})\n", fmt::format("{} / {}", fast.name, slow.name),
             Median(ratios), *low, *high, wanted);
}

int Main(int argc, char** argv) {
  CLI::App app("Compares the loader with a plain loop on warm pictures: train transform, float32 NCHW, batch 64.");
  std::string folder;
  int rounds = 7;
  app.add_option("folder", folder, "Class folders of JPEGs (odd and broken ones have no place here)")->required();
  app.add_option("--rounds", rounds, "Interleaved rounds")->check(CLI::Range(1, 1000));
  CLI11_PARSE(app, argc, argv);

  std::vector<Contender> contenders = {
      {"plain, 1 core", "plain", DecodeMode::kExact, 1},   {"exact, 1 core", "stoker", DecodeMode::kExact, 1},
      {"fast, 1 core", "stoker", DecodeMode::kFast, 1},    {"plain, 2 cores", "plain", DecodeMode::kExact, 2},
      {"exact, 2 cores", "stoker", DecodeMode::kExact, 2},
  };
  for (int round = -1; round < rounds; ++round) {  // the first one fills the page cache
    for (Contender& contender : contenders) {
      const double rate = Measure(contender, folder);
      if (round >= 0) contender.rates.push_back(rate);
    }
  }
  for (const Contender& contender : contenders) {
    fmt::print("{:34} {:6.0f} images/s (median of {})\n", contender.name, Median(contender.rates), rounds);
  }
  PrintRatio(contenders[1], contenders[0], 1.6);
  PrintRatio(contenders[2], contenders[0], 1.65);
  PrintRatio(contenders[4], contenders[1], 1.9);
  PrintRatio(contenders[4], contenders[3], 1.6);
  return 0;
}

}  // namespace
}  // namespace stoker

int main(int argc, char** argv) { return stoker::Main(argc, argv); }

// `stoker budget`: the memory that a loader will take, and about what a model will, before either takes it.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>

#include "bench/budget/budget_report.h"
#include "bench/budget/model_options.h"
#include "bench/run_options.h"

namespace stoker {

inline constexpr const char* kBudgetHelp =
    "Says what the loader will take before it takes it, to the byte, and whether RAM, container, memlock and GPU have\n"
    "that; and about what a model will take of a GPU. Allocates nothing; a GB is 1e9 bytes.\n"
    "\n"
    "Examples:\n"
    "  stoker budget photos/train --batch-size 256 --dtype float16 --device cuda     the loader of that stoker run\n"
    "  stoker budget --parameters 7B --precision bf16 --optimizer none --vram 24GB   inference: the weights\n"
    "  stoker budget --parameters 1e9 --optimizer adamw                              training: 18 B a parameter\n"
    "  stoker budget --parameters 8B --precision bf16 --optimizer none --layers 32 --kv-heads 8 --head-dim 128 \\\n"
    "      --context 8192 --batch-size 16                                            with the KV cache\n"
    "  stoker budget --parameters 7B --layers 32 --hidden 4096 --heads 32 --sequence 4096 --batch-size 4 \\\n"
    "      --flash-attention --checkpointing --zero 2 --world-size 8 --vram 80GB     an LLM on 8 GPUs\n"
    "  stoker budget --parameters 70B --weights int4 --lora-parameters 200M --vram 48GB           QLoRA\n"
    "  stoker budget photos/train --batch-size 32 --parameters 86M --patch 16 --layers 12 --hidden 768 --heads 12\n"
    "\n"
    "A path, or --list, asks for the loader, --parameters for a model; both may be asked at once. The loader's "
    "options\n"
    "are those of stoker run (whose --memory-limit counts in 1024s), and those that take no memory do nothing.\n"
    "--batch-size is the model's micro batch, too, and --world-size the ranks that --zero splits over.\n"
    "Without a GPU here, --device sim plans the slots that a loader has beside one.\n"
    "\n"
    "Activations of CNNs follow no short formula. Measure: one training step at two batch sizes,\n"
    "  torch.cuda.reset_peak_memory_stats(); step(batch); print(torch.cuda.max_memory_allocated())\n"
    "and give the difference of the two, over the difference in samples, in MB as --activation-mb-per-sample.\n"
    "\n"
    "Exit codes: 0 the loader fits, 1 it does not (the model's estimate never fails), 2 a wrong option, path or list.";

// The raw words of the command line, before they are checked together.
class BudgetCommandLine {
 public:
  // Adds the options to `command`, which must outlive this object's use.
  void AddTo(CLI::App& command);

  struct Options {
    std::optional<RunOptions> run;  // where the loader is asked for
    std::optional<Model> model;
    std::optional<double> vram_bytes;
    std::string device = "auto";
    std::string json;
  };
  // Throws std::invalid_argument naming the option, its value and what is allowed.
  Options Finish() const;

 private:
  CLI::App* command_ = nullptr;
  RunCommandLine run_;
  ModelCommandLine model_;
  std::string vram_;
};

// Prints the budget to stdout, or the JSON where that is "-". Returns the exit code. Throws std::system_error where the
// data cannot be read, the device not be had, or the JSON not be written. `root`: see ReadOverview.
int BudgetCommand(const BudgetCommandLine::Options& options, const std::string& root = "/");

}  // namespace stoker

// The command line of `stoker run`: every option with its unit, range, default and reason.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "loader/options.h"

namespace stoker {

// What the command line says. `loader` is complete but for the recipe's size under `--transform none`, which the first
// picture gives.
struct RunOptions {
  std::string path;  // a folder; empty with `list`
  std::string list;
  std::string classes;  // a file of class names
  bool allow_empty = false;
  int64_t epochs = 1;
  double step_ms = 0;
  std::string json;
  std::string dump;
  std::string trace;
  bool size_from_first = false;  // --transform none
  LoaderOptions loader;
};

// The raw words of the command line, before they are checked together.
class RunCommandLine {
 public:
  // Adds the options to `command`, which must outlive this object's use.
  void AddTo(CLI::App& command);
  // Only those that say what is to be loaded: no knobs that a sweep varies, nothing of one run's length and output.
  void AddJobTo(CLI::App& command);
  // What was given, checked as a whole. Throws std::invalid_argument naming the option, its value and what is allowed.
  RunOptions Finish() const;

 private:
  void AddData(CLI::App& command);
  void AddPixels(CLI::App& command);
  void AddKnobs(CLI::App& command);
  void AddPipeline(CLI::App& command);
  void AddFaults(CLI::App& command);
  void AddOutput(CLI::App& command);
  Recipe MakeRecipe() const;

  RunOptions options_;
  std::string transform_ = "train";
  int32_t size_ = 224;
  ElementType element_ = ElementType::kUint8;
  Layout layout_ = Layout::kNchw;
  Channels channels_ = Channels::kRgb;
  Interpolation interpolation_ = Interpolation::kBilinear;
  std::vector<float> mean_;
  std::vector<float> std_;
  uint64_t memory_limit_ = 0;
  uint64_t max_file_bytes_ = uint64_t{256} << 20;
};

}  // namespace stoker

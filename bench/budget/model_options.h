// The command line of a model: what is trained, or answered with, and how.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <string>

#include "bench/budget/model.h"

namespace stoker {

// The raw words, before they are checked together.
class ModelCommandLine {
 public:
  // Adds the options to `command`, which must outlive this object's use.
  void AddTo(CLI::App& command);

  // Whether a model was described. Throws std::invalid_argument where options of one were given without --parameters.
  bool given() const;

  // What is shared with the loader's options.
  struct Shared {
    int64_t batch_size = 64;
    int64_t world_size = 1;
    int64_t picture_size = 224;
  };
  // The model, checked as a whole. Throws std::invalid_argument naming the option, its value and what is allowed.
  Model Finish(const Shared& shared) const;

 private:
  std::optional<Layers> FinishLayers(int64_t picture_size) const;
  std::optional<KvCache> FinishKvCache() const;
  void CheckSense(const Model& model) const;

  CLI::App* command_ = nullptr;
  std::string parameters_, lora_parameters_, cuda_context_;
  std::string precision_ = "mixed", optimizer_ = "adamw", gradients_, weights_;
  int64_t zero_ = 0;
  bool checkpointing_ = false, flash_attention_ = false;
  std::optional<int64_t> layers_, hidden_, heads_, sequence_, patch_, vocabulary_, kv_heads_, head_dim_, context_;
  std::optional<double> activation_mb_;
};

}  // namespace stoker

// What to do where a model does not fit a GPU.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "bench/budget/model.h"

namespace stoker {

struct Advice {
  std::string what;
  std::optional<double> total_bytes = {};  // of everything, after this alone; nothing: not counted
};

// Steps against a lack of memory, the cheapest first: smaller batches, fewer bits, checkpointing, a smaller optimizer
// state, more GPUs, and the CPU's memory last. Empty where it fits. `other_bytes`: of the GPU's memory, that others
// take beside the model. Pure.
std::vector<Advice> Advise(const Model& model, double other_bytes, double vram_bytes);

}  // namespace stoker

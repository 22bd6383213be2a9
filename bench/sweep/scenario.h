// The job that a sweep looks for settings for: what changes what a batch holds, what the caller does with it, and
// whether the page cache has the files.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "loader/options.h"

namespace stoker {

struct Scenario {
  int32_t batch_size = 64;
  ElementType element = ElementType::kUint8;
  DecodeMode decode = DecodeMode::kExact;
  double step_ms = 0;
  bool cold = false;

  bool operator==(const Scenario&) const = default;
};

// "batch 64, uint8, exact, step 0 ms, warm page cache".
std::string ScenarioWords(const Scenario& scenario);
nlohmann::json ToJson(const Scenario& scenario);

// The loader's options for it, out of those of the job. Floats are normalised with ImageNet's values where the job does
// not normalise.
LoaderOptions WithScenario(LoaderOptions job, const Scenario& scenario);
Scenario ScenarioOf(const LoaderOptions& job, double step_ms, bool cold);

// What else one could do, each one step away from `scenario`: another dtype, decoding, half and twice the batch.
std::vector<Scenario> Alternatives(const Scenario& scenario);
// What differs: "decode fast"; "as it is" for the same.
std::string DifferenceWords(const Scenario& from, const Scenario& to);

}  // namespace stoker

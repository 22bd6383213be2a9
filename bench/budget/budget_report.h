// A budget in words and as JSON.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "bench/budget/advice.h"
#include "bench/budget/loader_budget.h"

namespace stoker {

struct ModelBudget {
  std::vector<Term> terms;             // the loader's device slots among them
  std::optional<double> vram_bytes{};  // that all of it has to fit; nothing: not known
  std::string vram_source;             // whose
  std::vector<Advice> advice;          // where it does not fit
};

struct BudgetReport {
  std::optional<LoaderBudget> loader;
  std::optional<ModelBudget> model;
};

std::string FormatBudget(const BudgetReport& report);

// Every term with its name, bytes and formula. Null is what is not known. `schema_version` changes when a key does.
nlohmann::json ToJson(const BudgetReport& report);

}  // namespace stoker

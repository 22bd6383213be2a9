#include "bench/sweep/scenario.h"

#include <fmt/format.h>

#include <algorithm>
#include <variant>

namespace stoker {
namespace {

constexpr int32_t kLargestBatch = 65536;

const char* DecodeName(DecodeMode decode) { return decode == DecodeMode::kExact ? "exact" : "fast"; }

bool IsNormalize(const auto& op) { return std::holds_alternative<Normalize>(op); }

}  // namespace

std::string ScenarioWords(const Scenario& scenario) {
  return fmt::format("batch {}, {}, decode {}, step {:g} ms, {} page cache", scenario.batch_size,
                     ElementName(scenario.element), DecodeName(scenario.decode), scenario.step_ms,
                     scenario.cold ? "cold" : "warm");
}

nlohmann::json ToJson(const Scenario& scenario) {
  return {{"batch_size", scenario.batch_size},
          {"dtype", ElementName(scenario.element)},
          {"decode", DecodeName(scenario.decode)},
          {"step_ms", scenario.step_ms},
          {"page_cache", scenario.cold ? "cold" : "warm"}};
}

LoaderOptions WithScenario(LoaderOptions job, const Scenario& scenario) {
  job.batch_size = scenario.batch_size;
  job.decode = scenario.decode;
  Recipe& recipe = job.recipe;
  recipe.element = scenario.element;
  const bool normalises = std::ranges::any_of(recipe.ops, [](const auto& op) { return IsNormalize(op); });
  if (scenario.element == ElementType::kUint8) {
    std::erase_if(recipe.ops, [](const auto& op) { return IsNormalize(op); });
  } else if (!normalises && recipe.channels == Channels::kRgb) {
    recipe.ops.emplace_back(Normalize{{kImageNetMean[0], kImageNetMean[1], kImageNetMean[2]},
                                      {kImageNetStd[0], kImageNetStd[1], kImageNetStd[2]}});
  }
  return job;
}

Scenario ScenarioOf(const LoaderOptions& job, double step_ms, bool cold) {
  return {job.batch_size, job.recipe.element, job.decode, step_ms, cold};
}

std::vector<Scenario> Alternatives(const Scenario& scenario) {
  std::vector<Scenario> alternatives;
  const auto add = [&](auto change) {
    Scenario other = scenario;
    change(other);
    if (other != scenario) alternatives.push_back(other);
  };
  add([](Scenario& other) { other.decode = DecodeMode::kFast; });
  for (const ElementType element : {ElementType::kUint8, ElementType::kBfloat16, ElementType::kFloat32}) {
    add([&](Scenario& other) { other.element = element; });
  }
  add([](Scenario& other) { other.batch_size = std::max(other.batch_size / 2, int32_t{1}); });
  add([](Scenario& other) { other.batch_size = std::min(other.batch_size, kLargestBatch / 2) * 2; });
  return alternatives;
}

std::string DifferenceWords(const Scenario& from, const Scenario& to) {
  std::string words;
  const auto add = [&](const std::string& more) { words += (words.empty() ? "" : ", ") + more; };
  if (from.batch_size != to.batch_size) add(fmt::format("batch {}", to.batch_size));
  if (from.element != to.element) add(std::string(ElementName(to.element)));
  if (from.decode != to.decode) add(fmt::format("decode {}", DecodeName(to.decode)));
  if (from.step_ms != to.step_ms) add(fmt::format("step {:g} ms", to.step_ms));
  if (from.cold != to.cold) add(to.cold ? "cold page cache" : "warm page cache");
  return words.empty() ? "as it is" : words;
}

}  // namespace stoker

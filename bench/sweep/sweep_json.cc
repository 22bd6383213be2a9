#include "bench/sweep/sweep_json.h"

#include <fmt/format.h>

#include "bench/sweep/run_json.h"

namespace stoker {
namespace {

using nlohmann::json;

constexpr int kSchemaVersion = 1;

json ToJson(const Interval& interval) {
  json object = {{"mean", interval.mean}, {"runs", interval.runs}};
  object["margin"] = interval.margin ? json(*interval.margin) : json(nullptr);
  return object;
}

json ToJson(const Lane& lane) {
  json object = {{"setting", stoker::ToJson(lane.setting)}, {"rates", lane.rates}, {"failed", lane.failed}};
  if (!lane.rates.empty()) object["rate"] = ToJson(lane.rate());
  if (lane.against) object["against_best"] = ToJson(*lane.against);
  return object;
}

json ToJson(const Finding& finding, const Scenario& scenario) {
  json lanes = json::array(), baselines = json::array(), predictions = json::array();
  for (const Lane& lane : finding.lanes) lanes.push_back(ToJson(lane));
  for (const Finding::Beside& beside : finding.baselines) {
    baselines.push_back(ToJson(beside.lane));
    baselines.back()["name"] = beside.name;
  }
  for (const Prediction& prediction : finding.predictions) {
    predictions.push_back({{"num_workers", prediction.num_workers},
                           {"predicted", prediction.predicted},
                           {"measured", prediction.measured}});
  }
  return {{"best", ToJson(finding.best)},
          {"recommended", ToJson(finding.recommended)},
          {"typical", stoker::ToJson(finding.typical)},
          {"cpp", CppLine(scenario, finding.recommended.setting)},
          {"python", PythonLine(scenario, finding.recommended.setting)},
          {"baselines", baselines},
          {"lanes", lanes},
          {"predictions", predictions},
          {"runs", finding.runs},
          {"grid_runs", finding.grid_runs},
          {"falls_beyond", finding.falls_beyond},
          {"failures", finding.failures}};
}

}  // namespace

json ToJson(const SweepResult& result, const SweepFacts& facts) {
  json scenarios = json::array(), alternatives = json::array();
  for (const ScenarioResult& one : result.scenarios) {
    json runs = json::array();
    for (const Measurement& run : one.runs) runs.push_back(ToJson(run));
    scenarios.push_back({{"scenario", ToJson(one.scenario)},
                         {"words", ScenarioWords(one.scenario)},
                         {"finding", one.finding ? ToJson(*one.finding, one.scenario) : json(nullptr)},
                         {"runs", runs}});
  }
  for (const Alternative& one : result.alternatives) {
    json object = ToJson(one.lane);
    object.update({{"name", one.name}, {"memory_bytes", one.memory_bytes}, {"error", one.error}});
    alternatives.push_back(object);
  }
  json limits = json::array();
  for (const StepLimit& one : result.step_limits) {
    limits.push_back({{"step_ms", one.step_ms}, {"images_per_second", one.images_per_second}});
  }
  return {{"schema_version", kSchemaVersion},
          {"command", facts.command},
          {"date", facts.date},
          {"machine", facts.machine},
          {"data", facts.data},
          {"pictures", facts.pictures},
          {"pictures_in_all", facts.pictures_in_all},
          {"cpus", facts.cpus},
          {"runs", result.runs},
          {"repeated", result.repeated},
          {"restarts", result.restarts},
          {"foreign_cpus", result.foreign_cpus},
          {"unsteady", result.unsteady},
          {"interrupted", result.interrupted},
          {"scenarios", scenarios},
          {"alternatives", alternatives},
          {"step_limits", limits}};
}

std::string CppLine(const Scenario& scenario, const Setting& setting) {
  std::string line = fmt::format("stoker::LoaderOptions options{{.batch_size = {}", scenario.batch_size);
  if (scenario.decode == DecodeMode::kFast) line += ", .decode = stoker::DecodeMode::kFast";
  line += fmt::format(", .num_workers = {}, .prefetch_factor = {}", setting.num_workers, setting.prefetch_factor);
  if (setting.reader == ReaderKind::kUring) line += ", .reader = stoker::ReaderKind::kUring";
  if (setting.reader == ReaderKind::kPread) line += ", .reader = stoker::ReaderKind::kPread";
  return line + fmt::format(", .queue_depth = {}}};", setting.queue_depth);
}

std::string PythonLine(const Scenario& scenario, const Setting& setting) {
  std::string line = fmt::format("dataset, batch_size={}, num_workers={}, prefetch_factor={}", scenario.batch_size,
                                 setting.num_workers, setting.prefetch_factor);
  if (scenario.decode == DecodeMode::kFast) line += ", decode=\"fast\"";
  const Setting usual;
  if (setting.reader != usual.reader) line += fmt::format(", reader=\"{}\"", ReaderName(setting.reader));
  if (setting.queue_depth != usual.queue_depth) line += fmt::format(", queue_depth={}", setting.queue_depth);
  return fmt::format("stoker.torch.DataLoader({})", line);
}

}  // namespace stoker

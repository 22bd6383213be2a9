#include "bench/sweep/run_json.h"

#include <algorithm>
#include <stdexcept>

namespace stoker {
namespace {

using nlohmann::json;

constexpr std::array kReaders = {ReaderKind::kAuto, ReaderKind::kUring, ReaderKind::kPread};

template <size_t N>
size_t IndexOf(const std::array<const char*, N>& names, const std::string& name) {
  const auto found = std::ranges::find(names, name);
  if (found == names.end()) throw std::invalid_argument("no such name: " + name);
  return static_cast<size_t>(found - names.begin());
}

template <size_t N>
json ByStage(const std::array<double, N>& values) {
  json object = json::object();
  for (size_t i = 0; i < N; ++i) object[kStageNames[i]] = values[i];
  return object;
}

template <size_t N>
std::array<double, N> FromStages(const json& object) {
  std::array<double, N> values = {};
  for (size_t i = 0; i < N; ++i) values[i] = object.at(kStageNames[i]);
  return values;
}

}  // namespace

json ToJson(const Setting& setting) {
  return {{"num_workers", setting.num_workers},
          {"prefetch_factor", setting.prefetch_factor},
          {"queue_depth", setting.queue_depth},
          {"reader", ReaderName(setting.reader)}};
}

Setting SettingFrom(const json& json) {
  Setting setting = {json.at("num_workers"), json.at("prefetch_factor"), json.at("queue_depth")};
  const auto reader = std::ranges::find(kReaders, json.at("reader").get<std::string>(),
                                        [](ReaderKind kind) { return std::string(ReaderName(kind)); });
  if (reader == kReaders.end()) throw std::invalid_argument("no such reader");
  setting.reader = *reader;
  return setting;
}

json ToJson(const Measurement& measurement) {
  json object = ToJson(measurement.setting);
  object["round"] = measurement.round;
  if (!measurement.error.empty()) {
    object["error"] = measurement.error;
    return object;
  }
  object.update({
      {"images_per_second", measurement.images_per_second},
      {"first_batch_seconds", measurement.first_batch_seconds},
      {"seconds", measurement.seconds},
      {"cpu_seconds_per_1000", measurement.cpu_seconds_per_1000},
      {"memory_bytes", measurement.memory_bytes},
      {"planned_bytes", measurement.planned_bytes},
      {"step_seconds", measurement.step_seconds},
      {"foreign_cpus", measurement.foreign_cpus},
      {"stall_share", measurement.stall_share},
      {"shares", ByStage(measurement.shares)},
      {"ceilings", ByStage(measurement.ceilings)},
      {"busy", ByStage(measurement.busy)},
      {"cached_share", measurement.cached_share},
      {"read_ms", measurement.read_ms},
      {"leader", kStageNames[static_cast<size_t>(measurement.leader)]},
      {"bound", kBoundNames[static_cast<size_t>(measurement.bound)]},
      {"verdict", measurement.verdict},
      {"advice", measurement.advice},
  });
  return object;
}

Measurement MeasurementFrom(const json& json) {
  Measurement measurement;
  measurement.setting = SettingFrom(json);
  measurement.round = json.at("round");
  if (json.contains("error")) {
    measurement.error = json.at("error");
    return measurement;
  }
  measurement.images_per_second = json.at("images_per_second");
  measurement.first_batch_seconds = json.at("first_batch_seconds");
  measurement.seconds = json.at("seconds");
  measurement.cpu_seconds_per_1000 = json.at("cpu_seconds_per_1000");
  measurement.memory_bytes = json.at("memory_bytes");
  measurement.planned_bytes = json.at("planned_bytes");
  measurement.step_seconds = json.at("step_seconds");
  measurement.foreign_cpus = json.at("foreign_cpus");
  measurement.stall_share = json.at("stall_share");
  measurement.shares = FromStages<kStages>(json.at("shares"));
  measurement.ceilings = FromStages<kServedStages>(json.at("ceilings"));
  measurement.busy = FromStages<kServedStages>(json.at("busy"));
  measurement.cached_share = json.at("cached_share");
  measurement.read_ms = json.at("read_ms");
  measurement.leader = static_cast<Stage>(IndexOf(kStageNames, json.at("leader")));
  measurement.bound = static_cast<Bound>(IndexOf(kBoundNames, json.at("bound")));
  measurement.verdict = json.at("verdict");
  measurement.advice = json.at("advice");
  return measurement;
}

}  // namespace stoker

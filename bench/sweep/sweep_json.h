// A sweep's result as JSON: for programs, and for the HTML report, which shows it.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "bench/sweep/sweep.h"

namespace stoker {

// What a result is read with.
struct SweepFacts {
  std::string command = {}, date = {}, machine = {};  // the machine in lines
  std::string data;                                   // path
  uint64_t pictures = 0, pictures_in_all = 0;
  int32_t cpus = 0;
};

nlohmann::json ToJson(const SweepResult& result, const SweepFacts& facts);

// What to type for a setting: designated initialisers, and the drop-in's arguments.
std::string CppLine(const Scenario& scenario, const Setting& setting);
std::string PythonLine(const Scenario& scenario, const Setting& setting);

}  // namespace stoker

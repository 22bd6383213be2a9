// The diagnosis table: what people see, which figure of our report tells it, where to look on, and what to do.
#pragma once

#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace stoker {

struct Symptom {
  std::string_view name;     // for `stoker explain NAME`
  std::string_view seen;     // what people see
  std::string_view figure;   // what of our report tells it from the others
  std::string_view look;     // where to look on
  std::string_view command;  // that shows it
  std::string_view remedy;
  // Whether a line of the periodic report, or the report of `stoker run --json`, shows it. The line has the schema of
  // bench/report.schema.json; what is missing shows nothing.
  bool (*shows)(const nlohmann::json& report);
};

// Those that slow a job down first, then memory, then the machine.
std::span<const Symptom> AllSymptoms();

// The rows that `report` shows, in the table's order.
std::vector<const Symptom*> SymptomsIn(const nlohmann::json& report);

}  // namespace stoker

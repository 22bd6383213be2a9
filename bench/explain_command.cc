#include "bench/explain_command.h"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>

#include "bench/explain/symptoms.h"
#include "bench/run_command.h"

namespace stoker {
namespace {

void Print(const Symptom& symptom) {
  fmt::print("{}\n  seen     {}\n  told by  {}\n  look at  {}\n  command  {}\n  remedy   {}\n\n", symptom.name,
             symptom.seen, symptom.figure, symptom.look, symptom.command, symptom.remedy);
}

const Symptom* Find(std::string_view name) {
  for (const Symptom& symptom : AllSymptoms()) {
    if (symptom.name == name) return &symptom;
  }
  return nullptr;
}

std::string Names() {
  std::string names;
  for (const Symptom& symptom : AllSymptoms()) names += fmt::format("{}{}", names.empty() ? "" : ", ", symptom.name);
  return names;
}

// One JSON text, or the last whole one of a file with one a line.
nlohmann::json ReadReport(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  nlohmann::json report = nlohmann::json::parse(text, nullptr, false);
  for (size_t end = text.size(); report.is_discarded() && end > 0;) {
    const size_t line_end = text.find_last_not_of('\n', end - 1);
    if (line_end == std::string::npos) break;
    const size_t before = text.rfind('\n', line_end);
    const size_t begin = before == std::string::npos ? 0 : before + 1;
    report = nlohmann::json::parse(text.substr(begin, line_end + 1 - begin), nullptr, false);
    end = begin;
  }
  if (!report.is_object()) {
    throw std::invalid_argument(fmt::format("{}: neither a file of --report-file nor of stoker run --json", path));
  }
  return report;
}

int ExplainReport(const std::string& path) {
  const nlohmann::json report = ReadReport(path);
  const std::vector<const Symptom*> shown = SymptomsIn(report);
  for (const Symptom* symptom : shown) Print(*symptom);
  if (shown.empty()) fmt::print("{} shows none of: {}\n", path, Names());
  return shown.empty() ? kExitFailed : kExitOk;
}

}  // namespace

void AddExplainOptions(CLI::App& command, ExplainOptions& options) {
  command.add_option("what", options.what, "A row's name, or a report; without it the whole table")
      ->option_text("NAME|FILE");
}

int ExplainCommand(const ExplainOptions& options) {
  if (options.what.empty()) {
    for (const Symptom& symptom : AllSymptoms()) Print(symptom);
    return kExitOk;
  }
  if (const Symptom* symptom = Find(options.what)) {
    Print(*symptom);
    return kExitOk;
  }
  if (std::filesystem::is_regular_file(options.what)) return ExplainReport(options.what);
  throw std::invalid_argument(fmt::format("explain: \"{}\" is no file and no row (rows: {})", options.what, Names()));
}

}  // namespace stoker

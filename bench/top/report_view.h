// A line of a loader's report as `stoker top` reads it: written by who knows whom, maybe by another version.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace stoker {

// Nothing here throws for what a report holds: what is missing, or of another type, is not known.
class ReportView {
 public:
  ReportView() = default;
  explicit ReportView(nlohmann::json report) : report_(std::move(report)) {}
  // Of one line; nothing where it is no JSON object with the fields that a report has at the least.
  static std::optional<ReportView> Parse(std::string_view line);

  // By JSON pointer, such as "/stalls/shares/io". Numbers too large for any figure of ours are not known.
  std::optional<double> Number(const std::string& pointer) const;
  double NumberOr(const std::string& pointer, double fallback) const { return Number(pointer).value_or(fallback); }
  bool IsFalse(const std::string& pointer) const;
  // Printable; see Printable.
  std::string Text(const std::string& pointer) const;
  std::vector<std::string> Texts(const std::string& pointer) const;

 private:
  const nlohmann::json* Find(const std::string& pointer) const;

  nlohmann::json report_ = nlohmann::json::object();
};

// In printable ASCII: a question mark for every other character, so that none moves the cursor or colours the terminal.
std::string Printable(std::string_view text);

}  // namespace stoker

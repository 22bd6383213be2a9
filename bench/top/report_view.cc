#include "bench/top/report_view.h"

#include <cmath>

namespace stoker {
namespace {

constexpr double kLargestFigure = 1e15;

}  // namespace

std::optional<ReportView> ReportView::Parse(std::string_view line) {
  nlohmann::json report = nlohmann::json::parse(line, nullptr, false);
  if (!report.is_object()) return std::nullopt;
  ReportView view(std::move(report));
  if (!view.Number("/step") || !view.Number("/stalls/shares/decode")) return std::nullopt;
  return view;
}

const nlohmann::json* ReportView::Find(const std::string& pointer) const {
  const nlohmann::json::json_pointer path(pointer);
  return report_.contains(path) ? &report_.at(path) : nullptr;
}

std::optional<double> ReportView::Number(const std::string& pointer) const {
  const nlohmann::json* const value = Find(pointer);
  if (value == nullptr || !value->is_number()) return std::nullopt;
  const auto number = value->get<double>();
  return std::abs(number) <= kLargestFigure ? std::optional(number) : std::nullopt;
}

bool ReportView::IsFalse(const std::string& pointer) const {
  const nlohmann::json* const value = Find(pointer);
  return value != nullptr && value->is_boolean() && !value->get<bool>();
}

std::string ReportView::Text(const std::string& pointer) const {
  const nlohmann::json* const value = Find(pointer);
  return value != nullptr && value->is_string() ? Printable(value->get_ref<const std::string&>()) : "";
}

std::vector<std::string> ReportView::Texts(const std::string& pointer) const {
  std::vector<std::string> texts;
  const nlohmann::json* const values = Find(pointer);
  if (values == nullptr || !values->is_array()) return texts;
  for (const nlohmann::json& value : *values) {
    if (value.is_string()) texts.push_back(Printable(value.get_ref<const std::string&>()));
  }
  return texts;
}

std::string Printable(std::string_view text) {
  std::string printable;
  for (const char c : text) {
    const auto byte = static_cast<uint8_t>(c);
    if (byte >= 0x80 && byte < 0xc0) continue;  // the rest of a character
    printable += byte >= 0x20 && byte < 0x7f ? c : '?';
  }
  return printable;
}

}  // namespace stoker

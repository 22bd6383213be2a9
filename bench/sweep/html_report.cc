#include "bench/sweep/html_report.h"

#include <string_view>

#include "bench/sweep/html_parts.h"

namespace stoker {
namespace {

// JSON within a script element: neither "</script>" nor "<!--" may be in it. A "<" is in strings only.
std::string InScript(const nlohmann::json& json) {
  constexpr std::string_view kEscaped = "\\u003c";
  std::string text = json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  for (size_t at = 0; (at = text.find('<', at)) != std::string::npos; at += kEscaped.size()) {
    text.replace(at, 1, kEscaped);
  }
  return text;
}

void Replace(std::string& page, std::string_view mark, std::string_view text) {
  page.replace(page.find(mark), mark.size(), text);
}

}  // namespace

std::string HtmlReport(const nlohmann::json& result) {
  std::string page(kReportPage);
  Replace(page, "/*CHART_LIBRARY*/", kChartLibrary);
  Replace(page, "/*CHARTS_SCRIPT*/", kChartsScript);
  Replace(page, "/*REPORT_SCRIPT*/", kReportScript);
  Replace(page, "{\"RESULT\": 0}", InScript(result));
  return page;
}

}  // namespace stoker

// A sweep's result as a page for a browser: one file, no network.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace stoker {

// `result`: as ToJson(SweepResult) gives it.
std::string HtmlReport(const nlohmann::json& result);

}  // namespace stoker

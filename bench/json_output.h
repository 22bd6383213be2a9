// Where a command's --json goes.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace stoker {

// Writes `json` to `file`, or to stdout where that is "-". What is no UTF-8 in it is replaced. Throws std::system_error
// naming `what` ("the report") and the file.
void WriteJson(const std::string& file, const nlohmann::json& json, const std::string& what);

}  // namespace stoker

// The stall report as JSON. Not for users of the library: they would need the JSON library, too.
#pragma once

#include <nlohmann/json.hpp>

#include "loader/stall_report.h"

namespace stoker {

nlohmann::json ToJson(const StallReport& report);

}  // namespace stoker

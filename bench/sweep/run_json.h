// A run as JSON: what a sweep keeps, and goes on from.
#pragma once

#include <nlohmann/json.hpp>

#include "loader/tuning/setting.h"

namespace stoker {

nlohmann::json ToJson(const Setting& setting);
nlohmann::json ToJson(const Measurement& measurement);
// Throws std::exception where it is not one.
Setting SettingFrom(const nlohmann::json& json);
Measurement MeasurementFrom(const nlohmann::json& json);

}  // namespace stoker

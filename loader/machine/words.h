// How the overview and the periodic reports write figures.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace stoker {

// "25.3 GB", "8.4 MB", "65.5 kB"; decimal units.
std::string BytesWords(int64_t bytes);
// "9.8k", "340": images a second in few letters.
std::string RateWords(double images_per_second);
// "0-3,8"; "none".
std::string ListWords(const std::vector<int32_t>& ascending);
// "1 CPU", "2 CPUs".
std::string CountWords(int64_t count, const std::string& thing);

}  // namespace stoker

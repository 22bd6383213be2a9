#include "loader/machine/words.h"

#include <fmt/format.h>

#include <cmath>

namespace stoker {

std::string BytesWords(int64_t bytes) {
  constexpr double kKilo = 1e3, kMega = 1e6, kGiga = 1e9;
  const auto amount = static_cast<double>(bytes);
  const double size = std::abs(amount);
  if (size >= kGiga) return fmt::format("{:.1f} GB", amount / kGiga);
  if (size >= kMega) return fmt::format("{:.1f} MB", amount / kMega);
  return fmt::format("{:.1f} kB", amount / kKilo);
}

std::string RateWords(double images_per_second) {
  return images_per_second >= 1e4   ? fmt::format("{:.0f}k", images_per_second / 1e3)
         : images_per_second >= 1e3 ? fmt::format("{:.1f}k", images_per_second / 1e3)
                                    : fmt::format("{:.0f}", images_per_second);
}

std::string ListWords(const std::vector<int32_t>& ascending) {
  std::string words;
  for (size_t i = 0; i < ascending.size();) {
    size_t last = i;
    while (last + 1 < ascending.size() && ascending[last + 1] == ascending[last] + 1) ++last;
    words += fmt::format("{}{}", words.empty() ? "" : ",", ascending[i]);
    if (last > i) words += fmt::format("-{}", ascending[last]);
    i = last + 1;
  }
  return words.empty() ? "none" : words;
}

std::string CountWords(int64_t count, const std::string& thing) {
  return fmt::format("{} {}{}", count, thing, count == 1 ? "" : "s");
}

}  // namespace stoker

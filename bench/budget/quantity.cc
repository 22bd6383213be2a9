#include "bench/budget/quantity.h"

#include <fmt/format.h>

#include <array>
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <stdexcept>
#include <utility>

namespace stoker {
namespace {

constexpr double kMaxCount = 1e15;
constexpr double kMaxBytes = 1e18;

using Unit = std::pair<std::string_view, double>;
constexpr std::array<Unit, 5> kCounts = {{{"", 1}, {"k", 1e3}, {"m", 1e6}, {"b", 1e9}, {"t", 1e12}}};
constexpr std::array<Unit, 10> kSizes = {{{"", 1},
                                          {"b", 1},
                                          {"kb", 1e3},
                                          {"mb", 1e6},
                                          {"gb", 1e9},
                                          {"tb", 1e12},
                                          {"kib", 0x1p10},
                                          {"mib", 0x1p20},
                                          {"gib", 0x1p30},
                                          {"tib", 0x1p40}}};

// A number and one of `units`, in letters of any case; nothing where it is something else.
template <size_t kUnits>
std::optional<double> Parse(const std::string& text, const std::array<Unit, kUnits>& units) {
  if (text.empty() || (std::isdigit(static_cast<unsigned char>(text[0])) == 0 && text[0] != '.')) return std::nullopt;
  char* end = nullptr;
  const double number = std::strtod(text.c_str(), &end);
  if (end == text.c_str()) return std::nullopt;
  std::string unit;
  for (; *end != '\0'; ++end) {
    if (*end != ' ') unit += static_cast<char>(std::tolower(static_cast<unsigned char>(*end)));
  }
  for (const auto& [name, factor] : units) {
    if (unit == name) return number * factor;
  }
  return std::nullopt;
}

}  // namespace

double ParseCount(std::string_view option, const std::string& text) {
  const std::optional<double> count = Parse(text, kCounts);
  if (count && *count >= 1 && *count <= kMaxCount) return *count;
  throw std::invalid_argument(
      fmt::format("{} \"{}\" (allowed: 1 to {:g}, such as 7e9, 7B, 125M)", option, text, kMaxCount));
}

double ParseBytes(std::string_view option, const std::string& text) {
  const std::optional<double> bytes = Parse(text, kSizes);
  if (bytes && *bytes >= 0 && *bytes <= kMaxBytes) return *bytes;
  throw std::invalid_argument(
      fmt::format("{} \"{}\" (allowed: 0 to {:g} bytes, such as 24GB, 24GiB, 500MB)", option, text, kMaxBytes));
}

std::string AmountWords(double bytes) {
  const double size = std::abs(bytes);
  if (size >= 1e9) return fmt::format("{:.2f} GB", bytes / 1e9);
  if (size >= 1e6) return fmt::format("{:.1f} MB", bytes / 1e6);
  if (size >= 1e3) return fmt::format("{:.1f} kB", bytes / 1e3);
  return fmt::format("{:.0f} B", bytes);
}

std::string ShortCount(double count) {
  for (const auto& [unit, factor] : {std::pair{"e12", 1e12}, std::pair{"e9", 1e9}, std::pair{"e6", 1e6}}) {
    if (count >= factor) return fmt::format("{:.4g}{}", count / factor, unit);
  }
  return fmt::format("{:.10g}", count);
}

}  // namespace stoker

#include "bench/top/lines.h"

#include <algorithm>
#include <cmath>
#include <string_view>

namespace stoker {

std::string Label(const std::string& text) {
  return text + std::string(text.size() < kLabelWidth ? kLabelWidth - text.size() : 0, ' ');
}

std::string Cut(const std::string& text, size_t width) {
  constexpr std::string_view kMore = "..";
  if (text.size() <= width) return text;
  return width <= kMore.size() ? text.substr(0, width) : text.substr(0, width - kMore.size()) + std::string(kMore);
}

void AddPhrases(Lines& lines, Rank rank, const std::string& label, const std::vector<std::string>& phrases,
                size_t width, Tone tone) {
  std::string text;
  for (const std::string& phrase : phrases) {
    const std::string_view gap = text.empty() ? "" : "  ";
    const bool fits = text.empty() || kLabelWidth + text.size() + gap.size() + phrase.size() <= width;
    if (!phrase.empty() && fits) text.append(gap).append(phrase);
  }
  if (!text.empty()) lines.push_back({rank, {{Label(label), Tone::kDim}, {Cut(text, width - kLabelWidth), tone}}});
}

void AddText(Lines& lines, Rank rank, const std::string& label, const std::string& text, size_t width, Tone tone) {
  const size_t room = width - kLabelWidth;
  bool first = true;
  for (size_t at = 0; at < text.size();) {
    size_t end = std::min(at + room, text.size());
    if (end < text.size()) {
      size_t space = text.rfind(' ', end);
      // A figure and its per cent stay together.
      if (space != std::string::npos && space > 0 && text[space + 1] == '%') space = text.rfind(' ', space - 1);
      if (space != std::string::npos && space > at) end = space;
    }
    const size_t last = text.find_last_not_of(' ', end - 1);
    lines.push_back({rank, {{Label(first ? label : ""), Tone::kDim}, {text.substr(at, last + 1 - at), tone}}});
    first = false;
    at = std::min(text.find_first_not_of(' ', end), text.size());
  }
}

void AddBar(ScreenLine& line, double share, size_t width) {
  const auto filled = static_cast<size_t>(std::lround(std::clamp(share, 0.0, 1.0) * static_cast<double>(width)));
  line.push_back({"[", Tone::kDim});
  line.push_back({std::string(filled, '#'), Tone::kBar});
  line.push_back({std::string(width - filled, ' ') + "]", Tone::kDim});
}

}  // namespace stoker

#include "bench/top/screen.h"

#include <fmt/format.h>

#include <algorithm>

#include "bench/top/report_lines.h"
#include "loader/machine/words.h"

namespace stoker {
namespace {

constexpr size_t kLeastWidth = 40;
// A live report is old when it is so many seconds, and so many steps.
constexpr double kStaleSeconds = 3, kStaleSteps = 3;

std::string SecondsWords(double seconds) {
  if (seconds < 10) return fmt::format("{:.1f} s", seconds);
  if (seconds < 120) return fmt::format("{:.0f} s", seconds);
  return seconds < 7200 ? fmt::format("{:.0f} min", seconds / 60) : fmt::format("{:.0f} h", seconds / 3600);
}

bool IsStale(const LoaderView& loader) {
  return loader.age_seconds > kStaleSeconds &&
         loader.age_seconds > kStaleSteps * loader.report.NumberOr("/step_ms", 0) / 1e3;
}

// Left and right ends of one line; the right one only where both fit.
ScreenLine Ends(const Span& left, const Span& right, size_t width) {
  if (right.text.empty() || left.text.size() + right.text.size() + 2 > width)
    return {{Cut(left.text, width), left.tone}};
  return {left, {std::string(width - left.text.size() - right.text.size(), ' ')}, right};
}

// The loaders of the process under each other, the one that is shown below marked.
void AddLoaders(Lines& lines, const JobView& view, size_t width) {
  if (view.loaders.size() < 2) return;
  for (size_t i = 0; i < view.loaders.size(); ++i) {
    const ReportView& report = view.loaders[i].report;
    const bool selected = i == view.selected;
    AddPhrases(
        lines, Rank::kLoaders, fmt::format("{} loader {}", selected ? '>' : ' ', i + 1),
        {fmt::format("{:7.1f} ms", report.NumberOr("/step_ms", 0)),
         fmt::format("stall {:5.1f} %", 100 * report.NumberOr("/stalls/stall_share", 0)),
         fmt::format("{:<8}", report.Text("/stalls/leader")), fmt::format("step {:.0f}", report.NumberOr("/step", 0)),
         IsStale(view.loaders[i]) ? SecondsWords(view.loaders[i].age_seconds) + " ago" : ""},
        width, selected ? Tone::kTitle : Tone::kPlain);
  }
}

Span Age(const JobView& view) {
  if (!view.notice.empty()) return {view.notice, Tone::kWarning};
  if (view.loaders.empty()) return {};
  const LoaderView& loader = view.loaders[view.selected];
  const std::string age = SecondsWords(loader.age_seconds);
  if (loader.waiting_seconds && *loader.waiting_seconds > kStaleSeconds) {
    return {fmt::format("waiting for a batch for {}", SecondsWords(*loader.waiting_seconds)), Tone::kWarning};
  }
  if (view.live && IsStale(loader)) return {fmt::format("no batch asked for since {}", age), Tone::kWarning};
  std::string text = fmt::format("{} {} ago", view.live ? "updated" : "written", age);
  if (view.damaged > 0) text += ", " + CountWords(view.damaged, "damaged line");
  return {text, Tone::kDim};
}

// Takes out what matters least until the rest fits, the lower of two that matter the same.
void Fit(Lines& lines, size_t height) {
  while (lines.size() > height) {
    auto least = lines.begin();
    for (auto line = lines.begin(); line != lines.end(); ++line) {
      if (line->rank >= least->rank) least = line;
    }
    lines.erase(least);
  }
}

ScreenLine CutLine(const ScreenLine& line, size_t width) {
  ScreenLine cut;
  for (const Span& span : line) {
    cut.push_back({span.text.substr(0, width), span.tone});
    width -= cut.back().text.size();
  }
  return cut;
}

// The lines, and `bottom` as the last of the screen.
std::vector<ScreenLine> LayOut(Lines lines, const ScreenLine& bottom, int width, int height) {
  if (width < 1 || height < 0) return {};
  if (height > 0) Fit(lines, static_cast<size_t>(height - 1));
  std::vector<ScreenLine> screen;
  for (const RankedLine& line : lines) screen.push_back(CutLine(line.spans, static_cast<size_t>(width)));
  while (height > 0 && screen.size() < static_cast<size_t>(height - 1)) screen.emplace_back();
  screen.push_back(CutLine(bottom, static_cast<size_t>(width)));
  return screen;
}

struct Meaning {
  const char* word;
  const char* text;
};
constexpr Meaning kMeanings[] = {
    {"step", "from one batch to the next, mean since the last report; its moving average over reports"},
    {"stall", "of that time, what your code waited for a batch: in next(), or the device for a copy"},
    {"path", "what the time went into, along the critical path: sums to 100 %, with its 95 % interval"},
    {"img/s", "what the stage could do if only it worked; x rate: how many times the present rate"},
    {"busy", "how much of the time of its workers, reads in flight or copy engine the stage uses"},
    {"+10 %", "how much more images a second if the stage worked 10 % faster"},
    {"run queue", "of the time that its threads could run, they had no CPU"},
    {"gpu", "busy: some kernel ran; 100 % does not mean full use"},
    {"slots", "full ones are batches that wait for your code; always full: the loader keeps up"},
};

}  // namespace

std::vector<ScreenLine> Draw(const JobView& view, int width, int height) {
  const size_t wide = std::max(static_cast<size_t>(std::max(width, 0)), kLeastWidth);
  Lines lines;
  const Span where = {view.where, Tone::kDim};
  const std::string job = Cut(view.job, wide - std::min(where.text.size() + 2, wide / 2));
  lines.push_back({Rank::kJob, Ends({job, Tone::kTitle}, where, wide)});
  AddLoaders(lines, view, wide);
  if (!view.loaders.empty()) AddReport(lines, view.loaders[view.selected].report, wide);
  lines.push_back({Rank::kEmpty, {}});
  const Span age = Age(view);
  if (!view.explanation.empty()) AddText(lines, Rank::kWarnings, "", view.explanation, wide);
  return LayOut(std::move(lines), Ends(age, {view.keys, Tone::kDim}, wide), width, height);
}

std::vector<ScreenLine> DrawHelp(int width, int height) {
  const size_t wide = std::max(static_cast<size_t>(std::max(width, 0)), kLeastWidth);
  Lines lines;
  for (const Meaning& meaning : kMeanings) AddText(lines, Rank::kJob, meaning.word, meaning.text, wide);
  return LayOut(std::move(lines), {{"any key: back", Tone::kDim}}, width, height);
}

std::string PlainText(const std::vector<ScreenLine>& lines) {
  std::string text;
  for (const ScreenLine& line : lines) {
    std::string plain;
    for (const Span& span : line) plain += span.text;
    plain.resize(plain.find_last_not_of(' ') + 1);
    text += plain + '\n';
  }
  return text;
}

}  // namespace stoker

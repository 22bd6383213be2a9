// Lines of a screen: labelled, coloured by meaning, and ranked by what may be left out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace stoker {

// What a stretch of a line is, for who can colour it.
enum class Tone : uint8_t { kPlain, kTitle, kDim, kBar, kWarning };
struct Span {
  std::string text;
  Tone tone = Tone::kPlain;
};
using ScreenLine = std::vector<Span>;

// Where there is too little room, the last goes first.
enum class Rank : uint8_t {
  kJob,
  kStep,
  kStall,
  kStageBars,
  kLoaders,
  kWarnings,
  kVerdict,
  kMemory,
  kCpu,
  kOtherStages,
  kSlots,
  kGpu,
  kPrediction,
  kAdvice,
  kHeading,
  kPathParts,
  kReader,
  kEmpty,
};
struct RankedLine {
  Rank rank;
  ScreenLine spans;
};
using Lines = std::vector<RankedLine>;

inline constexpr size_t kLabelWidth = 10;

// "text   ", as wide as a label.
std::string Label(const std::string& text);
// Cut to `width` characters, with two dots where something is missing.
std::string Cut(const std::string& text, size_t width);

// Adds a line of those phrases that fit behind the label, in their order; empty ones do not count. None: no line.
void AddPhrases(Lines& lines, Rank rank, const std::string& label, const std::vector<std::string>& phrases,
                size_t width, Tone tone = Tone::kPlain);
// Adds all of a text behind its label, over as many lines as it takes.
void AddText(Lines& lines, Rank rank, const std::string& label, const std::string& text, size_t width,
             Tone tone = Tone::kPlain);
// "[####    ]", `width` within the brackets.
void AddBar(ScreenLine& line, double share, size_t width);

}  // namespace stoker

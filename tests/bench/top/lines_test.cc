#include "bench/top/lines.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace stoker {
namespace {

std::vector<std::string> Texts(const Lines& lines) {
  std::vector<std::string> texts;
  for (const RankedLine& line : lines) {
    texts.emplace_back();
    for (const Span& span : line.spans) texts.back() += span.text;
  }
  return texts;
}

TEST(Lines, TextGoesOverAsManyLinesAsItTakes) {
  Lines lines;
  AddText(lines, Rank::kVerdict, "verdict", "one two  three", 18);
  EXPECT_THAT(Texts(lines), testing::ElementsAre("verdict   one two", "          three"));
}

TEST(Lines, AWordThatIsTooLongIsBroken) {
  Lines lines;
  AddText(lines, Rank::kVerdict, "", "abcdefgh", 15);
  EXPECT_THAT(Texts(lines), testing::ElementsAre("          abcde", "          fgh"));
}

TEST(Lines, AFigureStaysWithItsPerCent) {
  Lines lines;
  AddText(lines, Rank::kVerdict, "", "it is 12 % now", 18);
  EXPECT_THAT(Texts(lines), testing::ElementsAre("          it is", "          12 % now"));
}

TEST(Lines, PhrasesThatDoNotFitAreLeftOut) {
  Lines lines;
  AddPhrases(lines, Rank::kStep, "step", {"12", "", "a long phrase", "short"}, 22);
  AddPhrases(lines, Rank::kStep, "none", {"", ""}, 22);
  AddPhrases(lines, Rank::kStep, "first", {"always, even cut"}, 20);
  EXPECT_THAT(Texts(lines), testing::ElementsAre("step      12  short", "first     always, .."));
}

TEST(Lines, ABarIsAsFullAsItsShare) {
  ScreenLine line;
  AddBar(line, 0.5, 4);
  AddBar(line, -1, 2);
  AddBar(line, 7, 2);
  EXPECT_EQ(Texts({{Rank::kJob, line}})[0], "[##  ][  ][##]");
}

}  // namespace
}  // namespace stoker

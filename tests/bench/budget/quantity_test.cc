#include "bench/budget/quantity.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>

namespace stoker {
namespace {

using testing::AllOf;
using testing::HasSubstr;

// The message that `parse` refuses with.
template <typename Parse>
std::string Refusal(const Parse& parse, const std::string& text) {
  try {
    parse("--option", text);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "accepted";
}

TEST(Quantity, CountsAreReadAsPeopleWriteThem) {
  EXPECT_EQ(ParseCount("", "7e9"), 7e9);
  EXPECT_EQ(ParseCount("", "7B"), 7e9);
  EXPECT_EQ(ParseCount("", "125M"), 125e6);
  EXPECT_EQ(ParseCount("", "1.5t"), 1.5e12);
  EXPECT_EQ(ParseCount("", "64 k"), 64e3);
  EXPECT_EQ(ParseCount("", "1"), 1);
}

TEST(Quantity, BytesAreDecimalButForTheIecUnits) {
  EXPECT_EQ(ParseBytes("", "24GB"), 24e9);
  EXPECT_EQ(ParseBytes("", "24gib"), 24.0 * (int64_t{1} << 30));
  EXPECT_EQ(ParseBytes("", "1.5 MB"), 1.5e6);
  EXPECT_EQ(ParseBytes("", "1000"), 1000);
  EXPECT_EQ(ParseBytes("", "0"), 0);
}

TEST(Quantity, AbsurdNumbersAreRefusedWithWhatIsAllowed) {
  for (const char* text : {"1e30", "0", "-7B", "nan", "inf", "1e999", "", "B", "7X", "7BB", "seven", "1e15.5", "0x"}) {
    EXPECT_THAT(Refusal(ParseCount, text), AllOf(HasSubstr("--option \"" + std::string(text) + "\""), HasSubstr("7B")))
        << text;
  }
  for (const char* text : {"-1", "nan", "1e19", "24G B x", "1e999GB", "99999999999TB", ""}) {
    EXPECT_THAT(Refusal(ParseBytes, text), AllOf(HasSubstr("--option"), HasSubstr("allowed: 0 to 1e+18"))) << text;
  }
}

TEST(Quantity, AmountsAreShort) {
  EXPECT_EQ(AmountWords(18e9), "18.00 GB");
  EXPECT_EQ(AmountWords(9'634'880), "9.6 MB");
  EXPECT_EQ(AmountWords(36'864), "36.9 kB");
  EXPECT_EQ(AmountWords(0), "0 B");
  EXPECT_EQ(ShortCount(7e9), "7e9");
  EXPECT_EQ(ShortCount(125.5e6), "125.5e6");
  EXPECT_EQ(ShortCount(197), "197");
}

}  // namespace
}  // namespace stoker

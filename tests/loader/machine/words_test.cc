#include "loader/machine/words.h"

#include <gtest/gtest.h>

namespace stoker {
namespace {

TEST(Words, AreThoseOfAPerson) {
  EXPECT_EQ(BytesWords(0), "0.0 kB");
  EXPECT_EQ(BytesWords(65'536), "65.5 kB");
  EXPECT_EQ(BytesWords(8'388'608), "8.4 MB");
  EXPECT_EQ(BytesWords(25'300'000'000), "25.3 GB");
  EXPECT_EQ(ListWords({}), "none");
  EXPECT_EQ(ListWords({3}), "3");
  EXPECT_EQ(ListWords({0, 1, 2, 8, 10, 11}), "0-2,8,10-11");
  EXPECT_EQ(CountWords(1, "CPU"), "1 CPU");
  EXPECT_EQ(CountWords(0, "CPU"), "0 CPUs");
}

}  // namespace
}  // namespace stoker

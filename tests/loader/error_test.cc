#include "loader/error.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace stoker {
namespace {

TEST(LoadError, HasWordsOfItsOwnForEveryValue) {
  std::set<std::string> words;
  int values = 0;
  for (int value = static_cast<int>(LoadError::kChangedSize); value <= static_cast<int>(LoadError::kCancelled);
       ++value) {
    const std::error_code code = static_cast<LoadError>(value);
    EXPECT_EQ(code.category(), load_category());
    EXPECT_TRUE(code);
    EXPECT_NE(code.message(), "unknown load error");
    words.insert(code.message());
    ++values;
  }
  EXPECT_EQ(words.size(), static_cast<size_t>(values));
  EXPECT_STREQ(load_category().name(), "load");
  EXPECT_EQ(load_category().message(9999), "unknown load error");
}

TEST(LoadError, IsNoOtherCategorysError) {
  EXPECT_EQ(std::error_code(LoadError::kChangedSize), LoadError::kChangedSize);
  EXPECT_NE(std::error_code(1, std::generic_category()), LoadError::kChangedSize);
}

TEST(Error, SaysItsMessageAndNothingElse) {
  const Error error(LoadError::kNoMemory, "read", "cat/1.jpg", 17, "cat/1.jpg: no room; free some");
  EXPECT_STREQ(error.what(), "cat/1.jpg: no room; free some");
  EXPECT_EQ(error.code(), LoadError::kNoMemory);
  EXPECT_EQ(error.stage(), "read");
  EXPECT_EQ(error.sample(), "cat/1.jpg");
  EXPECT_EQ(error.offset_bytes(), 17);
  EXPECT_EQ(error.id(), -1);
  EXPECT_EQ(error.reason(), error.code().message());
}

TEST(Error, NamesTheSampleThatIsToBlame) {
  const Error error(LoadError::kChangedSize, "read", {"cat/1.jpg", 5, 17, "JPEG: cut"}, "whole");
  EXPECT_EQ(error.sample(), "cat/1.jpg");
  EXPECT_EQ(error.id(), 5);
  EXPECT_EQ(error.offset_bytes(), 17);
  EXPECT_EQ(error.reason(), "JPEG: cut");
}

TEST(Error, IsCaughtAsTheStandardsException) {
  try {
    throw Error(LoadError::kCancelled, "next", "", -1, "cancelled");
  } catch (const std::exception& error) {
    EXPECT_STREQ(error.what(), "cancelled");
  }
}

}  // namespace
}  // namespace stoker

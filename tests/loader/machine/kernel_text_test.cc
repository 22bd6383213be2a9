#include "loader/machine/kernel_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <set>

#include "tests/loader/machine/kernel_tree.h"

namespace stoker {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(NumberBehind, FindsItsLineAndNoOther) {
  const std::string text = "cancelled_read_bytes: 1\nread_bytes: 23\nread_bytes: 4\n";
  EXPECT_EQ(NumberBehind(text, "read_bytes:"), 23);
  EXPECT_EQ(NumberBehind("VmRSS:\t    1700 kB\n", "VmRSS:"), 1700);
  EXPECT_EQ(NumberBehind("a 9223372036854775807", "a"), 9223372036854775807);
}

TEST(NumberBehind, SaysNothingForWhatIsNoNumber) {
  for (const char* text : {"", "a", "a ", "a x", "a -1", "a 9223372036854775808", " a 1", "ab", "\n\n"}) {
    EXPECT_EQ(NumberBehind(text, "a "), std::nullopt) << text;
  }
}

TEST(TextBehind, GivesTheRestOfTheLine) {
  EXPECT_EQ(TextBehind("model\t: 1\nmodel name\t: A B (C)\nx\n", "model name"), "A B (C)");
  EXPECT_EQ(TextBehind("Cpus_allowed:\t3\nCpus_allowed_list:\t0-1\n", "Cpus_allowed_list"), "0-1");
  EXPECT_EQ(TextBehind("Cpus_allowed_list:\t0-1\n", "Cpus_allowed"), "") << "another word that begins so";
  for (const char* text : {"", "\n", "key", "key:", "key:\n", "keys: 1"})
    EXPECT_EQ(TextBehind(text, "key"), "") << text;
}

TEST(NumbersOfList, ReadsRanges) {
  EXPECT_THAT(NumbersOfList("0-3,8,10-11\n"), ElementsAre(0, 1, 2, 3, 8, 10, 11));
  EXPECT_THAT(NumbersOfList("7"), ElementsAre(7));
  for (const char* text : {"", "\n", "x", "0-", "-3", "0-99999999", "1;2", "0-3x", "4-"}) {
    EXPECT_THAT(NumbersOfList(text), IsEmpty()) << text;
  }
}

TEST(ReadKernelText, ReadsFilesOfAnyLengthAndFoldersAsNothing) {
  const KernelTree tree;
  for (const size_t bytes : {0, 1, 4095, 4096, 4097, 100'000}) {
    tree.Write("file", std::string(bytes, 'x'));
    EXPECT_EQ(ReadKernelText(tree.root() + "/file").size(), bytes);
  }
  EXPECT_EQ(ReadKernelText(tree.root()), "");
  EXPECT_EQ(ReadKernelText(tree.root() + "/none"), "");
  tree.Write("lines", "one\ntwo\n");
  EXPECT_EQ(ReadKernelLine(tree.root() + "/lines"), "one");
  EXPECT_EQ(ReadKernelLine(tree.root() + "/none"), std::nullopt);
}

TEST(KernelFolder, ListsNumbersOnlyAndCutsLongFiles) {
  const KernelTree tree;
  for (const char* name : {"12", "7", "self", "12a", "-3", "0", "99999999999999"}) tree.Write(name, "0123456789");
  KernelFolder folder(tree.root());
  std::set<int32_t> numbers;
  while (const int32_t number = folder.NextNumber()) numbers.insert(number);
  EXPECT_THAT(numbers, ElementsAre(7, 12));
  std::array<char, 4> buffer;
  EXPECT_EQ(folder.Read("7", buffer), "0123");
  EXPECT_EQ(folder.Read("8", buffer), "");
  KernelFolder none(tree.root() + "/none");
  EXPECT_EQ(none.NextNumber(), 0);
  EXPECT_EQ(none.Read("7", buffer), "");
}

}  // namespace
}  // namespace stoker

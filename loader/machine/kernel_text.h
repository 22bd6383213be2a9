// Small text files of the kernel's, below /proc and /sys. Nothing here throws for what it reads: a file that is
// missing, forbidden or odd says nothing.
#pragma once

#include <dirent.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace stoker {

// A folder that stays open: its files are then found without walking the path again.
class KernelFolder {
 public:
  explicit KernelFolder(const std::string& path) : folder_(opendir(path.c_str())) {}

  // The beginning of file `name`, no more than `buffer` takes; empty where it cannot be read.
  std::string_view Read(const char* name, std::span<char> buffer) const noexcept;
  // The next name that is a number, a process or a thread; 0 after the last.
  int32_t NextNumber() noexcept;

 private:
  struct Close {
    void operator()(DIR* folder) const noexcept { closedir(folder); }
  };
  std::unique_ptr<DIR, Close> folder_;
};

// All of a file, to 1 MiB; empty where it cannot be read.
std::string ReadKernelText(const std::string& path);
// Its first line, or nothing where it has none.
std::optional<std::string> ReadKernelLine(const std::string& path);

// The number, 0 or more, that follows `key` at the beginning of a line, with blanks between.
std::optional<int64_t> NumberBehind(std::string_view text, std::string_view key) noexcept;
// What follows `key` at the beginning of a line, with blanks and a colon between, to the end of that line; empty where
// there is no such line.
std::string_view TextBehind(std::string_view text, std::string_view key) noexcept;
// The numbers in "0-3,8,10-11", ascending as they stand there; empty where the text is odd. None above 65535.
std::vector<int32_t> NumbersOfList(std::string_view text);
// The number that `text` begins with, behind blanks, and moves `text` behind it.
std::optional<int64_t> TakeNumber(std::string_view& text) noexcept;

}  // namespace stoker

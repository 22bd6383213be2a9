#include "loader/machine/kernel_text.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>

namespace stoker {
namespace {

constexpr size_t kMaxTextBytes = size_t{1} << 20;
constexpr int64_t kMaxListed = 65535;  // more CPUs than any machine has
constexpr std::string_view kBlanks = " \t";

// Reads until the end or until `buffer` is full; returns the bytes that it got.
size_t ReadAll(int file, std::span<char> buffer) noexcept {
  size_t bytes = 0;
  while (bytes < buffer.size()) {
    const ssize_t got = read(file, buffer.data() + bytes, buffer.size() - bytes);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    bytes += static_cast<size_t>(got);
  }
  return bytes;
}

}  // namespace

std::string_view KernelFolder::Read(const char* name, std::span<char> buffer) const noexcept {
  if (folder_ == nullptr) return {};
  const int file = openat(dirfd(folder_.get()), name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) return {};
  const size_t bytes = ReadAll(file, buffer);
  close(file);
  return {buffer.data(), bytes};
}

int32_t KernelFolder::NextNumber() noexcept {
  if (folder_ == nullptr) return 0;
  while (const dirent* entry = readdir(folder_.get())) {
    const std::string_view name = entry->d_name;
    int32_t number = 0;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
    if (error == std::errc() && end == name.data() + name.size() && number > 0) return number;
  }
  return 0;
}

std::string ReadKernelText(const std::string& path) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) return "";
  std::string text(4096, '\0');
  size_t bytes = ReadAll(file, text);
  while (bytes == text.size() && bytes < kMaxTextBytes) {
    text.resize(2 * bytes);
    bytes += ReadAll(file, std::span(text).subspan(bytes));
  }
  text.resize(bytes);
  close(file);
  return text;
}

std::optional<std::string> ReadKernelLine(const std::string& path) {
  const std::string text = ReadKernelText(path);
  if (text.empty()) return std::nullopt;
  return text.substr(0, text.find('\n'));
}

std::optional<int64_t> TakeNumber(std::string_view& text) noexcept {
  text.remove_prefix(std::min(text.find_first_not_of(kBlanks), text.size()));
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || number < 0) return std::nullopt;
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  return number;
}

std::string_view TextBehind(std::string_view text, std::string_view key) noexcept {
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    if (line.starts_with(key)) {
      const size_t start = line.find_first_not_of(" \t:", key.size());
      if (start != std::string_view::npos && start > key.size()) return line.substr(start);
    }
    text.remove_prefix(std::min(line.size() + 1, text.size()));
  }
  return {};
}

std::vector<int32_t> NumbersOfList(std::string_view text) {
  std::vector<int32_t> numbers;
  while (!text.empty() && text != "\n") {
    const auto first = TakeNumber(text);
    auto last = first;
    if (text.starts_with('-')) {
      text.remove_prefix(1);
      last = TakeNumber(text);
    }
    if (!first || !last || *last > kMaxListed) return {};
    for (int64_t number = *first; number <= *last; ++number) numbers.push_back(static_cast<int32_t>(number));
    if (text.starts_with(',')) {
      text.remove_prefix(1);
    } else if (!text.empty() && text != "\n") {
      return {};
    }
  }
  return numbers;
}

std::optional<int64_t> NumberBehind(std::string_view text, std::string_view key) noexcept {
  while (!text.empty()) {
    if (text.starts_with(key)) {
      std::string_view rest = text.substr(key.size());
      if (const auto number = TakeNumber(rest)) return number;
    }
    text.remove_prefix(std::min(text.find('\n'), text.size() - 1) + 1);
  }
  return std::nullopt;
}

}  // namespace stoker

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <limits>
#include <map>

#include "loader/error.h"
#include "loader/file_source.h"

namespace stoker {
namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
constexpr const char* kBlank = " \t";

Error ListError(const std::string& file, uint64_t line, const std::string& what) {
  return {std::make_error_code(std::errc::invalid_argument), "scan", ValidUtf8(file), -1,
          fmt::format("{}:{}: {}", ValidUtf8(file), line, what)};
}

// Calls `use(line, number)` for each line that is not blank, without its end and surrounding blanks.
template <typename Use>
void ForEachLine(const std::string& file, Use use) {
  std::ifstream lines(file, std::ios::binary);
  if (!lines) {
    const int error = errno;
    throw Error({error, std::generic_category()}, "scan", ValidUtf8(file), -1,
                fmt::format("cannot open {}: {}", ValidUtf8(file), std::generic_category().message(error)));
  }
  std::string text;
  for (uint64_t number = 1; std::getline(lines, text); ++number) {
    std::string_view line = text;
    if (number == 1 && line.starts_with(kByteOrderMark)) line.remove_prefix(kByteOrderMark.size());
    if (line.ends_with('\r')) line.remove_suffix(1);
    const size_t begin = line.find_first_not_of(kBlank);
    if (begin == std::string_view::npos) continue;
    use(line.substr(begin, line.find_last_not_of(kBlank) - begin + 1), number);
  }
}

struct ListedFile {
  std::string path;
  std::string label;
  uint64_t line = 0;
};

std::vector<ListedFile> ReadLines(const std::string& list) {
  std::vector<ListedFile> files;
  ForEachLine(list, [&](std::string_view line, uint64_t number) {
    const size_t space = line.find_last_of(kBlank);
    if (space == std::string_view::npos) {
      throw ListError(list, number, fmt::format("\"{}\" has no label: expected `path label`", ValidUtf8(line)));
    }
    const std::string_view path = line.substr(0, line.find_last_not_of(kBlank, space) + 1);
    files.push_back({std::string(path), std::string(line.substr(space + 1)), number});
  });
  return files;
}

bool ParseLabel(const std::string& text, int32_t& label) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), label);
  return error == std::errc() && end == text.data() + text.size() && label >= 0;
}

// A number, if perhaps not one that can be a label.
bool LooksNumeric(std::string_view text) {
  if (text.starts_with('-') || text.starts_with('+')) text.remove_prefix(1);
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

// Labels are numbers everywhere or class names everywhere.
ClassNames NamesIn(const std::string& list, const std::vector<ListedFile>& files, const ScanOptions& options) {
  if (options.classes) return *options.classes;
  int32_t label = 0;
  const auto numeric = [&](const ListedFile& file) { return ParseLabel(file.label, label); };
  if (std::all_of(files.begin(), files.end(), numeric)) return {};
  for (const ListedFile& file : files) {
    if (!LooksNumeric(file.label) || numeric(file)) continue;
    throw ListError(
        list, file.line,
        fmt::format("label \"{}\" is not a class index (0 to {})", file.label, std::numeric_limits<int32_t>::max()));
  }
  const auto number = std::find_if(files.begin(), files.end(), numeric);
  if (number != files.end()) {
    throw ListError(list, number->line,
                    fmt::format("label \"{}\" is a number, others are class names: use one kind", number->label));
  }
  ClassNames names;
  for (const ListedFile& file : files) names.push_back(file.label);
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

using LabelByName = std::map<std::string, int32_t>;

int32_t LabelOf(const std::string& list, const ListedFile& file, const LabelByName& names) {
  int32_t label = 0;
  const auto name = names.find(file.label);
  if (name != names.end()) return name->second;
  if (!ParseLabel(file.label, label) || (!names.empty() && static_cast<size_t>(label) >= names.size())) {
    throw ListError(list, file.line, fmt::format("label \"{}\" is not one of the classes", ValidUtf8(file.label)));
  }
  return label;
}

}  // namespace

ClassNames ReadClassNames(const std::string& file) {
  ClassNames names;
  ForEachLine(file, [&](std::string_view line, uint64_t number) {
    if (std::find(names.begin(), names.end(), line) != names.end()) {
      throw ListError(file, number, fmt::format("class \"{}\" comes twice", ValidUtf8(line)));
    }
    names.emplace_back(line);
  });
  return names;
}

std::unique_ptr<FileSource> OpenList(const std::string& list, const ScanOptions& options) {
  const std::vector<ListedFile> files = ReadLines(list);
  if (files.empty() && !options.allow_empty) throw ListError(list, 1, "the list names no file");
  const ClassNames names = NamesIn(list, files, options);
  const std::string base = list.substr(0, list.rfind('/') + 1);

  LabelByName labels;
  for (const std::string& name : names) labels.emplace(name, static_cast<int32_t>(labels.size()));

  FileSource::Builder builder;
  for (const ListedFile& file : files) {
    builder.AddPath(file.path.starts_with('/') ? file.path : base + file.path, LabelOf(list, file, labels));
  }
  return builder.Build("", names);
}

}  // namespace stoker

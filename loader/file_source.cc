#include "loader/file_source.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <climits>
#include <cstring>

#include "loader/side_by_side.h"

namespace stoker {
namespace {

// torchvision's list and the other names that JPEGs and TIFFs go by.
constexpr std::array<std::string_view, 12> kExtensions = {".jpg", ".jpeg", ".png",  ".ppm", ".bmp",  ".pgm",
                                                          ".tif", ".tiff", ".webp", ".jpe", ".jfif", ".dib"};
// The share of files that a read buffer is made for; larger ones get a buffer of their own.
constexpr double kTypicalQuantile = 0.99;
// A run of files that is worth a thread.
constexpr size_t kSizesAtOnce = 1024;

// The length of the valid UTF-8 sequence that `text` begins with; 0 where there is none (RFC 3629).
size_t Utf8Length(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  const uint8_t lead = byte(0);
  if (lead < 0x80) return 1;
  const size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || text.size() < length) return 0;
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return 0;
  }
  const bool overlong = (lead == 0xE0 && byte(1) < 0xA0) || (lead == 0xF0 && byte(1) < 0x90);
  const bool surrogate = lead == 0xED && byte(1) >= 0xA0;
  const bool beyond = lead == 0xF4 && byte(1) >= 0x90;
  return overlong || surrogate || beyond ? 0 : length;
}

}  // namespace

std::string ValidUtf8(std::string_view text) {
  std::string valid;
  while (!text.empty()) {
    const size_t length = Utf8Length(text);
    if (length == 0) {
      valid += fmt::format("\\x{:02x}", static_cast<uint8_t>(text[0]));
    } else {
      valid += text.substr(0, length);
    }
    text.remove_prefix(std::max<size_t>(length, 1));
  }
  return valid;
}

bool IsPictureName(std::string_view name) noexcept {
  const auto same = [](char a, char b) { return (a >= 'A' && a <= 'Z' ? a - 'A' + 'a' : a) == b; };
  return std::any_of(kExtensions.begin(), kExtensions.end(), [&](std::string_view extension) {
    return name.size() > extension.size() &&
           std::equal(extension.rbegin(), extension.rend(), name.rbegin(), [&](char b, char a) { return same(a, b); });
  });
}

uint32_t FileSource::Builder::AddFolder(std::string folder) {
  folders_.push_back(std::move(folder));
  return static_cast<uint32_t>(folders_.size() - 1);
}

void FileSource::Builder::Reserve(size_t files, size_t name_bytes) {
  files_.reserve(files);
  names_.reserve(name_bytes + files);
}

void FileSource::Builder::AddFile(uint32_t folder, std::string_view name, int64_t label, uint64_t bytes) {
  files_.push_back({names_.size(), bytes, folder, static_cast<int32_t>(label)});
  names_.insert(names_.end(), name.begin(), name.end());
  names_.push_back('\0');
}

uint32_t FileSource::Builder::FolderNumber(std::string_view folder) {
  if (!folders_.empty() && folders_.back() == folder) return static_cast<uint32_t>(folders_.size() - 1);
  const auto found = folder_numbers_.find(std::string(folder));
  if (found != folder_numbers_.end()) return found->second;
  const uint32_t number = AddFolder(std::string(folder));
  folder_numbers_.emplace(folder, number);
  return number;
}

void FileSource::Builder::AddPath(std::string_view path, int64_t label) {
  const size_t slash = path.rfind('/');
  const std::string_view folder = slash == 0 ? "/" : path.substr(0, slash == std::string_view::npos ? 0 : slash);
  AddFile(FolderNumber(folder), path.substr(slash == std::string_view::npos ? 0 : slash + 1), label, kNotTaken);
}

void FileSource::Builder::TakeSizes() {
  SideBySide((files_.size() + kSizesAtOnce - 1) / kSizesAtOnce, [this](size_t run) {
    for (size_t i = run * kSizesAtOnce; i < std::min((run + 1) * kSizesAtOnce, files_.size()); ++i) {
      if (files_[i].bytes != kNotTaken) continue;
      char path[PATH_MAX];
      struct stat status = {};
      const bool found = Path(i, path, sizeof path) && stat(path, &status) == 0;
      files_[i].bytes = found ? static_cast<uint64_t>(status.st_size) : 0;
    }
  });
}

std::unique_ptr<FileSource> FileSource::Builder::Build(std::string root, ClassNames classes) {
  folder_numbers_ = {};
  TakeSizes();
  std::unique_ptr<FileSource> source(new FileSource());
  std::vector<uint64_t> sizes;
  sizes.reserve(files_.size());
  for (const File& file : files_) sizes.push_back(file.bytes);
  if (!sizes.empty()) {
    const auto place = static_cast<size_t>(kTypicalQuantile * static_cast<double>(sizes.size() - 1));
    std::nth_element(sizes.begin(), sizes.begin() + static_cast<std::ptrdiff_t>(place), sizes.end());
    source->typical_bytes_ = sizes[place];
  }
  source->table_ = std::move(*this);
  source->root_ = std::move(root);
  source->classes_ = std::move(classes);
  return source;
}

Extents FileSource::ExtentsOf(uint64_t id, const DecodeRequest*) const noexcept {
  Extents extents;
  extents.Add({static_cast<uint32_t>(id), 0, table_.files_[id].bytes, true});
  return extents;
}

bool FileSource::Builder::Path(size_t file, char* path, size_t capacity) const noexcept {
  const std::string& folder = folders_[files_[file].folder];
  const char* name = names_.data() + files_[file].name_offset;
  const size_t name_bytes = std::strlen(name);
  if (folder.size() + 1 + name_bytes + 1 > capacity) return false;
  std::memcpy(path, folder.data(), folder.size());
  size_t end = folder.size();
  if (!folder.empty() && folder.back() != '/') path[end++] = '/';
  std::memcpy(path + end, name, name_bytes + 1);
  return true;
}

std::string FileSource::Name(uint64_t id) const {
  std::string_view folder = table_.folders_[table_.files_[id].folder];
  if (folder.starts_with(root_)) folder.remove_prefix(root_.size());
  if (folder.starts_with('/') && !root_.empty()) folder.remove_prefix(1);
  const std::string name = NameOf(id);
  return ValidUtf8(folder.empty() || folder.ends_with('/') ? std::string(folder) + name
                                                           : std::string(folder) + "/" + name);
}

size_t FileSource::memory_bytes() const noexcept {
  size_t folders = 0;
  for (const std::string& folder : table_.folders_) folders += sizeof folder + folder.capacity();
  return folders + table_.names_.capacity() + table_.files_.capacity() * sizeof(Builder::File);
}

}  // namespace stoker

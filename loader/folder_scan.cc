#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <set>

#include "loader/error.h"
#include "loader/file_source.h"
#include "loader/side_by_side.h"

namespace stoker {
namespace {

constexpr size_t kShownNames = 5;

// A folder by identity, however it was reached.
using FolderId = std::pair<dev_t, ino_t>;

// One folder's pictures in compact form, sorted by name.
struct ScannedFolder {
  struct Entry {
    uint32_t name_offset = 0;
    uint64_t bytes = 0;
  };
  std::string path;
  std::vector<char> names;
  std::vector<Entry> entries;

  std::string_view NameOf(const Entry& entry) const { return names.data() + entry.name_offset; }
};

// Everything below one class.
struct ScannedClass {
  std::string name;
  std::vector<ScannedFolder> folders;
  ScanSummary summary;
  std::unique_ptr<Error> error;

  uint64_t files() const {
    uint64_t sum = 0;
    for (const ScannedFolder& folder : folders) sum += folder.entries.size();
    return sum;
  }
};

Error ScanError(int error, const std::string& path, const std::string& message) {
  return {std::error_code(error, std::generic_category()), "scan", ValidUtf8(path), -1, message};
}

class OpenedFolder {
 public:
  explicit OpenedFolder(const std::string& path) : stream_(opendir(path.c_str())) {
    if (stream_ == nullptr) {
      const int error = errno;
      throw ScanError(
          error, path,
          fmt::format("cannot read folder {}: {}", ValidUtf8(path), std::generic_category().message(error)));
    }
  }
  ~OpenedFolder() { closedir(stream_); }
  OpenedFolder(const OpenedFolder&) = delete;
  OpenedFolder& operator=(const OpenedFolder&) = delete;

  const dirent* Next() { return readdir(stream_); }
  int descriptor() const { return dirfd(stream_); }
  FolderId id() const {
    struct stat status = {};
    fstat(descriptor(), &status);
    return {status.st_dev, status.st_ino};
  }
  bool IsLink(const char* name) const {
    struct stat status = {};
    return fstatat(descriptor(), name, &status, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(status.st_mode);
  }

 private:
  DIR* stream_;
};

// Walks the folders below one class: the real ones first, then what links lead to, each folder once. In byte order, so
// that the same tree gives the same samples on every file system.
class ClassScanner {
 public:
  explicit ClassScanner(ScannedClass& result) : result_(result) {}

  // `above`: the folders that `path` lies in, back to which no link may lead.
  void Scan(const std::string& path, bool subfolders, std::vector<FolderId> above) {
    links_.push_back({path, std::move(above)});
    // Scanning a folder may add more links to the end.
    for (size_t next = 0; next < links_.size();) {
      const Link link = links_[next++];
      ancestors_ = link.ancestors;
      ScanFolder(link.path, subfolders);
    }
  }

 private:
  // A folder to be scanned later, and the folders that it was reached through.
  struct Link {
    std::string path;
    std::vector<FolderId> ancestors;
  };

  void ScanFolder(const std::string& path, bool subfolders) {
    ScannedFolder scanned;
    scanned.path = path;
    std::vector<std::string> below, links;
    {
      OpenedFolder folder(path);
      if (!visited_.insert(folder.id()).second) {
        ++result_.summary.repeated_links;
        return;
      }
      ancestors_.push_back(folder.id());
      while (const dirent* entry = folder.Next()) {
        struct stat status = {};
        const bool readable = fstatat(folder.descriptor(), entry->d_name, &status, 0) == 0;
        if (!readable || !S_ISDIR(status.st_mode) || entry->d_name[0] == '.') {
          AddFile(*entry, readable ? &status : nullptr, scanned);
        } else if (subfolders) {
          CheckLoop(path, entry->d_name, status);
          (folder.IsLink(entry->d_name) ? links : below).emplace_back(entry->d_name);
        }
      }
    }
    std::sort(scanned.entries.begin(), scanned.entries.end(),
              [&](const auto& a, const auto& b) { return scanned.NameOf(a) < scanned.NameOf(b); });
    if (!scanned.entries.empty()) result_.folders.push_back(std::move(scanned));
    std::sort(below.begin(), below.end());
    std::sort(links.begin(), links.end());
    for (const std::string& name : links) links_.push_back({fmt::format("{}/{}", path, name), ancestors_});
    for (const std::string& name : below) ScanFolder(fmt::format("{}/{}", path, name), true);
    ancestors_.pop_back();
  }

  // `status` is null where the entry cannot be looked at.
  void AddFile(const dirent& entry, const struct stat* status, ScannedFolder& scanned) {
    const std::string_view name = entry.d_name;
    if (name == "." || name == "..") return;
    if (name.starts_with('.')) {
      ++result_.summary.hidden;
      return;
    }
    // A link to nothing still counts by its name: reading it will say what is wrong with it.
    if (!IsPictureName(name) || (status != nullptr && !S_ISREG(status->st_mode))) {
      ++result_.summary.ignored_files;
      return;
    }
    scanned.entries.push_back(
        {static_cast<uint32_t>(scanned.names.size()), status != nullptr ? static_cast<uint64_t>(status->st_size) : 0});
    scanned.names.insert(scanned.names.end(), name.begin(), name.end());
    scanned.names.push_back('\0');
  }

  void CheckLoop(const std::string& path, const char* name, const struct stat& status) const {
    const FolderId id = {status.st_dev, status.st_ino};
    if (std::find(ancestors_.begin(), ancestors_.end(), id) == ancestors_.end()) return;
    const std::string link = ValidUtf8(path + "/" + name);
    throw ScanError(ELOOP, link, fmt::format("the link {} leads back to a folder that it lies in: remove it", link));
  }

  ScannedClass& result_;
  std::set<FolderId> visited_;
  std::vector<FolderId> ancestors_;
  std::vector<Link> links_;
};

void ScanClass(const std::string& root, ScannedClass& result) {
  try {
    ClassScanner(result).Scan(root + "/" + result.name, true, {OpenedFolder(root).id()});
  } catch (const Error& error) {
    result.error = std::make_unique<Error>(error);
  }
  std::sort(result.folders.begin(), result.folders.end(), [](const auto& a, const auto& b) { return a.path < b.path; });
}

// Each class is one thread's, so what a class holds does not depend on the others.
void ScanClasses(const std::string& root, std::vector<ScannedClass>& classes) {
  SideBySide(classes.size(), [&](size_t i) { ScanClass(root, classes[i]); });
}

std::string Listed(const std::vector<std::string>& names) {
  std::string text;
  for (size_t i = 0; i < std::min(names.size(), kShownNames); ++i) text += (i > 0 ? ", " : "") + ValidUtf8(names[i]);
  if (names.size() > kShownNames) text += fmt::format(" and {} more", names.size() - kShownNames);
  return text;
}

constexpr const char* kExpected =
    "expected FOLDER/CLASS/.../PICTURE (one sub-folder a class) or pictures in FOLDER itself; pictures end in .jpg "
    ".jpeg "
    ".png .webp .bmp .tif .tiff (and .jpe .jfif .dib .ppm .pgm)";

void CheckRoot(const std::string& root) {
  struct stat status = {};
  if (stat(root.c_str(), &status) != 0) {
    const int error = errno;
    throw ScanError(
        error, root,
        fmt::format("cannot open {}: {}; {}", ValidUtf8(root), std::generic_category().message(error), kExpected));
  }
  if (S_ISDIR(status.st_mode)) return;
  throw ScanError(
      ENOTDIR, root,
      fmt::format("{} is a file, not a folder: {}; for a list of files use --list", ValidUtf8(root), kExpected));
}

// The names of the class folders in byte order, and in `here` the pictures of the root itself.
std::vector<ScannedClass> FindClasses(const std::string& root, ScannedClass& here) {
  std::vector<ScannedClass> classes;
  OpenedFolder folder(root);
  while (const dirent* entry = folder.Next()) {
    struct stat status = {};
    if (entry->d_name[0] == '.' || fstatat(folder.descriptor(), entry->d_name, &status, 0) != 0) continue;
    if (!S_ISDIR(status.st_mode)) continue;
    classes.emplace_back();
    classes.back().name = entry->d_name;
  }
  std::sort(classes.begin(), classes.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  ClassScanner(here).Scan(root, false, {});
  return classes;
}

// Labels by the given mapping, or by the folders found.
ClassNames NameClasses(const std::vector<ScannedClass>& classes, const ScanOptions& options, ScanSummary& summary) {
  ClassNames names;
  std::vector<std::string> unknown;
  for (const ScannedClass& one : classes) {
    if (one.files() == 0) summary.empty_classes.push_back(one.name);
    const bool known = !options.classes ||
                       std::find(options.classes->begin(), options.classes->end(), one.name) != options.classes->end();
    if (!known) unknown.push_back(one.name);
    names.push_back(one.name);
  }
  if (!unknown.empty()) {
    throw ScanError(EINVAL, unknown.front(), "folders that the given classes do not name: " + Listed(unknown));
  }
  if (!summary.empty_classes.empty() && !options.allow_empty) {
    throw ScanError(ENOENT, summary.empty_classes.front(),
                    fmt::format("class folders without a picture: {}; allow_empty keeps their labels and goes on",
                                Listed(summary.empty_classes)));
  }
  return options.classes ? *options.classes : names;
}

void AddClass(FileSource::Builder& builder, ScannedClass& scanned, int64_t label) {
  for (ScannedFolder& folder : scanned.folders) {
    const uint32_t number = builder.AddFolder(folder.path);
    for (const auto& entry : folder.entries) builder.AddFile(number, folder.NameOf(entry), label, entry.bytes);
    folder = {};  // the compact table has it now
  }
}

std::unique_ptr<FileSource> BuildSource(const std::string& root, std::vector<ScannedClass>& classes, ClassNames names) {
  FileSource::Builder builder;
  size_t files = 0, name_bytes = 0;
  for (const ScannedClass& one : classes) {
    files += one.files();
    for (const ScannedFolder& folder : one.folders) name_bytes += folder.names.size();
  }
  builder.Reserve(files, name_bytes);
  for (ScannedClass& one : classes) {
    const auto place = std::find(names.begin(), names.end(), one.name);
    AddClass(builder, one, names.empty() ? 0 : place - names.begin());
  }
  return builder.Build(root, std::move(names));
}

}  // namespace

std::unique_ptr<FileSource> OpenFolder(const std::string& folder, const ScanOptions& options, ScanSummary* summary) {
  std::string root = folder;
  while (root.size() > 1 && root.ends_with('/')) root.pop_back();
  CheckRoot(root);
  ScanSummary found;
  std::vector<ScannedClass> here(1);
  std::vector<ScannedClass> classes = FindClasses(root, here[0]);
  found.ignored_files = here[0].summary.ignored_files;
  found.hidden = here[0].summary.hidden;
  ScanClasses(root, classes);
  uint64_t files = 0;
  for (const ScannedClass& one : classes) {
    if (one.error != nullptr) throw Error(*one.error);
    files += one.files();
    found.ignored_files += one.summary.ignored_files;
    found.hidden += one.summary.hidden;
    found.repeated_links += one.summary.repeated_links;
  }
  // Beside class folders that hold pictures, pictures in the root have no class: ignored, as torchvision does.
  found.flat = files == 0 && here[0].files() > 0;
  if (found.flat) {
    files = here[0].files();
  } else {
    found.ignored_files += here[0].files();
  }
  if (files == 0 && !options.allow_empty) {
    throw ScanError(ENOENT, root,
                    fmt::format("no picture found in {} ({} folders, {} other files): {}", ValidUtf8(root),
                                classes.size(), found.ignored_files, kExpected));
  }
  ClassNames names = found.flat ? ClassNames() : NameClasses(classes, options, found);
  if (summary != nullptr) *summary = found;
  return BuildSource(root, found.flat ? here : classes, std::move(names));
}

}  // namespace stoker

// Picture files as samples: a folder with one sub-folder per class, a flat folder, or a list of paths and labels.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "loader/source.h"

namespace stoker {

// Class names in the order of their labels; empty for lists with bare numbers and for flat folders.
using ClassNames = std::vector<std::string>;

// Files, their labels and their sizes at the time of the scan, in one compact block: 24 bytes a file and its name.
// Threads: immutable once made, safe from any.
class FileSource final : public Source {
 public:
  // Adds files while it is being made. Folders are added once, files refer to them.
  class Builder {
   public:
    // Paths of up to PATH_MAX bytes; `folder` without a trailing slash.
    uint32_t AddFolder(std::string folder);
    void AddFile(uint32_t folder, std::string_view name, int64_t label, uint64_t bytes);
    // A file of any folder, whose size Build will take.
    void AddPath(std::string_view path, int64_t label);
    void Reserve(size_t files, size_t name_bytes);
    // `root`: what names in messages are relative to. Blocks on the disk where paths were added; a file that is not
    // there is that sample's error when it is read.
    std::unique_ptr<FileSource> Build(std::string root, ClassNames classes);

   private:
    friend class FileSource;
    static constexpr uint64_t kNotTaken = ~uint64_t{0};
    struct File {
      uint64_t name_offset = 0;
      uint64_t bytes = 0;
      uint32_t folder = 0;
      int32_t label = 0;
    };
    bool Path(size_t file, char* path, size_t capacity) const noexcept;
    uint32_t FolderNumber(std::string_view folder);
    void TakeSizes();

    std::vector<std::string> folders_;
    std::unordered_map<std::string, uint32_t> folder_numbers_;  // of AddPath; gone once built
    std::vector<char> names_;                                   // NUL-terminated, one after the other
    std::vector<File> files_;
  };

  uint64_t size() const noexcept override { return table_.files_.size(); }
  int64_t Label(uint64_t id) const noexcept override { return table_.files_[id].label; }
  std::string Name(uint64_t id) const override;
  Extents ExtentsOf(uint64_t id, const DecodeRequest* request) const noexcept override;
  bool Path(uint32_t file, char* path, size_t capacity) const noexcept override {
    return table_.Path(file, path, capacity);
  }
  uint64_t TypicalBytes() const noexcept override { return typical_bytes_; }
  size_t memory_bytes() const noexcept override;

  const ClassNames& classes() const noexcept { return classes_; }

 private:
  FileSource() = default;
  const char* NameOf(uint64_t id) const noexcept { return table_.names_.data() + table_.files_[id].name_offset; }

  Builder table_;
  std::string root_;
  ClassNames classes_;
  uint64_t typical_bytes_ = 0;
};

// What a scan met, for the caller to show.
struct ScanSummary {
  bool flat = false;            // pictures lie in the folder itself: everything has label 0
  uint64_t ignored_files = 0;   // not a picture by their extension, or pictures beside class folders
  uint64_t hidden = 0;          // files and folders whose name begins with a dot
  uint64_t repeated_links = 0;  // links to folders of the same class that were scanned already
  std::vector<std::string> empty_classes;
};

struct ScanOptions {
  std::optional<ClassNames> classes;  // given: a folder's label is its place here, and other folders are an error
  bool allow_empty = false;           // classes without a picture keep their label instead of being an error
};

// Scans `folder`. Class names in byte order give the labels (the same on every file system); any depth below a class.
// Links to files are followed; a folder that several links of a class lead to is scanned once, and a link back to a
// folder that it lies in is an error.
// Blocks on the disk; takes sizes in parallel. Throws Error naming the folder, what was found and what is expected.
std::unique_ptr<FileSource> OpenFolder(const std::string& folder, const ScanOptions& options = {},
                                       ScanSummary* summary = nullptr);

// Reads `path label` lines: the last field is the label, a number or a class name; paths may hold spaces and are
// relative to the list's folder. CRLF, a byte order mark and blank lines are fine. Names become labels in byte order,
// or by `classes`. Throws Error with the line number.
std::unique_ptr<FileSource> OpenList(const std::string& list, const ScanOptions& options = {});

// Reads one class name a line. Throws Error.
ClassNames ReadClassNames(const std::string& file);

// Whether a name has one of the extensions that count as pictures.
bool IsPictureName(std::string_view name) noexcept;
// `text` with bytes that are not UTF-8 written as \xNN.
std::string ValidUtf8(std::string_view text);

}  // namespace stoker

// A source that is nothing but a table of paths, for tests of the readers.
#pragma once

#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "loader/source.h"

namespace stoker {

class TableSource final : public Source {
 public:
  // Returns the file's number.
  uint32_t Add(std::string path) {
    paths_.push_back(std::move(path));
    return static_cast<uint32_t>(paths_.size() - 1);
  }

  uint64_t size() const noexcept override { return paths_.size(); }
  int64_t Label(uint64_t) const noexcept override { return -1; }
  std::string Name(uint64_t id) const override { return paths_[id]; }
  Extents ExtentsOf(uint64_t, const DecodeRequest*) const noexcept override { return {}; }
  bool Path(uint32_t file, char* path, size_t capacity) const noexcept override {
    if (paths_[file].size() >= capacity) return false;
    std::strcpy(path, paths_[file].c_str());
    return true;
  }
  uint64_t TypicalBytes() const noexcept override { return 0; }
  size_t memory_bytes() const noexcept override { return 0; }

 private:
  std::vector<std::string> paths_;
};

}  // namespace stoker

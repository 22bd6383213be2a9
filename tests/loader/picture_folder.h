// A folder of small pictures of every kind that is read, made for a test and removed after it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "tests/decode/encode.h"

namespace stoker {

// A temporary folder; the destructor removes it with all that is in it.
class TempFolder {
 public:
  TempFolder();
  ~TempFolder();
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }
  std::string string() const { return path_.string(); }
  // Writes a file, with the folders that it needs.
  void Write(const std::string& name, const Bytes& bytes) const;

 private:
  std::filesystem::path path_;
};

// `pictures` files in three class folders: JPEGs of several kinds and sizes, with PNGs and WebPs among them.
void WritePictures(const TempFolder& folder, int pictures);

// A JPEG that decodes without a warning.
Bytes GoodJpeg(uint32_t seed);

}  // namespace stoker

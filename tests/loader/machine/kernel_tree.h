// A made-up /proc and /sys.
#pragma once

#include <filesystem>
#include <string>

#include "tests/loader/picture_folder.h"

namespace stoker {

class KernelTree {
 public:
  std::string root() const { return folder_.string(); }
  void Write(const std::string& file, const std::string& text) const {
    folder_.Write(file, Bytes(text.begin(), text.end()));
  }
  void Link(const std::string& file, const std::string& target) const {
    const std::filesystem::path link = folder_.path() / file;
    std::filesystem::create_directories(link.parent_path());
    std::filesystem::create_symlink(target, link);
  }

 private:
  TempFolder folder_;
};

// Texts that no kernel writes.
inline constexpr const char* kOddTexts[] = {"",
                                            "\n",
                                            "\n\n\n",
                                            "garbage",
                                            "VmRSS:",
                                            "VmRSS: \n",
                                            "some avg10=",
                                            "some total=\nfull total=-1\n",
                                            "0",
                                            "-1 -1 -1",
                                            "99999999999999999999999999 99999999999999999999999999",
                                            "(((",
                                            ") R",
                                            "1 (a) R 0",
                                            "1 (a) R -1 -1 -1 -1 -1 -1",
                                            "::::",
                                            "0::",
                                            "4:cpu:",
                                            "0-",
                                            "-",
                                            "0-99999999999",
                                            "3-1",
                                            ",,,",
                                            "\x01\xff\xfe\xff\x7f",
                                            "max max",
                                            "0x",
                                            "NaN"};

}  // namespace stoker

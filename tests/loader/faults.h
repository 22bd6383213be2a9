// A small folder with bad pictures in it, for tests of what goes wrong.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "loader/file_source.h"
#include "loader/loader.h"
#include "tests/loader/picture_folder.h"

namespace stoker {

inline constexpr int kGood = 20;

// Good JPEGs and, among them, an empty file, one cut in its header and one that is no picture.
class Faults : public testing::Test {
 protected:
  Faults() {
    for (int i = 0; i < kGood; ++i) folder_.Write(fmt::format("a/{:02}.jpg", i), GoodJpeg(static_cast<uint32_t>(i)));
    options_.batch_size = 4;
    options_.recipe = TrainRecipe(16, ElementType::kUint8);
    options_.num_workers = 4;
    options_.shuffle = false;
  }
  void AddBad() const {
    folder_.Write("a/05-empty.jpg", {});
    folder_.Write("a/06-html.jpg", {'<', 'h', 't', 'm', 'l', '>', ' ', '4', '0', '4'});
    Bytes cut = GoodJpeg(3);
    cut.resize(100);
    folder_.Write("a/12-cut.jpg", cut);
  }
  std::unique_ptr<FileSource> Open() const { return OpenFolder(folder_.string()); }

  TempFolder folder_;
  LoaderOptions options_;
};

// The message of the Error that Next throws.
inline std::string ThrownBy(Loader& loader, std::error_code* code = nullptr) {
  try {
    while (loader.Next()) {
    }
  } catch (const Error& error) {
    if (code != nullptr) *code = error.code();
    return error.what();
  }
  return "nothing thrown";
}

}  // namespace stoker

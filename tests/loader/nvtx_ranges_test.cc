// A whole run as a tool sees it that listens to NVTX.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <iostream>

#include "loader/file_source.h"
#include "loader/loader.h"
#include "tests/fake_nvtx/fake_nvtx.h"
#include "tests/loader/picture_folder.h"
#include "transfer/nvtx.h"

namespace stoker {
namespace {

constexpr int64_t kPictures = 40;
constexpr int64_t kBatches = 10;

void LoadAll(const std::string& folder) {
  Loader loader({.batch_size = kPictures / kBatches,
                 .recipe = TrainRecipe(16, ElementType::kUint8),
                 .num_workers = 2,
                 .device = "sim"},
                OpenFolder(folder));
  while (loader.Next()) {
  }
}

TEST(NvtxRange, IsNothingWhereNoToolListens) {
  if (std::getenv("NVTX_INJECTION64_PATH") != nullptr) GTEST_SKIP() << "a tool listens: NVTX_INJECTION64_PATH is set";
  TempFolder folder;
  WritePictures(folder, kPictures);
  LoadAll(folder.string());
  EXPECT_EQ(nvtx_domain, nullptr);
}

#ifdef STOKER_FAKE_NVTX

// Ends the process, with 0 where the tool has seen what it should have. At once: LeakSanitizer, which looks for leaks
// at a usual exit, crashes now and then where oneTBB's threads end meanwhile.
[[noreturn]] void RunWithTool(const std::string& folder) {
  setenv("NVTX_INJECTION64_PATH", STOKER_FAKE_NVTX, 1);
  LoadAll(folder);
  void* const tool = dlopen(STOKER_FAKE_NVTX, RTLD_NOW | RTLD_NOLOAD);  // NVTX has loaded it
  if (tool == nullptr) std::_Exit(1);
  const auto counts = reinterpret_cast<FakeNvtxCountsFn>(dlsym(tool, "CountsOfFakeNvtx"));
  FakeNvtxCounts of;
  int64_t opened = 0;
  bool right = true;
  const auto expect = [&](const char* name, int64_t expected) {
    counts("stoker", name, &of);
    opened += of.opened;
    right = right && of.opened == expected && of.deepest == 1 && of.unbalanced == 0;
    std::cerr << name << ": " << of.opened << " of " << expected << "\n";
  };
  expect("decode", kPictures);
  expect("augment", kPictures);
  expect("copy", kBatches);
  expect("next()", kBatches);
  std::filesystem::remove_all(folder);
  std::_Exit(right && of.closed == opened ? 0 : 1);
}

TEST(NvtxRangeDeathTest, ShowsAToolWhatEachThreadDoes) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // a new process: whether a tool listens is asked once
  TempFolder folder;
  WritePictures(folder, kPictures);
  EXPECT_EXIT(RunWithTool(folder.string()), testing::ExitedWithCode(0), "decode: 40 of 40");
}

#endif

}  // namespace
}  // namespace stoker

#include "bench/synthetic_set.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

// Last, because it uses FILE without including what declares it.
#include <jpeglib.h>

namespace stoker {
namespace {

namespace fs = std::filesystem;

using Bytes = std::vector<uint8_t>;

// A folder that is not there yet; removed with all that came into it.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = testing::TempDir() + "stoker-set-XXXXXX";
    if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("mkdtemp " + name);
    parent_ = name;
  }
  ~TemporaryFolder() { fs::remove_all(parent_); }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  fs::path path() const { return parent_ / "set"; }

 private:
  fs::path parent_;
};

std::map<std::string, Bytes> ReadTree(const fs::path& folder) {
  std::map<std::string, Bytes> files;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (!entry.is_regular_file()) continue;
    std::ifstream file(entry.path(), std::ios::binary);
    files[entry.path().lexically_relative(folder).string()] = Bytes(std::istreambuf_iterator<char>(file), {});
  }
  return files;
}

// What a JPEG's header says, in the words of the file names; "error" if libjpeg refuses it.
std::string JpegKind(const Bytes& file) {
  struct Refused {};
  jpeg_decompress_struct jpeg;
  jpeg_error_mgr errors;
  jpeg.err = jpeg_std_error(&errors);
  errors.error_exit = [](j_common_ptr) { throw Refused(); };
  errors.output_message = [](j_common_ptr) {};
  jpeg_create_decompress(&jpeg);
  std::string kind = "error";
  try {
    jpeg_mem_src(&jpeg, file.data(), file.size());
    jpeg_read_header(&jpeg, TRUE);
    const int across = jpeg.comp_info[0].h_samp_factor, down = jpeg.comp_info[0].v_samp_factor;
    if (jpeg.num_components == 1) {
      kind = "gray";
    } else if (jpeg.num_components == 4 && jpeg.saw_Adobe_marker) {
      kind = "cmyk";
    } else if (jpeg.progressive_mode) {
      kind = "progressive";
    } else {
      kind = across == 1 ? "444" : down == 1 ? "422" : "420";
    }
  } catch (const Refused&) {
  }
  jpeg_destroy_decompress(&jpeg);
  return kind;
}

std::string KindInName(const std::string& name) {
  const size_t begin = name.rfind('-') + 1;
  return name.substr(begin, name.find('.') - begin);
}

TEST(SyntheticSet, IsTheSameBytesForTheSameSeed) {
  const TemporaryFolder first, second, third;
  WriteSyntheticSet(first.path(), {.pictures = 30, .classes = 3, .seed = 5});
  WriteSyntheticSet(second.path(), {.pictures = 30, .classes = 3, .seed = 5});
  WriteSyntheticSet(third.path(), {.pictures = 30, .classes = 3, .seed = 6});
  const auto files = ReadTree(first.path()), others = ReadTree(third.path());
  EXPECT_EQ(files.size(), 31U) << "the pictures and the marker";
  EXPECT_TRUE(files == ReadTree(second.path()));
  for (const auto& [name, bytes] : files) {
    EXPECT_TRUE(bytes != others.at(name) || KindInName(name) == "broken") << name;
  }
}

TEST(SyntheticSet, HasEveryKindItPromises) {
  const TemporaryFolder folder;
  WriteSyntheticSet(folder.path(), {.pictures = 100, .classes = 4});
  std::map<std::string, int> kinds;
  std::set<std::string> classes;
  for (const auto& [name, bytes] : ReadTree(folder.path())) {
    if (name == ".stoker-set") continue;
    classes.insert(name.substr(0, name.find('/')));
    const std::string kind = KindInName(name);
    ++kinds[kind];
    if (kind == "rgb") {
      EXPECT_EQ(std::string(bytes.begin(), bytes.begin() + 4), "\x89PNG") << name;
    } else if (kind == "lossy") {
      EXPECT_EQ(std::string(bytes.begin() + 8, bytes.begin() + 12), "WEBP") << name;
    } else {
      EXPECT_EQ(JpegKind(bytes), kind == "broken" ? "error" : kind) << name;
    }
  }
  EXPECT_EQ(classes, (std::set<std::string>{"class-00", "class-01", "class-02", "class-03"}));
  const std::map<std::string, int> expected = {{"444", 70}, {"420", 19}, {"422", 4},   {"gray", 2},  {"progressive", 1},
                                               {"rgb", 1},  {"cmyk", 1}, {"lossy", 1}, {"broken", 1}};
  EXPECT_EQ(kinds, expected);
}

TEST(SyntheticSet, HasOnlyOrdinaryJpegsWithoutOddFiles) {
  const TemporaryFolder folder;
  WriteSyntheticSet(folder.path(), {.pictures = 20, .classes = 1, .odd_files = false});
  for (const auto& [name, bytes] : ReadTree(folder.path())) {
    if (name == ".stoker-set") continue;
    EXPECT_TRUE((std::set<std::string>{"444", "420", "422", "gray"}.contains(JpegKind(bytes)))) << name;
  }
}

TEST(SyntheticSet, HasFilesOfAPhotographsSize) {
  const TemporaryFolder folder;
  WriteSyntheticSet(folder.path(), {.pictures = 100, .odd_files = false});
  size_t bytes = 0;
  for (const auto& [name, file] : ReadTree(folder.path())) bytes += file.size();
  EXPECT_GT(bytes, 100U * 60'000);
  EXPECT_LT(bytes, 100U * 160'000);
}

TEST(SyntheticSet, ExistsOnlyWithTheSameOptions) {
  const TemporaryFolder folder;
  const SyntheticOptions options = {.pictures = 2, .classes = 1};
  EXPECT_FALSE(SyntheticSetExists(folder.path(), options));
  WriteSyntheticSet(folder.path(), options);
  EXPECT_TRUE(SyntheticSetExists(folder.path(), options));
  EXPECT_FALSE(SyntheticSetExists(folder.path(), {.pictures = 3, .classes = 1}));
  EXPECT_FALSE(SyntheticSetExists(folder.path(), {.pictures = 2, .classes = 2}));
  EXPECT_FALSE(SyntheticSetExists(folder.path(), {.pictures = 2, .classes = 1, .seed = 2}));
  EXPECT_FALSE(SyntheticSetExists(folder.path(), {.pictures = 2, .classes = 1, .odd_files = false}));
}

TEST(SyntheticSet, RefusesAFolderInUse) {
  const TemporaryFolder folder;
  fs::create_directories(folder.path());
  std::ofstream(folder.path() / "mine.txt") << "mine";
  EXPECT_THROW(WriteSyntheticSet(folder.path(), {.pictures = 1, .classes = 1}), fs::filesystem_error);
  EXPECT_EQ(ReadTree(folder.path()).size(), 1U);
}

TEST(SyntheticSet, ReplacesWhatAnInterruptedRunLeft) {
  const TemporaryFolder folder;
  fs::path partial = folder.path();
  partial += ".partial";
  fs::create_directories(partial / "class-07");
  WriteSyntheticSet(folder.path(), {.pictures = 1, .classes = 1});
  EXPECT_FALSE(fs::exists(partial));
  EXPECT_EQ(ReadTree(folder.path()).size(), 2U);
  EXPECT_FALSE(fs::exists(folder.path() / "class-07"));
}

}  // namespace
}  // namespace stoker

// Plan before read: a source that knows its pictures' sizes is asked only for the bytes that the crop needs.
#include <gtest/gtest.h>

#include <algorithm>

#include "loader/file_source.h"
#include "loader/loader.h"
#include "tests/loader/drain.h"
#include "tests/loader/picture_folder.h"

namespace stoker {
namespace {

constexpr ImageSize kSize = {200, 160};
constexpr int32_t kMcuRows = kSize.height / 8;

// JPEGs with a restart marker after every row of blocks, and a table of where each row ends: what an index of a packed
// format would say. A crop needs the header and the rows down to its last one.
class IndexedSource final : public Source {
 public:
  explicit IndexedSource(std::unique_ptr<FileSource> files, const std::vector<Bytes>& jpegs)
      : files_(std::move(files)) {
    for (const Bytes& jpeg : jpegs) row_ends_.push_back(RowEnds(jpeg));
  }

  uint64_t size() const noexcept override { return files_->size(); }
  int64_t Label(uint64_t id) const noexcept override { return files_->Label(id); }
  std::string Name(uint64_t id) const override { return files_->Name(id); }
  std::optional<ImageSize> PictureSize(uint64_t) const noexcept override { return kSize; }
  bool Path(uint32_t file, char* path, size_t capacity) const noexcept override {
    return files_->Path(file, path, capacity);
  }
  uint64_t TypicalBytes() const noexcept override { return files_->TypicalBytes(); }
  size_t memory_bytes() const noexcept override { return files_->memory_bytes(); }

  Extents ExtentsOf(uint64_t id, const DecodeRequest* request) const noexcept override {
    if (request == nullptr) return files_->ExtentsOf(id, nullptr);
    const std::vector<uint64_t>& ends = row_ends_[id];
    // One row more than the crop's last: the library looks one row of blocks ahead.
    const int32_t last = std::min((request->region.y + request->region.height - 1) / 8 + 1, kMcuRows - 1);
    const uint64_t end = ends[static_cast<size_t>(last) + 1];
    Extents extents;
    extents.Add({static_cast<uint32_t>(id), 0, ends[0], false});
    extents.Add({static_cast<uint32_t>(id), ends[0], end - ends[0], false});
    return extents;
  }

 private:
  // Where the header ends, then each row of blocks with the marker behind it.
  static std::vector<uint64_t> RowEnds(const Bytes& jpeg) {
    std::vector<uint64_t> ends;
    for (size_t i = 2; i + 1 < jpeg.size(); ++i) {
      if (jpeg[i] != 0xFF) continue;
      const uint8_t marker = jpeg[i + 1];
      if (marker == 0xDA && ends.empty()) ends.push_back(i + 2 + static_cast<size_t>(jpeg[i + 2]) * 256 + jpeg[i + 3]);
      if (!ends.empty() && ((marker >= 0xD0 && marker <= 0xD7) || marker == 0xD9)) ends.push_back(i + 2);
    }
    return ends;
  }

  std::unique_ptr<FileSource> files_;
  std::vector<std::vector<uint64_t>> row_ends_;
};

TEST(PlannedSource, GivesTheSamePixelsFromFewerBytes) {
  const TempFolder folder;
  std::vector<Bytes> jpegs;
  for (uint32_t i = 0; i < 24; ++i) {
    jpegs.push_back(EncodeJpeg(MakePicture(kSize, 3, i), {.restart_interval = kSize.width / 8}));
    folder.Write("a/" + std::to_string(10 + i) + ".jpg", jpegs.back());
  }
  LoaderOptions options;
  options.batch_size = 5;
  options.recipe = TrainRecipe(32, ElementType::kUint8);
  options.num_workers = 4;
  Loader whole(options, OpenFolder(folder.string()));
  const std::vector<LoadedBatch> expected = DrainEpochs(whole, 3);
  for (const ReaderKind reader : {ReaderKind::kAuto, ReaderKind::kPread}) {
    options.reader = reader;
    Loader planned(options, std::make_unique<IndexedSource>(OpenFolder(folder.string()), jpegs));
    EXPECT_EQ(DrainEpochs(planned, 3), expected);
    EXPECT_EQ(planned.Report().decoder_warnings, 0u);
    EXPECT_LT(planned.Report().bytes_read, whole.Report().bytes_read * 19 / 20);
  }
}

TEST(PlannedSource, RefusesASizeThatTheRecipeCannotUse) {
  const TempFolder folder;
  const std::vector<Bytes> jpegs = {EncodeJpeg(MakePicture(kSize, 3, 1), {.restart_interval = kSize.width / 8})};
  folder.Write("a/1.jpg", jpegs[0]);
  LoaderOptions options;
  options.recipe = {.ops = {RandomCrop{{500, 500}}}};
  Loader loader(options, std::make_unique<IndexedSource>(OpenFolder(folder.string()), jpegs));
  EXPECT_THROW(loader.Next(), Error);
}

}  // namespace
}  // namespace stoker

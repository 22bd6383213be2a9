#include "bench/jpeg_photos.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "bench/picture_encoder.h"
#include "bench/synthetic_picture.h"

namespace stoker {
namespace {

constexpr size_t kMostPhotos = 300;

std::vector<JpegBytes> ReadFolder(const char* folder) {
  std::vector<std::filesystem::path> names;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (entry.path().extension() == ".jpg") names.push_back(entry.path());
  }
  std::sort(names.begin(), names.end());
  std::vector<JpegBytes> files;
  const size_t step = std::max<size_t>(1, names.size() / kMostPhotos);
  for (size_t i = 0; i < names.size() && files.size() < kMostPhotos; i += step) {
    std::ifstream in(names[i], std::ios::binary);
    files.emplace_back(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
  }
  return files;
}

std::vector<JpegBytes> Paint() {
  constexpr int kPainted = 30, kWidth = 500, kHeight = 375, kQuality = 92;
  const PicturePainter painter(1);
  std::vector<JpegBytes> files;
  std::vector<uint8_t> rgb;
  for (uint64_t i = 0; i < kPainted; ++i) {
    painter.Paint(kWidth, kHeight, {}, Random({1, 0, i}, 0), rgb);
    files.push_back(EncodeJpeg(rgb, kWidth, kHeight, i % 2 == 0 ? JpegKind::k420 : JpegKind::k444, kQuality));
  }
  return files;
}

}  // namespace

std::vector<JpegBytes> JpegsOf(const char* folder) { return folder != nullptr ? ReadFolder(folder) : Paint(); }

JpegHeader::JpegHeader(const JpegBytes& bytes) {
  decompress_.err = jpeg_std_error(&errors_);
  jpeg_create_decompress(&decompress_);
  jpeg_mem_src(&decompress_, bytes.data(), bytes.size());
  jpeg_read_header(&decompress_, TRUE);
  scan_offset_ = bytes.size() - decompress_.src->bytes_in_buffer;
}

}  // namespace stoker

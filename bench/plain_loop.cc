#include "bench/plain_loop.h"

#include <fcntl.h>
#include <jpeglib.h>
#include <unistd.h>

#include <atomic>
#include <climits>
#include <opencv2/imgproc.hpp>
#include <thread>
#include <vector>

#include "augment/plan.h"
#include "bench/steady_seconds.h"
#include "loader/file_source.h"
#include "loader/sampler.h"

namespace stoker {
namespace {

constexpr int kSide = 224;
constexpr int kBatch = 64;
constexpr size_t kPlane = size_t{kSide} * kSide;

// A file's bytes, in a buffer that is used again.
bool ReadFile(const Source& source, uint64_t id, std::vector<uint8_t>& bytes) {
  char path[PATH_MAX];
  if (!source.Path(static_cast<uint32_t>(id), path, sizeof path)) return false;
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  bytes.resize(source.ExtentsOf(id, nullptr).bytes());
  const ssize_t got = pread(file, bytes.data(), bytes.size(), 0);
  close(file);
  return got == static_cast<ssize_t>(bytes.size());
}

// A whole JPEG to RGB. The pictures of a benchmark are good: libjpeg's default error handling (exit) is enough.
cv::Mat DecodeWhole(const std::vector<uint8_t>& bytes, std::vector<uint8_t>& pixels) {
  jpeg_decompress_struct decoder;
  jpeg_error_mgr errors;
  decoder.err = jpeg_std_error(&errors);
  jpeg_create_decompress(&decoder);
  jpeg_mem_src(&decoder, bytes.data(), bytes.size());
  jpeg_read_header(&decoder, TRUE);
  decoder.out_color_space = JCS_RGB;
  jpeg_start_decompress(&decoder);
  const size_t stride = size_t{decoder.output_width} * 3;
  pixels.resize(stride * decoder.output_height);
  while (decoder.output_scanline < decoder.output_height) {
    JSAMPROW row = pixels.data() + decoder.output_scanline * stride;
    jpeg_read_scanlines(&decoder, &row, 1);
  }
  cv::Mat picture(static_cast<int>(decoder.output_height), static_cast<int>(decoder.output_width), CV_8UC3,
                  pixels.data());
  jpeg_finish_decompress(&decoder);
  jpeg_destroy_decompress(&decoder);
  return picture;
}

void NormaliseInto(const cv::Mat& picture, float* out) {
  for (int y = 0; y < kSide; ++y) {
    const uint8_t* row = picture.ptr(y);
    for (int x = 0; x < kSide; ++x) {
      for (size_t c = 0; c < 3; ++c) {
        out[c * kPlane + static_cast<size_t>(y) * kSide + static_cast<size_t>(x)] =
            (static_cast<float>(row[3 * x + static_cast<int>(c)]) / 255.0f - kImageNetMean[c]) / kImageNetStd[c];
      }
    }
  }
}

}  // namespace

double RunPlainLoop(const std::string& folder, int threads, int epochs) {
  cv::setNumThreads(1);
  const std::unique_ptr<FileSource> source = OpenFolder(folder);
  const Sampler sampler({.size = source->size()});
  const CompiledRecipe recipe(TrainRecipe(kSide, ElementType::kFloat32));
  std::atomic<uint64_t> next{0};  // hands out positions; orders nothing
  const uint64_t total = source->size() * static_cast<uint64_t>(epochs);
  const auto work = [&] {
    std::vector<uint8_t> bytes, pixels;
    std::vector<float> batch(3 * kPlane * kBatch);
    cv::Mat resized;
    for (uint64_t n = next.fetch_add(1); n < total; n = next.fetch_add(1)) {
      const uint64_t epoch = n / source->size(), position = n % source->size();
      if (!ReadFile(*source, sampler.At(epoch, position), bytes)) continue;
      cv::Mat picture = DecodeWhole(bytes, pixels);
      Plan plan;
      MakePlan(recipe, {picture.cols, picture.rows}, {0, epoch, position}, plan);
      const cv::Mat crop = picture(cv::Rect(plan.crop.x, plan.crop.y, plan.crop.width, plan.crop.height));
      const bool shrinks = crop.cols >= kSide && crop.rows >= kSide;
      cv::resize(crop, resized, cv::Size(kSide, kSide), 0, 0, shrinks ? cv::INTER_AREA : cv::INTER_LINEAR);
      if (plan.flip_horizontal) cv::flip(resized, resized, 1);
      NormaliseInto(resized, batch.data() + n % kBatch * 3 * kPlane);
    }
  };
  const double start = SteadySeconds();
  std::vector<std::thread> pool;
  pool.reserve(static_cast<size_t>(threads));
  for (int i = 0; i < threads; ++i) pool.emplace_back(work);
  for (std::thread& thread : pool) thread.join();
  return static_cast<double>(total) / (SteadySeconds() - start);
}

}  // namespace stoker

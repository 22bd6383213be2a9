// The module libstoker_opencv.so: the only file of this folder that knows OpenCV, loaded by opencv_module.cc.
#include <cstdio>
#include <cstring>
#include <exception>
#include <iostream>
#include <new>
#include <opencv2/core.hpp>
#include <opencv2/core/utils/logger.hpp>
#include <opencv2/imgcodecs.hpp>
#include <streambuf>

#include "decode/opencv_module.h"

namespace stoker {
namespace {

using Status = OpencvModule::Status;

// OpenCV 4 writes why a picture failed to std::cerr, past its own log level. This buffer stands before std::cerr's and
// drops what a thread writes while it decodes; everybody else's output passes.
// Threads: as safe as the buffer behind it; the mark is each thread's own.
class ErrorStreamFilter final : public std::streambuf {
 public:
  static void Install() {
    static ErrorStreamFilter& filter = *new ErrorStreamFilter(std::cerr.rdbuf());
    (void)filter;
  }

  // Drops this thread's output while it lives.
  class Mute {
   public:
    Mute() { muted_ = true; }
    ~Mute() { muted_ = false; }
    Mute(const Mute&) = delete;
    Mute& operator=(const Mute&) = delete;
  };

 protected:
  int_type overflow(int_type c) override {
    return muted_ ? traits_type::not_eof(c) : behind_->sputc(traits_type::to_char_type(c));
  }
  std::streamsize xsputn(const char* text, std::streamsize count) override {
    return muted_ ? count : behind_->sputn(text, count);
  }
  int sync() override { return muted_ ? 0 : behind_->pubsync(); }

 private:
  // Never destroyed: std::cerr is written to until the process ends.
  explicit ErrorStreamFilter(std::streambuf* behind) : behind_(behind) { std::cerr.rdbuf(this); }

  static thread_local bool muted_;
  std::streambuf* behind_;
};

thread_local bool ErrorStreamFilter::muted_ = false;

void Silence() {
  static const bool once = [] {
    cv::utils::logging::setLogLevel(cv::utils::logging::LOG_LEVEL_SILENT);
    ErrorStreamFilter::Install();
    return true;
  }();
  (void)once;
}

// One row of OpenCV's order, B, G, R and perhaps alpha, or one gray sample, as RGB. Samples wider than a byte give
// their high byte.
template <typename Sample>
void CopyRow(const Sample* row, int width, int channels, uint8_t* rgb) {
  constexpr int kShift = 8 * (sizeof(Sample) - 1);
  const int red = channels >= 3 ? 2 : 0;
  const int green = channels >= 3 ? 1 : 0;
  for (int x = 0; x < width; ++x, row += channels, rgb += 3) {
    rgb[0] = static_cast<uint8_t>(row[red] >> kShift);
    rgb[1] = static_cast<uint8_t>(row[green] >> kShift);
    rgb[2] = static_cast<uint8_t>(row[0] >> kShift);
  }
}

Status DecodeOrThrow(const uint8_t* bytes, size_t size, int width, int height, uint8_t* rgb, size_t stride_bytes) {
  Silence();
  const ErrorStreamFilter::Mute mute;
  const cv::Mat encoded(1, static_cast<int>(size), CV_8U, const_cast<uint8_t*>(bytes));  // only read
  // Unchanged, because a conversion inside OpenCV would round 16 bits. Orientation is left to the caller.
  const cv::Mat picture = cv::imdecode(encoded, cv::IMREAD_UNCHANGED | cv::IMREAD_IGNORE_ORIENTATION);
  if (picture.empty()) return OpencvModule::kFailed;
  if (picture.cols != width || picture.rows != height) return OpencvModule::kOtherSize;
  if (picture.depth() != CV_8U && picture.depth() != CV_16U) return OpencvModule::kFailed;
  for (int y = 0; y < height; ++y, rgb += stride_bytes) {
    if (picture.depth() == CV_8U) {
      CopyRow(picture.ptr<uint8_t>(y), width, picture.channels(), rgb);
    } else {
      CopyRow(picture.ptr<uint16_t>(y), width, picture.channels(), rgb);
    }
  }
  return OpencvModule::kDone;
}

Status Decode(const uint8_t* bytes, size_t size, int width, int height, uint8_t* rgb, size_t stride_bytes, char* words,
              size_t words_bytes) noexcept {
  try {
    std::snprintf(words, words_bytes, "OpenCV cannot decode it");
    return DecodeOrThrow(bytes, size, width, height, rgb, stride_bytes);
  } catch (const std::bad_alloc&) {
    return OpencvModule::kNoMemory;
  } catch (const cv::Exception& exception) {
    std::snprintf(words, words_bytes, "OpenCV: %s", exception.err.c_str());
    return exception.code == cv::Error::StsNoMem ? OpencvModule::kNoMemory : OpencvModule::kFailed;
  } catch (const std::exception& exception) {
    std::snprintf(words, words_bytes, "OpenCV: %s", exception.what());
    return OpencvModule::kFailed;
  } catch (...) {
    return OpencvModule::kFailed;
  }
}

}  // namespace
}  // namespace stoker

extern "C" __attribute__((visibility("default"))) const stoker::OpencvModule stoker_opencv_module;
const stoker::OpencvModule stoker_opencv_module = {stoker::OpencvModule::kVersion, stoker::Decode};

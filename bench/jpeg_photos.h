// JPEGs for the benchmarks of their decoding, and libjpeg-turbo's view of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <vector>

// Last, because it uses size_t and FILE without including what declares them.
#include <jpeglib.h>

namespace stoker {

using JpegBytes = std::vector<uint8_t>;

// Up to 300 of a folder's .jpg files, evenly over all of them in the order of their names; where `folder` is null,
// made-up pictures.
std::vector<JpegBytes> JpegsOf(const char* folder);

// libjpeg up to the first entropy-coded byte. The pictures of a benchmark are good: its default error handling (exit)
// will do.
class JpegHeader {
 public:
  explicit JpegHeader(const JpegBytes& bytes);
  ~JpegHeader() { jpeg_destroy_decompress(&decompress_); }
  JpegHeader(const JpegHeader&) = delete;
  JpegHeader& operator=(const JpegHeader&) = delete;

  jpeg_decompress_struct& decompress() { return decompress_; }
  size_t scan_offset() const { return scan_offset_; }

 private:
  jpeg_decompress_struct decompress_ = {};
  jpeg_error_mgr errors_ = {};
  size_t scan_offset_ = 0;
};

}  // namespace stoker

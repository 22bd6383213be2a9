#include "tests/decode/encode.h"

#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "tests/decode/encode_bytes.h"

// Last, because it uses size_t and FILE without including what declares them.
#include <jpeglib.h>

namespace stoker {
namespace {

J_COLOR_SPACE InputSpace(JpegColour colour) {
  switch (colour) {
    case JpegColour::kGray:
      return JCS_GRAYSCALE;
    case JpegColour::kCmyk:
    case JpegColour::kYcck:
      return JCS_CMYK;
    default:
      return JCS_RGB;
  }
}

J_COLOR_SPACE StoredSpace(JpegColour colour) {
  switch (colour) {
    case JpegColour::kYcc:
      return JCS_YCbCr;
    case JpegColour::kGray:
      return JCS_GRAYSCALE;
    case JpegColour::kRgb:
      return JCS_RGB;
    case JpegColour::kCmyk:
      return JCS_CMYK;
    case JpegColour::kYcck:
      return JCS_YCCK;
  }
  return JCS_UNKNOWN;
}

}  // namespace

Picture MakePicture(ImageSize size, int channels, uint32_t seed) {
  Picture picture{size, channels, Bytes(static_cast<size_t>(size.width) * size.height * channels)};
  uint32_t state = seed * 2654435761u + 12345u;
  const double fx = 0.05 + (seed % 7) * 0.03;
  const double fy = 0.04 + (seed % 5) * 0.05;
  for (int y = 0; y < size.height; ++y) {
    for (int x = 0; x < size.width; ++x) {
      for (int c = 0; c < channels; ++c) {
        state = state * 1664525u + 1013904223u;
        const double smooth = 90 * std::sin(fx * x + c) * std::cos(fy * y - c);
        const int edge = (x / 9 + y / 7 + c) % 3 == 0 ? 35 : 0;
        const int noise = static_cast<int>(state >> 28);
        *(picture.at(x, y) + c) = static_cast<uint8_t>(std::lround(110 + smooth) + edge + noise);
      }
    }
  }
  return picture;
}

Bytes EncodeJpeg(const Picture& picture, const JpegOptions& options) {
  jpeg_compress_struct compress = {};
  jpeg_error_mgr errors;
  compress.err = jpeg_std_error(&errors);  // ends the program on errors, which is right for a test's own pictures
  jpeg_create_compress(&compress);
  unsigned char* encoded = nullptr;
  unsigned long encoded_bytes = 0;
  jpeg_mem_dest(&compress, &encoded, &encoded_bytes);
  compress.image_width = static_cast<JDIMENSION>(picture.size.width);
  compress.image_height = static_cast<JDIMENSION>(picture.size.height);
  compress.input_components = picture.channels;
  compress.in_color_space = InputSpace(options.colour);
  jpeg_set_defaults(&compress);
  jpeg_set_colorspace(&compress, StoredSpace(options.colour));
  jpeg_set_quality(&compress, options.quality, TRUE);
  compress.comp_info[0].h_samp_factor = options.luma_h;
  compress.comp_info[0].v_samp_factor = options.luma_v;
  for (int i = 1; i < compress.num_components; ++i) {
    const bool is_black = i == 3;  // as detailed as the first
    compress.comp_info[i].h_samp_factor = is_black ? options.luma_h : 1;
    compress.comp_info[i].v_samp_factor = is_black ? options.luma_v : 1;
  }
  compress.arith_code = options.arithmetic ? TRUE : FALSE;
  compress.optimize_coding = options.optimized ? TRUE : FALSE;
  compress.restart_interval = static_cast<unsigned>(options.restart_interval);
  if (!options.adobe_marker) compress.write_Adobe_marker = FALSE;
  if (options.progressive) jpeg_simple_progression(&compress);
  jpeg_scan_info scans[4] = {};
  if (!options.interleaved) {
    for (int i = 0; i < compress.num_components; ++i) scans[i] = {1, {i, 0, 0, 0}, 0, 63, 0, 0};
    compress.scan_info = scans;
    compress.num_scans = compress.num_components;
  }
  jpeg_start_compress(&compress, TRUE);
  if (!options.app1.empty()) {
    jpeg_write_marker(&compress, JPEG_APP0 + 1, options.app1.data(), static_cast<unsigned>(options.app1.size()));
  }
  for (int y = 0; y < picture.size.height; ++y) {
    auto* row = const_cast<JSAMPROW>(picture.at(0, y));  // only read
    jpeg_write_scanlines(&compress, &row, 1);
  }
  jpeg_finish_compress(&compress);
  jpeg_destroy_compress(&compress);
  Bytes bytes(encoded, encoded + encoded_bytes);
  std::free(encoded);
  return bytes;
}

Bytes MakeExif(int orientation, bool big_endian) {
  Bytes out;
  Append(out, big_endian ? "MM" : "II");
  AppendNumber(out, 42, 2, big_endian);
  AppendNumber(out, 8, 4, big_endian);
  AppendNumber(out, 1, 2, big_endian);
  AppendNumber(out, 274, 2, big_endian);
  AppendNumber(out, 3, 2, big_endian);
  AppendNumber(out, 1, 4, big_endian);
  AppendNumber(out, static_cast<uint32_t>(orientation), 2, big_endian);
  AppendNumber(out, 0, 2, big_endian);
  AppendNumber(out, 0, 4, big_endian);
  return out;
}

Bytes MakeApp1(int orientation, bool big_endian) {
  Bytes out;
  Append(out, std::string_view("Exif\0\0", 6));
  Append(out, MakeExif(orientation, big_endian));
  return out;
}

}  // namespace stoker

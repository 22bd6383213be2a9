#include "bench/picture_encoder.h"

// jpeglib.h uses FILE without including what declares it.
// clang-format off
#include <cstdio>
#include <jpeglib.h>
// clang-format on
#include <png.h>
#include <webp/encode.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <stdexcept>
#include <string>

namespace stoker {
namespace {

// One row in the colour space that libjpeg is given.
void ConvertRow(std::span<const uint8_t> rgb, JpegKind kind, std::vector<uint8_t>& row) {
  row.clear();
  if (kind != JpegKind::kGray && kind != JpegKind::kCmyk) row.assign(rgb.begin(), rgb.end());
  if (kind == JpegKind::kGray) {
    for (size_t i = 0; i < rgb.size(); i += 3) {
      row.push_back(static_cast<uint8_t>((77 * rgb[i] + 150 * rgb[i + 1] + 29 * rgb[i + 2] + 128) >> 8));
    }
  }
  if (kind == JpegKind::kCmyk) {
    for (size_t i = 0; i < rgb.size(); i += 3) {
      // Adobe stores inks inverted: 255 is no ink. Grey goes into the black ink.
      const int black = std::max({rgb[i], rgb[i + 1], rgb[i + 2], uint8_t{1}});
      for (size_t channel = 0; channel < 3; ++channel) {
        row.push_back(static_cast<uint8_t>(rgb[i + channel] * 255 / black));
      }
      row.push_back(static_cast<uint8_t>(black));
    }
  }
}

void Configure(jpeg_compress_struct& jpeg, JpegKind kind, int quality) {
  jpeg.input_components = kind == JpegKind::kGray ? 1 : kind == JpegKind::kCmyk ? 4 : 3;
  jpeg.in_color_space = kind == JpegKind::kGray ? JCS_GRAYSCALE : kind == JpegKind::kCmyk ? JCS_CMYK : JCS_RGB;
  jpeg_set_defaults(&jpeg);
  jpeg_set_quality(&jpeg, quality, TRUE);
  jpeg.dct_method = JDCT_ISLOW;  // the same bits with and without SIMD
  if (jpeg.in_color_space == JCS_RGB) {
    jpeg.comp_info[0].h_samp_factor = kind == JpegKind::k420 || kind == JpegKind::k422 ? 2 : 1;
    jpeg.comp_info[0].v_samp_factor = kind == JpegKind::k420 ? 2 : 1;
  }
  if (kind == JpegKind::kProgressive) jpeg_simple_progression(&jpeg);
}

}  // namespace

std::vector<uint8_t> EncodeJpeg(std::span<const uint8_t> rgb, int width, int height, JpegKind kind, int quality) {
  jpeg_compress_struct jpeg;
  jpeg_error_mgr errors;
  jpeg.err = jpeg_std_error(&errors);
  errors.error_exit = [](j_common_ptr codec) {  // out of memory, or a mistake here: nobody can go on
    (*codec->err->output_message)(codec);
    std::abort();
  };
  jpeg_create_compress(&jpeg);
  unsigned char* file = nullptr;
  unsigned long bytes = 0;
  jpeg_mem_dest(&jpeg, &file, &bytes);
  jpeg.image_width = static_cast<JDIMENSION>(width);
  jpeg.image_height = static_cast<JDIMENSION>(height);
  Configure(jpeg, kind, quality);
  jpeg_start_compress(&jpeg, TRUE);
  const size_t row_bytes = static_cast<size_t>(width) * 3;
  std::vector<uint8_t> row;
  while (jpeg.next_scanline < jpeg.image_height) {
    ConvertRow(rgb.subspan(jpeg.next_scanline * row_bytes, row_bytes), kind, row);
    JSAMPROW rows[] = {row.data()};
    jpeg_write_scanlines(&jpeg, rows, 1);
  }
  jpeg_finish_compress(&jpeg);
  jpeg_destroy_compress(&jpeg);
  std::vector<uint8_t> encoded(file, file + bytes);
  std::free(file);
  return encoded;
}

std::vector<uint8_t> EncodePng(std::span<const uint8_t> rgb, int width, int height) {
  png_image image = {};
  image.version = PNG_IMAGE_VERSION;
  image.width = static_cast<png_uint_32>(width);
  image.height = static_cast<png_uint_32>(height);
  image.format = PNG_FORMAT_RGB;
  image.flags = PNG_IMAGE_FLAG_FAST;
  std::vector<uint8_t> encoded(PNG_IMAGE_PNG_SIZE_MAX(image));
  png_alloc_size_t bytes = encoded.size();
  if (png_image_write_to_memory(&image, encoded.data(), &bytes, 0, rgb.data(), 0, nullptr) == 0) {
    throw std::runtime_error(std::string("libpng: ") + image.message);
  }
  encoded.resize(bytes);
  return encoded;
}

std::vector<uint8_t> EncodeWebp(std::span<const uint8_t> rgb, int width, int height, int quality) {
  uint8_t* file = nullptr;
  const size_t bytes = WebPEncodeRGB(rgb.data(), width, height, width * 3, static_cast<float>(quality), &file);
  if (bytes == 0) throw std::runtime_error("libwebp cannot encode a picture");
  std::vector<uint8_t> encoded(file, file + bytes);
  WebPFree(file);
  return encoded;
}

}  // namespace stoker

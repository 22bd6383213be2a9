#include <png.h>

#include <csetjmp>
#include <cstdlib>
#include <cstring>

#include "tests/decode/encode_bytes.h"

namespace stoker {
namespace {

void WritePngChunk(png_structp png, std::string_view type, const Bytes& content) {
  png_byte name[5] = {};
  std::memcpy(name, type.data(), 4);
  png_write_chunk(png, name, content.data(), content.size());
}

int PngType(PngColour colour) {
  switch (colour) {
    case PngColour::kGray:
      return PNG_COLOR_TYPE_GRAY;
    case PngColour::kGrayAlpha:
      return PNG_COLOR_TYPE_GRAY_ALPHA;
    case PngColour::kPalette:
      return PNG_COLOR_TYPE_PALETTE;
    case PngColour::kRgb:
      return PNG_COLOR_TYPE_RGB;
    case PngColour::kRgba:
      return PNG_COLOR_TYPE_RGB_ALPHA;
  }
  return 0;
}

void WritePngHeader(png_structp png, png_infop info, ImageSize size, const PngOptions& options) {
  png_set_IHDR(png, info, static_cast<png_uint_32>(size.width), static_cast<png_uint_32>(size.height),
               options.bit_depth, PngType(options.colour),
               options.interlaced ? PNG_INTERLACE_ADAM7 : PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT,
               PNG_FILTER_TYPE_DEFAULT);
  if (options.colour == PngColour::kPalette) {
    png_color palette[256];
    for (int i = 0; i < 256; ++i) palette[i] = {PaletteSample(i, 0), PaletteSample(i, 1), PaletteSample(i, 2)};
    png_set_PLTE(png, info, palette, 1 << options.bit_depth);
  }
  if (options.transparency) {
    const png_byte alpha[2] = {0, 128};
    png_color_16 colour = {};
    png_set_tRNS(png, info, alpha, options.colour == PngColour::kPalette ? 2 : 0, &colour);
  }
}

// One row of samples, packed as the depth asks.
Bytes PngRow(const Picture& picture, int y, const PngOptions& options) {
  const bool has_alpha = options.colour == PngColour::kGrayAlpha || options.colour == PngColour::kRgba;
  const int colours = options.colour == PngColour::kRgb || options.colour == PngColour::kRgba ? 3 : 1;
  Bytes row;
  int bits_used = 8;
  for (int x = 0; x < picture.size.width; ++x) {
    for (int c = 0; c < colours + (has_alpha ? 1 : 0); ++c) {
      const uint8_t sample = c < colours ? picture.at(x, y)[c] : static_cast<uint8_t>(x * 5 + y * 3);
      if (options.bit_depth >= 8) {
        row.push_back(sample);
        if (options.bit_depth == 16) row.push_back(LowByte(sample));
        continue;
      }
      if (bits_used == 8) {
        row.push_back(0);
        bits_used = 0;
      }
      bits_used += options.bit_depth;
      row.back() = static_cast<uint8_t>(row.back() | sample >> (8 - options.bit_depth) << (8 - bits_used));
    }
  }
  return row;
}

}  // namespace

Bytes EncodePng(const Picture& picture, const PngOptions& options) {
  Bytes bytes;
  png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, nullptr, nullptr, nullptr);
  png_infop info = png_create_info_struct(png);
  if (setjmp(png_jmpbuf(png)) != 0) std::abort();
  const auto write = [](png_structp writer, png_bytep data, size_t size) {
    auto& out = *static_cast<Bytes*>(png_get_io_ptr(writer));
    out.insert(out.end(), data, data + size);
  };
  png_set_write_fn(png, &bytes, write, nullptr);
  WritePngHeader(png, info, picture.size, options);
  png_write_info(png, info);
  for (const auto& [type, content] : options.chunks) WritePngChunk(png, type, content);
  const int passes = png_set_interlace_handling(png);
  for (int pass = 0; pass < passes; ++pass) {
    for (int y = 0; y < picture.size.height; ++y) png_write_row(png, PngRow(picture, y, options).data());
  }
  png_write_end(png, info);
  png_destroy_write_struct(&png, &info);
  return bytes;
}

uint8_t PaletteSample(int index, int channel) {
  return static_cast<uint8_t>(index * (37 + 50 * channel) + channel * 11);
}

}  // namespace stoker

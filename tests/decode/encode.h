// Test pictures: a seeded generator, and encoders for every kind of file that the decoders read.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "decode/image.h"

namespace stoker {

using Bytes = std::vector<uint8_t>;

// Tightly packed 8-bit pixels.
struct Picture {
  ImageSize size;
  int channels = 3;
  Bytes pixels;

  const uint8_t* at(int x, int y) const { return &pixels[(static_cast<size_t>(y) * size.width + x) * channels]; }
  uint8_t* at(int x, int y) { return &pixels[(static_cast<size_t>(y) * size.width + x) * channels]; }
  friend bool operator==(const Picture&, const Picture&) = default;
};

// Like a photograph: smooth gradients, edges and a little noise, different in every channel.
Picture MakePicture(ImageSize size, int channels, uint32_t seed);

enum class JpegColour { kYcc, kGray, kRgb, kCmyk, kYcck };

struct JpegOptions {
  int quality = 90;
  JpegColour colour = JpegColour::kYcc;  // CMYK and YCCK take the picture's values as they are (four channels)
  int luma_h = 1;                        // sampling factors of the first component; the others have 1x1
  int luma_v = 1;
  bool progressive = false;
  bool arithmetic = false;
  bool interleaved = true;   // false: one scan a component
  int restart_interval = 0;  // in MCUs
  bool optimized = false;    // Huffman tables made for this picture
  bool adobe_marker = true;  // CMYK and YCCK only
  Bytes app1 = {};           // the content of one APP1 segment
};
Bytes EncodeJpeg(const Picture& picture, const JpegOptions& options = {});

enum class PngColour { kGray, kGrayAlpha, kPalette, kRgb, kRgba };

struct PngOptions {
  PngColour colour = PngColour::kRgb;
  int bit_depth = 8;
  bool interlaced = false;
  bool transparency = false;  // a tRNS chunk
  // Chunks put before the pixels: type and content.
  std::vector<std::pair<std::string_view, Bytes>> chunks = {};
};
// Fewer channels than the picture's are taken from its first; missing alpha is made up. Depths below 8 keep the highest
// bits, palettes take them as the index; 16 bits get a low byte that differs from the high one.
Bytes EncodePng(const Picture& picture, const PngOptions& options = {});
// The colour of a palette's entry in EncodePng.
uint8_t PaletteSample(int index, int channel);

struct WebpOptions {
  bool lossless = true;
  bool alpha = false;
  Bytes exif = {};  // the content of an EXIF chunk
};
Bytes EncodeWebp(const Picture& picture, const WebpOptions& options = {});

// An animation of lossless frames, each at its (even) place.
struct WebpFrame {
  Picture picture;
  int x = 0;
  int y = 0;
};
Bytes EncodeWebpAnimation(ImageSize canvas, std::span<const WebpFrame> frames);

struct BmpOptions {
  int bits = 24;  // 8 (gray palette), 24 or 32
  bool top_down = false;
};
Bytes EncodeBmp(const Picture& picture, const BmpOptions& options = {});

struct TiffOptions {
  int bits = 8;  // 8 or 16; 16 as EncodePng
  bool big_endian = false;
  int sample_format = 1;
  int extra_samples = 0;  // the meaning of a fourth channel
  int orientation = 0;    // 0: no tag
};
// The picture's one, three or four channels, uncompressed.
Bytes EncodeTiff(const Picture& picture, const TiffOptions& options = {});

// A TIFF structure with the orientation tag, as EXIF blocks hold it.
Bytes MakeExif(int orientation, bool big_endian = false);
// The same as the content of a JPEG's APP1.
Bytes MakeApp1(int orientation, bool big_endian = false);

}  // namespace stoker

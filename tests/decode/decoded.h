// What a Decoder makes of some bytes, as a value to compare.
#pragma once

#include <cstring>
#include <optional>
#include <system_error>

#include "decode/decoder.h"
#include "tests/decode/encode.h"

namespace stoker {

struct Decoded {
  std::error_code error;
  Picture picture;  // the region's pixels, of exact decodes
  Diagnosis diagnosis;
  RegionBox box;
};

// The pixels of a whole box; of fractional ones those that it touches wholly or in part are not given here.
inline Picture CutOut(const Image& image, const RegionBox& box) {
  const Rect rect = {static_cast<int>(box.x0), static_cast<int>(box.y0), static_cast<int>(box.x1 - box.x0),
                     static_cast<int>(box.y1 - box.y0)};
  const ImageView view = image.view();
  Picture picture{{rect.width, rect.height}, view.channels, {}};
  for (int y = rect.y; y < rect.y + rect.height; ++y) {
    const uint8_t* const first = view.row(y) + static_cast<ptrdiff_t>(rect.x) * view.channels;
    picture.pixels.insert(picture.pixels.end(), first, first + static_cast<ptrdiff_t>(rect.width) * view.channels);
  }
  return picture;
}

inline Picture CutOut(const Picture& whole, const Rect& rect) {
  Picture picture{{rect.width, rect.height}, whole.channels, {}};
  for (int y = rect.y; y < rect.y + rect.height; ++y) {
    const uint8_t* const first = whole.at(rect.x, y);
    picture.pixels.insert(picture.pixels.end(), first, first + static_cast<ptrdiff_t>(rect.width) * whole.channels);
  }
  return picture;
}

// Peeks, then decodes `region`, or everything.
inline Decoded DecodeWith(Decoder& decoder, const Bytes& bytes, std::optional<Rect> region = {},
                          Channels channels = Channels::kRgb) {
  Decoded decoded;
  ImageSize size;
  decoded.error = decoder.Peek(bytes, size, decoded.diagnosis);
  if (decoded.error) return decoded;
  const DecodeRequest request = {region.value_or(Rect{0, 0, size.width, size.height}), channels, {}};
  Image image;
  decoded.error = decoder.Decode(bytes, request, image, decoded.box, decoded.diagnosis);
  if (!decoded.error) decoded.picture = CutOut(image, decoded.box);
  return decoded;
}

inline Decoded DecodeOnce(const Bytes& bytes, const DecodeLimits& limits = {}, std::optional<Rect> region = {},
                          Channels channels = Channels::kRgb) {
  Decoder decoder(limits);
  return DecodeWith(decoder, bytes, region, channels);
}

// One luma channel, ITU-R 601 in fixed point.
inline Picture GrayOf(const Picture& rgb) {
  Picture gray{rgb.size, 1, {}};
  for (size_t i = 0; i < rgb.pixels.size(); i += 3) {
    const uint8_t* const p = &rgb.pixels[i];
    gray.pixels.push_back(static_cast<uint8_t>((19595 * p[0] + 38470 * p[1] + 7471 * p[2] + 32768) >> 16));
  }
  return gray;
}

// Turned as the EXIF orientation says, pixel by pixel.
inline Picture Turned(const Picture& stored, int orientation) {
  const auto [w, h] = stored.size;
  Picture turned{orientation >= 5 ? ImageSize{h, w} : stored.size, stored.channels, Bytes(stored.pixels.size())};
  for (int y = 0; y < turned.size.height; ++y) {
    for (int x = 0; x < turned.size.width; ++x) {
      const int from[8][2] = {{x, y}, {w - 1 - x, y}, {w - 1 - x, h - 1 - y}, {x, h - 1 - y},
                              {y, x}, {y, h - 1 - x}, {w - 1 - y, h - 1 - x}, {w - 1 - y, x}};
      const auto [sx, sy] = from[orientation - 1];
      std::memcpy(turned.at(x, y), stored.at(sx, sy), static_cast<size_t>(stored.channels));
    }
  }
  return turned;
}

}  // namespace stoker

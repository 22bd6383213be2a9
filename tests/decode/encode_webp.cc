#include <webp/encode.h>

#include <cstring>

#include "tests/decode/encode_bytes.h"

namespace stoker {
namespace {

void AppendRiffChunk(Bytes& out, std::string_view type, const Bytes& content) {
  Append(out, type);
  AppendNumber(out, static_cast<uint32_t>(content.size()), 4, false);
  Append(out, content);
  if (content.size() % 2 != 0) out.push_back(0);
}

Bytes MakeRiff(const Bytes& chunks) {
  Bytes out;
  Append(out, "RIFF");
  AppendNumber(out, static_cast<uint32_t>(chunks.size() + 4), 4, false);
  Append(out, "WEBP");
  Append(out, chunks);
  return out;
}

Bytes MakeVp8x(uint8_t flags, ImageSize canvas) {
  Bytes content = {flags, 0, 0, 0};
  AppendNumber(content, static_cast<uint32_t>(canvas.width - 1), 3, false);
  AppendNumber(content, static_cast<uint32_t>(canvas.height - 1), 3, false);
  return content;
}

// The chunks of a WebP file without its RIFF header.
Bytes WebpChunks(const Bytes& file) { return Bytes(file.begin() + 12, file.end()); }

}  // namespace

Bytes EncodeWebp(const Picture& picture, const WebpOptions& options) {
  const auto [width, height] = picture.size;
  uint8_t* encoded = nullptr;
  size_t encoded_bytes = 0;
  if (options.alpha) {
    Picture rgba{picture.size, 4, Bytes(static_cast<size_t>(width) * height * 4)};
    for (int y = 0; y < height; ++y) {
      for (int x = 0; x < width; ++x) {
        std::memcpy(rgba.at(x, y), picture.at(x, y), 3);
        rgba.at(x, y)[3] = static_cast<uint8_t>(1 + (x * 5 + y * 3) % 255);  // never 0: its colour need not be kept
      }
    }
    encoded_bytes = options.lossless ? WebPEncodeLosslessRGBA(rgba.at(0, 0), width, height, width * 4, &encoded)
                                     : WebPEncodeRGBA(rgba.at(0, 0), width, height, width * 4, 90, &encoded);
  } else {
    encoded_bytes = options.lossless ? WebPEncodeLosslessRGB(picture.at(0, 0), width, height, width * 3, &encoded)
                                     : WebPEncodeRGB(picture.at(0, 0), width, height, width * 3, 90, &encoded);
  }
  Bytes bytes(encoded, encoded + encoded_bytes);
  WebPFree(encoded);
  if (options.exif.empty()) return bytes;

  constexpr uint8_t kHasExif = 8;
  Bytes chunks;
  AppendRiffChunk(chunks, "VP8X", MakeVp8x(kHasExif, picture.size));
  Append(chunks, WebpChunks(bytes));
  AppendRiffChunk(chunks, "EXIF", options.exif);
  return MakeRiff(chunks);
}

Bytes EncodeWebpAnimation(ImageSize canvas, std::span<const WebpFrame> frames) {
  constexpr uint8_t kIsAnimation = 2;
  Bytes chunks;
  AppendRiffChunk(chunks, "VP8X", MakeVp8x(kIsAnimation, canvas));
  AppendRiffChunk(chunks, "ANIM", Bytes{0, 0, 255, 255, 0, 0});  // background colour and loop count
  for (const WebpFrame& frame : frames) {
    Bytes content;
    AppendNumber(content, static_cast<uint32_t>(frame.x / 2), 3, false);
    AppendNumber(content, static_cast<uint32_t>(frame.y / 2), 3, false);
    AppendNumber(content, static_cast<uint32_t>(frame.picture.size.width - 1), 3, false);
    AppendNumber(content, static_cast<uint32_t>(frame.picture.size.height - 1), 3, false);
    AppendNumber(content, 100, 3, false);  // milliseconds
    content.push_back(0);
    Append(content, WebpChunks(EncodeWebp(frame.picture)));
    AppendRiffChunk(chunks, "ANMF", content);
  }
  return MakeRiff(chunks);
}

}  // namespace stoker

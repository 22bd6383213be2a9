#include "decode/webp_decoder.h"

#include <webp/decode.h>
#include <webp/demux.h>

#include <algorithm>
#include <cstdio>
#include <memory>

namespace stoker {
namespace {

std::error_code Explain(VP8StatusCode status, size_t size, Diagnosis& diagnosis) {
  switch (status) {
    case VP8_STATUS_OK:
      return {};
    case VP8_STATUS_OUT_OF_MEMORY:
      diagnosis.Say("no memory for the WebP decoder");
      return DecodeError::kOutOfMemory;
    case VP8_STATUS_UNSUPPORTED_FEATURE:
      diagnosis.Say("a feature of WebP that libwebp does not know");
      return DecodeError::kUnsupported;
    case VP8_STATUS_NOT_ENOUGH_DATA:
    case VP8_STATUS_SUSPENDED: {
      char words[sizeof(diagnosis.detail)];
      std::snprintf(words, sizeof(words), "truncated after %zu bytes", size);
      diagnosis.Say(words);
      diagnosis.offset_bytes = static_cast<int64_t>(size);
      return DecodeError::kTruncated;
    }
    default:
      diagnosis.Say("the WebP data is not valid");
      return DecodeError::kCorrupt;
  }
}

// Decodes one still picture of exactly `size` into rows that lie in `image` at (x, y).
VP8StatusCode DecodeStill(const uint8_t* data, size_t data_bytes, int x, int y, ImageSize size, Image& image) {
  WebPDecoderConfig config;
  if (!WebPInitDecoderConfig(&config)) return VP8_STATUS_INVALID_PARAM;
  config.output.colorspace = MODE_RGB;
  config.output.is_external_memory = 1;
  config.output.u.RGBA.rgba = image.row(y) + static_cast<ptrdiff_t>(x) * 3;
  config.output.u.RGBA.stride = static_cast<int>(image.stride_bytes());
  config.output.u.RGBA.size =
      image.stride_bytes() * static_cast<size_t>(size.height - 1) + static_cast<size_t>(size.width) * 3;
  if (const VP8StatusCode status = WebPGetFeatures(data, data_bytes, &config.input)) return status;
  if (config.input.width != size.width || config.input.height != size.height) return VP8_STATUS_BITSTREAM_ERROR;
  return WebPDecode(data, data_bytes, &config);
}

struct DeleteDemuxer {
  void operator()(WebPDemuxer* demuxer) const { WebPDemuxDelete(demuxer); }
};

VP8StatusCode DecodeFirstFrame(std::span<const uint8_t> bytes, ImageSize canvas, Image& image) {
  const WebPData data = {bytes.data(), bytes.size()};
  WebPDemuxState state = WEBP_DEMUX_PARSE_ERROR;
  const std::unique_ptr<WebPDemuxer, DeleteDemuxer> demuxer(WebPDemuxPartial(&data, &state));
  if (!demuxer) return state == WEBP_DEMUX_PARSING_HEADER ? VP8_STATUS_NOT_ENOUGH_DATA : VP8_STATUS_BITSTREAM_ERROR;
  if (state != WEBP_DEMUX_DONE) return VP8_STATUS_NOT_ENOUGH_DATA;
  WebPIterator frame;
  if (!WebPDemuxGetFrame(demuxer.get(), 1, &frame)) return VP8_STATUS_BITSTREAM_ERROR;
  const std::unique_ptr<WebPIterator, void (*)(WebPIterator*)> release(&frame, WebPDemuxReleaseIterator);

  const bool inside = frame.x_offset >= 0 && frame.y_offset >= 0 && frame.width > 0 && frame.height > 0 &&
                      frame.width <= canvas.width - frame.x_offset && frame.height <= canvas.height - frame.y_offset;
  if (!inside) return VP8_STATUS_BITSTREAM_ERROR;
  if (frame.width < canvas.width || frame.height < canvas.height) {
    for (int32_t y = 0; y < canvas.height; ++y) std::fill_n(image.row(y), canvas.width * 3, uint8_t{0});
  }
  return DecodeStill(frame.fragment.bytes, frame.fragment.size, frame.x_offset, frame.y_offset,
                     {frame.width, frame.height}, image);
}

}  // namespace

std::error_code ReadWebpSize(std::span<const uint8_t> bytes, ImageSize& size, Diagnosis& diagnosis) noexcept {
  WebPBitstreamFeatures features;
  const VP8StatusCode status = WebPGetFeatures(bytes.data(), bytes.size(), &features);
  if (status == VP8_STATUS_OK) size = {features.width, features.height};
  return Explain(status, bytes.size(), diagnosis);
}

std::error_code DecodeWebp(std::span<const uint8_t> bytes, Image& image, Diagnosis& diagnosis) noexcept {
  WebPBitstreamFeatures features;
  VP8StatusCode status = WebPGetFeatures(bytes.data(), bytes.size(), &features);
  if (status != VP8_STATUS_OK) return Explain(status, bytes.size(), diagnosis);
  const ImageSize size = {features.width, features.height};
  if (!image.Reset(size, 3)) return DecodeError::kOutOfMemory;
  status = features.has_animation ? DecodeFirstFrame(bytes, size, image)
                                  : DecodeStill(bytes.data(), bytes.size(), 0, 0, size, image);
  return Explain(status, bytes.size(), diagnosis);
}

}  // namespace stoker

#include "decode/decoder.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstdio>
#include <utility>

#include "decode/jpeg_decoder.h"
#include "decode/opencv_module.h"
#include "decode/orientation.h"
#include "decode/png_decoder.h"
#include "decode/webp_decoder.h"

namespace stoker {
namespace {

using Bytes = std::span<const uint8_t>;

std::error_code Unread(Format format, Diagnosis& diagnosis) {
  if (format == Format::kUnknown) {
    diagnosis.Say("no known picture signature");
    return DecodeError::kNotAnImage;
  }
  char words[sizeof(diagnosis.detail)];
  const std::string_view name = FormatName(format);
  const char* hint = format == Format::kLfsPointer ? "; run `git lfs pull` to fetch the pictures" : "";
  std::snprintf(words, sizeof(words), "found %.*s instead of a supported picture%s", static_cast<int>(name.size()),
                name.data(), hint);
  diagnosis.Say(words);
  return DecodeError::kUnsupported;
}

std::error_code CheckSize(ImageSize size, int64_t max_pixels, Diagnosis& diagnosis) {
  if (int64_t{size.width} * size.height <= max_pixels) return {};
  char words[sizeof(diagnosis.detail)];
  std::snprintf(words, sizeof(words), "%d x %d pixels are more than the limit of %lld", size.width, size.height,
                static_cast<long long>(max_pixels));
  diagnosis.detail[0] = '\0';
  diagnosis.Say(words);
  return DecodeError::kTooLarge;
}

// The part of the picture that the box touches; `box` becomes relative to it.
ImageView Crop(ImageView view, RegionBox& box) {
  const auto left = static_cast<int32_t>(std::floor(box.x0));
  const auto top = static_cast<int32_t>(std::floor(box.y0));
  const auto right = static_cast<int32_t>(std::ceil(box.x1));
  const auto bottom = static_cast<int32_t>(std::ceil(box.y1));
  view.pixels = view.row(top) + static_cast<ptrdiff_t>(left) * view.channels;
  view.size = {right - left, bottom - top};
  box = {box.x0 - left, box.y0 - top, box.x1 - left, box.y1 - top};
  return view;
}

}  // namespace

struct Decoder::State {
  explicit State(const DecodeLimits& given_limits) : limits(given_limits), jpeg(given_limits.jpeg_entropy) {}

  std::error_code ReadHeader(Bytes bytes, bool strict, ImageSize& stored, Diagnosis& diagnosis) noexcept;
  std::error_code ReadPixels(Bytes bytes, ImageSize stored, const DecodeRequest& request, Image& image, RegionBox& box,
                             Diagnosis& diagnosis) noexcept;
  Orientation OrientationOf(Format format, Bytes bytes) const noexcept {
    return limits.apply_exif ? ReadOrientation(format, bytes) : Orientation{};
  }

  const DecodeLimits limits;
  JpegDecoder jpeg;
  Image scratch;  // pictures that are turned or made gray after decoding
};

// Finds the format and the stored size, and refuses what is over the limit.
std::error_code Decoder::State::ReadHeader(Bytes bytes, bool strict, ImageSize& stored, Diagnosis& diagnosis) noexcept {
  diagnosis = {};
  if (bytes.empty()) {
    diagnosis.Say("the file is empty");
    return DecodeError::kEmpty;
  }
  diagnosis.format = DetectFormat(bytes.data(), bytes.size());
  std::error_code error;
  switch (diagnosis.format) {
    case Format::kJpeg:
      error = jpeg.ReadHeader(bytes, strict, stored, diagnosis);
      break;
    case Format::kPng:
      error = ReadPngSize(bytes, stored, diagnosis);
      break;
    case Format::kWebp:
      error = ReadWebpSize(bytes, stored, diagnosis);
      break;
    case Format::kBmp:
      error = ReadBmpSize(bytes, stored, diagnosis);
      break;
    case Format::kTiff:
      error = ReadTiffSize(bytes, stored, diagnosis);
      break;
    default:
      return Unread(diagnosis.format, diagnosis);
  }
  return error ? error : CheckSize(stored, limits.max_pixels, diagnosis);
}

// `request` is in stored coordinates. Three channels, or one where a JPEG is gray and gray is asked for.
std::error_code Decoder::State::ReadPixels(Bytes bytes, ImageSize stored, const DecodeRequest& request, Image& image,
                                           RegionBox& box, Diagnosis& diagnosis) noexcept {
  const Rect& region = request.region;
  // As it stays where a decoder gives the whole picture.
  box = {static_cast<double>(region.x), static_cast<double>(region.y), static_cast<double>(region.x + region.width),
         static_cast<double>(region.y + region.height)};
  switch (diagnosis.format) {
    case Format::kJpeg:
      return jpeg.ReadPixels(request, image, box, diagnosis);
    case Format::kPng:
      return DecodePng(bytes, region, limits.strict, image, box, diagnosis);
    case Format::kWebp:
      return DecodeWebp(bytes, image, diagnosis);
    default:
      return DecodeWithOpencv(bytes, stored, image, diagnosis);
  }
}

Decoder::Decoder(const DecodeLimits& limits) : state_(std::make_unique<State>(limits)) {}
Decoder::~Decoder() = default;

std::error_code Decoder::Peek(Bytes bytes, ImageSize& size, Diagnosis& diagnosis) noexcept {
  ImageSize stored;
  if (const std::error_code error = state_->ReadHeader(bytes, false, stored, diagnosis)) return error;
  size = TurnSize(stored, state_->OrientationOf(diagnosis.format, bytes));
  return {};
}

std::error_code Decoder::Decode(Bytes bytes, const DecodeRequest& request, Image& image, RegionBox& box,
                                Diagnosis& diagnosis) noexcept {
  State& state = *state_;
  ImageSize stored;
  if (const std::error_code error = state.ReadHeader(bytes, state.limits.strict, stored, diagnosis)) return error;
  const Orientation orientation = state.OrientationOf(diagnosis.format, bytes);
  const Rect& region = request.region;
  [[maybe_unused]] const ImageSize size = TurnSize(stored, orientation);
  assert(region.x >= 0 && region.y >= 0 && region.width > 0 && region.height > 0);
  assert(region.width <= size.width - region.x && region.height <= size.height - region.y);

  DecodeRequest stored_request = request;
  stored_request.region = StoredRegion(region, stored, orientation);
  stored_request.at_least = TurnSize(request.at_least, orientation);
  std::error_code error = state.ReadPixels(bytes, stored, stored_request, image, box, diagnosis);
  if (!error && state.limits.strict && diagnosis.warnings > 0) error = DecodeError::kWarnings;
  if (error) return error;
  // Of the pictures asked for in gray only gray JPEGs come out of their decoder so.
  if (orientation.is_upright() && image.channels() == static_cast<int32_t>(request.channels)) return {};

  std::swap(image, state.scratch);
  const ImageView region_view = Crop(state.scratch.view(), box);
  if (!TurnPixels(region_view, orientation, request.channels, image)) return DecodeError::kOutOfMemory;
  box = TurnBox(box, region_view.size, orientation);
  return {};
}

size_t Decoder::scratch_bytes() const noexcept {
  return state_->scratch.capacity_bytes() + state_->jpeg.scratch_bytes();
}

}  // namespace stoker

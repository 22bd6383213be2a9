#include "decode/jpeg_decoder.h"

#include <algorithm>
#include <cassert>

#include "decode/jpeg/region_decoder.h"
#include "decode/jpeg_frame.h"
#include "decode/jpeg_session.h"

namespace stoker {
namespace {

// The largest vertical sampling factor, and so the most rows that libjpeg has ready at a time.
constexpr int kMaxRowsAtOnce = MAX_SAMP_FACTOR;

// The columns and rows of the (scaled) picture that are decoded.
struct Window {
  Rect rect;
  RegionBox box;  // the requested region, relative to `rect`
};

// The largest of the denominators 8, 4, 2, 1 at which the region keeps the size that is asked for.
int ScaleDenominator(const DecodeRequest& request) {
  if (request.at_least == ImageSize{}) return 1;
  for (int denominator = 8; denominator > 1; denominator /= 2) {
    if (request.region.width >= int64_t{denominator} * request.at_least.width &&
        request.region.height >= int64_t{denominator} * request.at_least.height) {
      return denominator;
    }
  }
  return 1;
}

// Block smoothing looks at neighbouring blocks, but only where coefficients of a progressive file are missing.
bool IsIncomplete(const jpeg_decompress_struct& decompress) {
  if (!decompress.progressive_mode || decompress.coef_bits == nullptr) return false;
  for (int component = 0; component < decompress.num_components; ++component) {
    const int* bits = decompress.coef_bits[component];
    if (std::any_of(bits, bits + DCTSIZE2, [](int missing) { return missing != 0; })) return true;
  }
  return false;
}

// The region in the scaled picture, whole pixels that cover it; `box` is where it lies in them.
Rect ScaledRegion(const Rect& region, int denominator, RegionBox& box) {
  const double scale = 1.0 / denominator;
  const int32_t left = region.x / denominator;
  const int32_t top = region.y / denominator;
  const int32_t right = (region.x + region.width + denominator - 1) / denominator;
  const int32_t bottom = (region.y + region.height + denominator - 1) / denominator;
  box = {region.x * scale - left, region.y * scale - top, (region.x + region.width) * scale - left,
         (region.y + region.height) * scale - top};
  return {left, top, right - left, bottom - top};
}

// What libjpeg must decode so that the region gets the very bits of a full decode. libjpeg moves the left edge down to
// an iMCU boundary by itself; at both cut edges fancy upsampling takes the neighbouring chroma sample for missing.
Window MakeWindow(const jpeg_decompress_struct& decompress, const Rect& region, int denominator, bool whole) {
  const ImageSize picture = {static_cast<int32_t>(decompress.output_width),
                             static_cast<int32_t>(decompress.output_height)};
  RegionBox box;
  const Rect scaled = ScaledRegion(region, denominator, box);
  int32_t left = scaled.x;
  int32_t top = scaled.y;
  int32_t right = scaled.x + scaled.width;
  int32_t bottom = scaled.y + scaled.height;
  if (whole) {
    left = top = 0;
    right = picture.width;
    bottom = picture.height;
  } else {
    const int32_t factor = decompress.num_components == 1 ? 1 : decompress.max_h_samp_factor;
    const int32_t imcu_width = factor * decompress.min_DCT_scaled_size;
    if (factor > 1) {
      if (left % imcu_width == 0) left = std::max(0, left - imcu_width);
      // Four chroma samples at least: on narrower pictures libjpeg upsamples in another way.
      right = std::max(right + factor, left + 4 * factor);
    }
    left = left / imcu_width * imcu_width;
    right = std::min(right, picture.width);
  }
  const double more_left = scaled.x - left;
  const double more_above = scaled.y - top;
  return {{left, top, right - left, bottom - top},
          {box.x0 + more_left, box.y0 + more_above, box.x1 + more_left, box.y1 + more_above}};
}

// Adobe's inverted CMYK, as nearly all CMYK JPEGs are whether they say so or not: white is 255. Pillow's formula.
void RgbFromCmyk(const uint8_t* cmyk, int32_t width, uint8_t* rgb) {
  for (int32_t x = 0; x < width; ++x, cmyk += 4, rgb += 3) {
    const int white = cmyk[3];
    for (int c = 0; c < 3; ++c) {
      const int product = (255 - cmyk[c]) * white + 128;
      rgb[c] = static_cast<uint8_t>(white - ((product + (product >> 8)) >> 8));
    }
  }
}

void ReadRows(jpeg_decompress_struct& decompress, Image& image) {
  const int32_t height = image.size().height;
  JSAMPROW rows[kMaxRowsAtOnce];
  for (int32_t y = 0; y < height;) {
    const int32_t count = std::min(kMaxRowsAtOnce, height - y);
    for (int32_t i = 0; i < count; ++i) rows[i] = image.row(y + i);
    y += static_cast<int32_t>(jpeg_read_scanlines(&decompress, rows, static_cast<JDIMENSION>(count)));
  }
}

void ReadCmykRows(jpeg_decompress_struct& decompress, Image& image) {
  const JSAMPARRAY rows = decompress.mem->alloc_sarray(reinterpret_cast<j_common_ptr>(&decompress), JPOOL_IMAGE,
                                                       decompress.output_width * 4, kMaxRowsAtOnce);
  const int32_t height = image.size().height;
  for (int32_t y = 0; y < height;) {
    const int32_t count = std::min(kMaxRowsAtOnce, height - y);
    const auto read = static_cast<int32_t>(jpeg_read_scanlines(&decompress, rows, static_cast<JDIMENSION>(count)));
    for (int32_t i = 0; i < read; ++i) RgbFromCmyk(rows[i], image.size().width, image.row(y + i));
    y += read;
  }
}

J_COLOR_SPACE OutputSpace(const jpeg_decompress_struct& decompress, Channels channels) {
  switch (decompress.jpeg_color_space) {
    case JCS_GRAYSCALE:
      return channels == Channels::kGray ? JCS_GRAYSCALE : JCS_RGB;
    case JCS_CMYK:
    case JCS_YCCK:
      return JCS_CMYK;
    default:
      return JCS_RGB;
  }
}

}  // namespace

struct JpegDecoder::State {
  explicit State(JpegEntropy given_entropy) : entropy(given_entropy) {}

  // By our own decoder. False: that is the library's work.
  bool DecodeByOurselves(const DecodeRequest& request, int denominator, Image& image, RegionBox& box,
                         Diagnosis& diagnosis) noexcept;
  std::error_code DecodeByLibrary(const DecodeRequest& request, int denominator, Image& image, RegionBox& box,
                                  Diagnosis& diagnosis) noexcept;

  const JpegEntropy entropy;
  JpegSession session;
  JpegFrame frame;
  RegionDecoder own;
};

JpegDecoder::JpegDecoder(JpegEntropy entropy) : state_(std::make_unique<State>(entropy)) {}
JpegDecoder::~JpegDecoder() = default;

size_t JpegDecoder::scratch_bytes() const noexcept { return state_->own.scratch_bytes(); }

std::error_code JpegDecoder::ReadHeader(std::span<const uint8_t> bytes, bool strict, ImageSize& size,
                                        Diagnosis& diagnosis) noexcept {
  JpegSession& session = state_->session;
  session.Open(bytes, strict);
  jpeg_decompress_struct& decompress = session.decompress();
  if (!session.Run(diagnosis, [&] { jpeg_read_header(&decompress, TRUE); })) return session.error();
  size = {static_cast<int32_t>(decompress.image_width), static_cast<int32_t>(decompress.image_height)};
  return {};
}

std::error_code JpegDecoder::State::DecodeByLibrary(const DecodeRequest& request, int denominator, Image& image,
                                                    RegionBox& box, Diagnosis& diagnosis) noexcept {
  jpeg_decompress_struct& decompress = session.decompress();
  decompress.scale_num = 1;
  decompress.scale_denom = static_cast<unsigned>(denominator);
  decompress.out_color_space = OutputSpace(decompress, request.channels);
  if (!session.Run(diagnosis, [&] { jpeg_start_decompress(&decompress); })) return session.error();

  const bool whole = session.strict() || IsIncomplete(decompress);
  const Window window = MakeWindow(decompress, request.region, denominator, whole);
  const int channels = decompress.out_color_space == JCS_GRAYSCALE ? 1 : 3;
  if (!image.Reset({window.rect.width, window.rect.height}, channels)) {
    session.Close();
    return DecodeError::kOutOfMemory;
  }

  const bool done = session.Run(diagnosis, [&] {
    auto left = static_cast<JDIMENSION>(window.rect.x);
    auto width = static_cast<JDIMENSION>(window.rect.width);
    jpeg_crop_scanline(&decompress, &left, &width);
    jpeg_skip_scanlines(&decompress, static_cast<JDIMENSION>(window.rect.y));
    if (decompress.out_color_space == JCS_CMYK) {
      ReadCmykRows(decompress, image);
    } else {
      ReadRows(decompress, image);
    }
    if (session.strict()) jpeg_finish_decompress(&decompress);  // looks behind the last row too
  });
  if (!done) return session.error();
  session.Close();  // what lies below the region is never decoded
  box = window.box;
  return {};
}

bool JpegDecoder::State::DecodeByOurselves(const DecodeRequest& request, int denominator, Image& image, RegionBox& box,
                                           Diagnosis& diagnosis) noexcept {
  if (entropy == JpegEntropy::kLibrary || session.strict() || denominator > 2) return false;
  if (!ReadFrame(session.decompress(), static_cast<size_t>(session.position()), frame)) return false;
  const Rect region = ScaledRegion(request.region, denominator, box);
  const int channels = frame.components == 1 && request.channels == Channels::kGray ? 1 : 3;
  const bool done = own.Decode(session.bytes(), frame, region, denominator, channels, request.marks, image);
  diagnosis.jpeg_path = done ? JpegPath::kOwn : JpegPath::kStartedOver;
  return done;
}

std::error_code JpegDecoder::ReadPixels(const DecodeRequest& request, Image& image, RegionBox& box,
                                        Diagnosis& diagnosis) noexcept {
  State& state = *state_;
  assert(state.session.decompress().image_width > 0);
  const int denominator = ScaleDenominator(request);
  diagnosis.jpeg_path = JpegPath::kLibrary;
  if (state.DecodeByOurselves(request, denominator, image, box, diagnosis)) {
    state.session.Close();
    return {};
  }
  if (state.entropy == JpegEntropy::kOwn) {
    diagnosis.Say(diagnosis.jpeg_path == JpegPath::kStartedOver ? "odd data, left to libjpeg-turbo"
                                                                : "a kind of JPEG that is left to libjpeg-turbo");
    return DecodeError::kUnsupported;
  }
  return state.DecodeByLibrary(request, denominator, image, box, diagnosis);
}

}  // namespace stoker

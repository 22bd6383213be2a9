#include "decode/png_decoder.h"

#include <png.h>

#include <csetjmp>
#include <cstdio>
#include <cstring>

namespace stoker {
namespace {

// Signature, length and type of the first chunk; then width and height, big-endian, and five bytes and a checksum.
constexpr size_t kSizeOffset = 16;
constexpr size_t kHeaderEnd = 33;

uint32_t ReadBigEndian(const uint8_t* p) {
  return uint32_t{p[0]} << 24 | uint32_t{p[1]} << 16 | uint32_t{p[2]} << 8 | uint32_t{p[3]};
}

// One picture being read. Lives outside the frames that libpng's errors jump over, and cleans up behind them.
class PngReader {
 public:
  PngReader(std::span<const uint8_t> bytes, Diagnosis& diagnosis) noexcept : bytes_(bytes), diagnosis_(diagnosis) {
    png_ = png_create_read_struct(PNG_LIBPNG_VER_STRING, this, OnError, OnWarning);
    if (png_ != nullptr) info_ = png_create_info_struct(png_);
    if (info_ == nullptr) error_ = DecodeError::kOutOfMemory;
  }
  ~PngReader() { png_destroy_read_struct(&png_, &info_, nullptr); }
  PngReader(const PngReader&) = delete;
  PngReader& operator=(const PngReader&) = delete;

  // Runs `step`, which calls libpng and holds no object with a destructor; false where libpng gave up.
  template <typename Step>
  bool Run(Step step) noexcept {
    if (error_) return false;
    if (setjmp(escape_) != 0) return false;
    step(png_, info_);
    return true;
  }

  std::error_code error() const noexcept { return error_; }

  static void Read(png_structp png, png_bytep out, size_t count) {
    auto& reader = *static_cast<PngReader*>(png_get_io_ptr(png));
    if (count > reader.bytes_.size() - reader.position_) {
      char words[sizeof(reader.diagnosis_.detail)];
      std::snprintf(words, sizeof(words), "truncated after %zu bytes", reader.bytes_.size());
      reader.position_ = reader.bytes_.size();
      reader.Fail(DecodeError::kTruncated, words);
    }
    std::memcpy(out, reader.bytes_.data() + reader.position_, count);
    reader.position_ += count;
  }

 private:
  [[noreturn]] void Fail(DecodeError error, const char* words) noexcept {
    error_ = error;
    diagnosis_.offset_bytes = static_cast<int64_t>(position_);
    diagnosis_.detail[0] = '\0';  // an error says more than the warnings before it
    diagnosis_.Say(words);
    std::longjmp(escape_, 1);
  }
  [[noreturn]] static void OnError(png_structp png, png_const_charp words) {
    static_cast<PngReader*>(png_get_error_ptr(png))->Fail(DecodeError::kCorrupt, words);
  }
  static void OnWarning(png_structp png, png_const_charp words) {
    auto& reader = *static_cast<PngReader*>(png_get_error_ptr(png));
    if (++reader.diagnosis_.warnings > 1) return;
    reader.diagnosis_.offset_bytes = static_cast<int64_t>(reader.position_);
    reader.diagnosis_.Say(words);
  }

  std::span<const uint8_t> bytes_;
  size_t position_ = 0;
  Diagnosis& diagnosis_;
  png_structp png_ = nullptr;
  png_infop info_ = nullptr;
  std::jmp_buf escape_ = {};
  std::error_code error_;
};

// Reads the header and asks for 8-bit RGB: palettes looked up, few bits spread, high bytes kept, alpha dropped.
void Start(png_structp png, png_infop info, void* reader) {
  png_set_read_fn(png, reader, PngReader::Read);
  // Everything that is not needed for the pixels is skipped unread: texts and profiles that inflate without end, and
  // the warnings about them.
  png_set_keep_unknown_chunks(png, PNG_HANDLE_CHUNK_NEVER, nullptr, -1);
  png_set_keep_unknown_chunks(png, PNG_HANDLE_CHUNK_NEVER, reinterpret_cast<png_const_bytep>("tRNS"), 1);
  png_set_user_limits(png, PNG_UINT_31_MAX, PNG_UINT_31_MAX);  // the caller has checked the size
  png_read_info(png, info);
  png_set_palette_to_rgb(png);
  png_set_expand_gray_1_2_4_to_8(png);
  png_set_strip_16(png);
  png_set_strip_alpha(png);
  png_set_gray_to_rgb(png);
}

// Rows above the region are written into its first row, and then over.
void ReadRows(png_structp png, int32_t skipped, Image& image) {
  for (int32_t y = 0; y < skipped; ++y) png_read_row(png, image.row(0), nullptr);
  for (int32_t y = 0; y < image.size().height; ++y) png_read_row(png, image.row(y), nullptr);
}

void ReadInterlaced(png_structp png, int passes, Image& image) {
  for (int pass = 0; pass < passes; ++pass) {
    for (int32_t y = 0; y < image.size().height; ++y) png_read_row(png, image.row(y), nullptr);
  }
}

// Whether the chunks run on to the end chunk: a cut file is an error whatever part of it is asked for. Costs a few
// steps, no byte is decoded.
bool RunsToTheEnd(std::span<const uint8_t> bytes) noexcept {
  constexpr size_t kAroundData = 12;  // length, type and checksum
  for (size_t at = 8; at + kAroundData <= bytes.size();) {
    const size_t data_bytes = ReadBigEndian(bytes.data() + at);
    if (bytes.size() - at - kAroundData < data_bytes) return false;
    if (std::memcmp(bytes.data() + at + 4, "IEND", 4) == 0) return true;
    at += kAroundData + data_bytes;
  }
  return false;
}

std::error_code Truncated(std::span<const uint8_t> bytes, Diagnosis& diagnosis) noexcept {
  char words[sizeof(diagnosis.detail)];
  std::snprintf(words, sizeof(words), "truncated after %zu bytes", bytes.size());
  diagnosis.Say(words);
  diagnosis.offset_bytes = static_cast<int64_t>(bytes.size());
  return DecodeError::kTruncated;
}

}  // namespace

std::error_code ReadPngSize(std::span<const uint8_t> bytes, ImageSize& size, Diagnosis& diagnosis) noexcept {
  if (bytes.size() < kHeaderEnd) return Truncated(bytes, diagnosis);
  const uint32_t width = ReadBigEndian(bytes.data() + kSizeOffset);
  const uint32_t height = ReadBigEndian(bytes.data() + kSizeOffset + 4);
  const bool is_header = std::memcmp(bytes.data() + 8, "\0\0\0\x0DIHDR", 8) == 0;
  if (!is_header || width == 0 || height == 0 || width > PNG_UINT_31_MAX || height > PNG_UINT_31_MAX) {
    diagnosis.Say(is_header ? "width or height is not valid" : "the header chunk is missing");
    diagnosis.offset_bytes = is_header ? kSizeOffset : 8;
    return DecodeError::kCorrupt;
  }
  size = {static_cast<int32_t>(width), static_cast<int32_t>(height)};
  return RunsToTheEnd(bytes) ? std::error_code() : Truncated(bytes, diagnosis);
}

std::error_code DecodePng(std::span<const uint8_t> bytes, const Rect& region, bool strict, Image& image, RegionBox& box,
                          Diagnosis& diagnosis) noexcept {
  PngReader reader(bytes, diagnosis);
  int passes = 1;
  ImageSize size;
  const bool started = reader.Run([&](png_structp png, png_infop info) {
    Start(png, info, &reader);
    passes = png_set_interlace_handling(png);
    png_read_update_info(png, info);
    size = {static_cast<int32_t>(png_get_image_width(png, info)),
            static_cast<int32_t>(png_get_image_height(png, info))};
    if (png_get_rowbytes(png, info) != static_cast<size_t>(size.width) * 3) png_error(png, "rows are not 8-bit RGB");
  });
  if (!started) return reader.error();

  const bool interlaced = passes > 1;
  const Rect rows = interlaced ? Rect{0, 0, size.width, size.height} : Rect{0, region.y, size.width, region.height};
  if (!image.Reset({rows.width, rows.height}, 3)) return DecodeError::kOutOfMemory;
  const bool done = reader.Run([&](png_structp png, png_infop info) {
    if (interlaced) {
      ReadInterlaced(png, passes, image);
    } else {
      ReadRows(png, rows.y, image);
      if (strict) {
        for (int32_t y = rows.y + rows.height; y < size.height; ++y) png_read_row(png, nullptr, nullptr);
      }
    }
    if (strict || rows.y + rows.height == size.height) png_read_end(png, info);
  });
  if (!done) return reader.error();
  box.y0 -= rows.y;
  box.y1 -= rows.y;
  return {};
}

}  // namespace stoker

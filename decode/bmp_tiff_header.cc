// The headers of BMP and TIFF files: sizes, and which variants OpenCV reads as they should be read.
#include <cstdio>

#include "decode/opencv_module.h"
#include "decode/tiff_directory.h"

namespace stoker {
namespace {

std::error_code Refuse(DecodeError error, const char* words, Diagnosis& diagnosis) {
  diagnosis.Say(words);
  return error;
}

std::error_code Truncated(size_t size, Diagnosis& diagnosis) {
  char words[sizeof(diagnosis.detail)];
  std::snprintf(words, sizeof(words), "truncated after %zu bytes", size);
  diagnosis.offset_bytes = static_cast<int64_t>(size);
  return Refuse(DecodeError::kTruncated, words, diagnosis);
}

uint32_t ReadLittleEndian(const uint8_t* p, int bytes) {
  uint32_t value = 0;
  for (int i = bytes; i-- > 0;) value = value << 8 | p[i];
  return value;
}

// The fields that matter of a BMP's two headers.
struct BmpHeader {
  uint32_t pixels_offset = 0;
  int64_t width = 0;
  int64_t height = 0;  // negative where the rows go down
  uint32_t bits = 0;
  uint32_t compression = 0;
  bool has_usual_masks = true;
};

// False where the bytes end inside the headers.
bool ReadBmpHeader(std::span<const uint8_t> bytes, BmpHeader& header) {
  constexpr size_t kFileHeaderBytes = 14;
  constexpr uint32_t kOldHeaderBytes = 12;
  if (bytes.size() < kFileHeaderBytes + kOldHeaderBytes) return false;
  const uint8_t* const p = bytes.data();
  const uint32_t header_bytes = ReadLittleEndian(p + 14, 4);
  if (bytes.size() < kFileHeaderBytes + header_bytes) return false;
  header.pixels_offset = ReadLittleEndian(p + 10, 4);
  if (header_bytes < 36) {
    header.width = ReadLittleEndian(p + 18, 2);
    header.height = ReadLittleEndian(p + 20, 2);
    header.bits = ReadLittleEndian(p + 24, 2);
    return true;
  }
  header.width = static_cast<int32_t>(ReadLittleEndian(p + 18, 4));
  header.height = static_cast<int32_t>(ReadLittleEndian(p + 22, 4));
  header.bits = ReadLittleEndian(p + 28, 2);
  header.compression = ReadLittleEndian(p + 30, 4);
  constexpr size_t kMasksOffset = 54;
  if (header.compression == 3 && bytes.size() >= kMasksOffset + 12) {
    header.has_usual_masks = ReadLittleEndian(p + kMasksOffset, 4) == 0xFF0000 &&
                             ReadLittleEndian(p + kMasksOffset + 4, 4) == 0xFF00 &&
                             ReadLittleEndian(p + kMasksOffset + 8, 4) == 0xFF;
  }
  return true;
}

bool IsPlain(uint32_t sample_format) { return sample_format == 1 || sample_format == 4; }  // unsigned or undefined

}  // namespace

std::error_code ReadBmpSize(std::span<const uint8_t> bytes, ImageSize& size, Diagnosis& diagnosis) noexcept {
  BmpHeader header;
  if (!ReadBmpHeader(bytes, header)) return Truncated(bytes.size(), diagnosis);
  const int64_t height = header.height < 0 ? -header.height : header.height;
  if (header.width <= 0 || height == 0 || height > INT32_MAX) {
    return Refuse(DecodeError::kCorrupt, "width or height is not valid", diagnosis);
  }
  size = {static_cast<int32_t>(header.width), static_cast<int32_t>(height)};
  return {};
}

std::error_code CheckBmp(std::span<const uint8_t> bytes, Diagnosis& diagnosis) noexcept {
  BmpHeader header;
  if (!ReadBmpHeader(bytes, header)) return Truncated(bytes.size(), diagnosis);
  const bool plain =
      header.compression == 0 || (header.compression == 3 && header.bits == 32 && header.has_usual_masks);
  if (!plain) return Refuse(DecodeError::kUnsupported, "compressed BMP is not supported", diagnosis);
  switch (header.bits) {
    case 1:
    case 4:
    case 8:
    case 24:
    case 32:
      break;
    case 16:
      return Refuse(DecodeError::kUnsupported, "16-bit BMP is not supported", diagnosis);
    default:
      return Refuse(DecodeError::kCorrupt, "the number of bits a pixel is not valid", diagnosis);
  }
  const int64_t height = header.height < 0 ? -header.height : header.height;
  const int64_t row_bytes = (header.width * header.bits + 31) / 32 * 4;
  const int64_t available = static_cast<int64_t>(bytes.size()) - int64_t{header.pixels_offset};
  // The division: the product can be larger than 64 bits.
  if (available / row_bytes < height) return Truncated(bytes.size(), diagnosis);
  return {};
}

std::error_code ReadTiffSize(std::span<const uint8_t> bytes, ImageSize& size, Diagnosis& diagnosis) noexcept {
  if (bytes.size() >= 4 && (bytes[2] == '+' || bytes[3] == '+')) {
    return Refuse(DecodeError::kUnsupported, "BigTIFF is not supported", diagnosis);
  }
  const TiffDirectory directory(bytes);
  if (!directory.valid()) return Truncated(bytes.size(), diagnosis);
  const uint32_t width = directory.Find(TiffDirectory::kImageWidth).value_or(0);
  const uint32_t height = directory.Find(TiffDirectory::kImageLength).value_or(0);
  if (width == 0 || height == 0 || width > INT32_MAX || height > INT32_MAX) {
    return Refuse(DecodeError::kCorrupt, "width or height is not valid", diagnosis);
  }
  size = {static_cast<int32_t>(width), static_cast<int32_t>(height)};
  return {};
}

std::error_code CheckTiff(std::span<const uint8_t> bytes, Diagnosis& diagnosis) noexcept {
  using Tag = TiffDirectory::Tag;
  const TiffDirectory directory(bytes);
  const auto value = [&directory](Tag tag, uint32_t missing) { return directory.Find(tag).value_or(missing); };
  const auto unsupported = [&diagnosis](const char* words) {
    return Refuse(DecodeError::kUnsupported, words, diagnosis);
  };
  const uint32_t bits = value(Tag::kBitsPerSample, 1);
  const uint32_t photometric = value(Tag::kPhotometric, 1);
  constexpr uint32_t kWhiteIsZero = 0;
  constexpr uint32_t kPalette = 3;
  constexpr uint32_t kYcbcr = 6;
  if (!IsPlain(value(Tag::kSampleFormat, 1))) return unsupported("TIFF with float or signed samples is not supported");
  if (bits != 1 && bits != 4 && bits != 8 && bits != 16)
    return unsupported("TIFF with this many bits is not supported");
  if (photometric > kPalette && photometric != kYcbcr) return unsupported("TIFF in this colour space is not supported");
  if (bits == 16 && (photometric == kWhiteIsZero || photometric >= kPalette || value(Tag::kPlanar, 1) != 1)) {
    return unsupported("16-bit TIFF of this layout is not supported");
  }
  if (value(Tag::kExtraSamples, 0) == 1) return unsupported("TIFF with premultiplied alpha is not supported");
  return {};
}

}  // namespace stoker

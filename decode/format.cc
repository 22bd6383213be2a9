// Picture formats by their first bytes.
#include <algorithm>
#include <array>
#include <cstddef>

#include "decode/decode_error.h"

namespace stoker {
namespace {

using std::string_view_literals::operator""sv;

bool IsHeifBrand(std::string_view brand) {
  constexpr std::array kBrands = {"heic"sv, "heix"sv, "heim"sv, "heis"sv, "hevc"sv, "hevx"sv,
                                  "mif1"sv, "mif2"sv, "msf1"sv, "avif"sv, "avis"sv};
  return std::find(kBrands.begin(), kBrands.end(), brand) != kBrands.end();
}

// A web page that a server sent in a picture's place.
bool IsHtml(std::string_view head) {
  if (head.starts_with("\xEF\xBB\xBF"sv)) head.remove_prefix(3);
  head.remove_prefix(std::min(head.find_first_not_of(" \t\r\n"), head.size()));
  const auto starts_with = [head](std::string_view lower_case) {
    return head.size() >= lower_case.size() &&
           std::equal(lower_case.begin(), lower_case.end(), head.begin(),
                      [](char want, char c) { return want == (c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c); });
  };
  return starts_with("<!doctype html"sv) || starts_with("<html"sv) || starts_with("<head"sv);
}

// "BM" alone begins many a text, so the size of the second header must be one that exists.
bool IsBmp(std::string_view head) {
  if (!head.starts_with("BM"sv)) return false;
  if (head.size() < 18) return true;
  const auto byte = [head](size_t i) { return static_cast<unsigned char>(head[i]); };
  return byte(14) >= 12 && byte(14) <= 124 && byte(15) == 0 && byte(16) == 0 && byte(17) == 0;
}

}  // namespace

std::string_view FormatName(Format format) noexcept {
  switch (format) {
    case Format::kUnknown:
      return "unknown";
    case Format::kJpeg:
      return "JPEG";
    case Format::kPng:
      return "PNG";
    case Format::kWebp:
      return "WebP";
    case Format::kBmp:
      return "BMP";
    case Format::kTiff:
      return "TIFF";
    case Format::kGif:
      return "GIF";
    case Format::kHeif:
      return "HEIF/AVIF";
    case Format::kJpegXl:
      return "JPEG XL";
    case Format::kJpeg2000:
      return "JPEG 2000";
    case Format::kGzip:
      return "gzip";
    case Format::kHtml:
      return "HTML page";
    case Format::kLfsPointer:
      return "git-lfs pointer";
  }
  return "unknown";
}

Format DetectFormat(const uint8_t* bytes, size_t size) noexcept {
  const std::string_view head(reinterpret_cast<const char*>(bytes), std::min<size_t>(size, 64));
  const auto starts_with = [head](std::string_view signature) { return head.starts_with(signature); };
  const auto has_at_4 = [head](std::string_view text) { return head.size() >= 12 && head.substr(4).starts_with(text); };

  if (starts_with("\xFF\xD8\xFF"sv) || head == "\xFF\xD8"sv) return Format::kJpeg;
  if (starts_with("\x89PNG\r\n\x1A\n"sv)) return Format::kPng;
  if (starts_with("RIFF"sv) && head.size() >= 12 && head.substr(8).starts_with("WEBP"sv)) return Format::kWebp;
  if (starts_with("II*\0"sv) || starts_with("MM\0*"sv)) return Format::kTiff;
  if (starts_with("II+\0"sv) || starts_with("MM\0+"sv)) return Format::kTiff;  // BigTIFF
  if (starts_with("GIF87a"sv) || starts_with("GIF89a"sv)) return Format::kGif;
  if (has_at_4("ftyp"sv) && IsHeifBrand(head.substr(8, 4))) return Format::kHeif;
  if (starts_with("\xFF\x0A"sv) || has_at_4("JXL \r\n\x87\n"sv)) return Format::kJpegXl;
  if (starts_with("\xFF\x4F\xFF\x51"sv) || has_at_4("jP  \r\n\x87\n"sv)) return Format::kJpeg2000;
  if (starts_with("\x1F\x8B"sv)) return Format::kGzip;
  if (starts_with("version https://git-lfs."sv)) return Format::kLfsPointer;
  if (IsBmp(head)) return Format::kBmp;
  if (IsHtml(head)) return Format::kHtml;
  return Format::kUnknown;
}

}  // namespace stoker

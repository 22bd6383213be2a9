// Why a picture could not be decoded: an error code, and beside it where and in whose words.
#pragma once

#include <cstdint>
#include <string_view>
#include <system_error>

namespace stoker {

enum class DecodeError {
  kEmpty = 1,    // the file has no bytes
  kNotAnImage,   // no known signature
  kUnsupported,  // a known format or variant that is not read; the diagnosis names it
  kTruncated,    // the data ends too early
  kCorrupt,      // the decoder gave up
  kTooLarge,     // more pixels than the limit
  kWarnings,     // `strict` and the decoder complained
  kOutOfMemory,  // no memory for the pixels
};

const std::error_category& decode_category() noexcept;
std::error_code make_error_code(DecodeError) noexcept;

// Picture formats that are recognised by content. Those after kTiff are named in errors only.
enum class Format : uint8_t {
  kUnknown,
  kJpeg,
  kPng,
  kWebp,
  kBmp,
  kTiff,
  kGif,
  kHeif,
  kJpegXl,
  kJpeg2000,
  kGzip,
  kHtml,
  kLfsPointer
};

// "JPEG", "PNG", ...; never empty.
std::string_view FormatName(Format) noexcept;

// The format by the first bytes of a file (32 are enough); kUnknown where nothing matches.
Format DetectFormat(const uint8_t* bytes, size_t size) noexcept;

// Who decoded a JPEG.
enum class JpegPath : uint8_t {
  kNone,         // it is none, or was not decoded
  kOwn,          // our own decoder
  kLibrary,      // libjpeg-turbo: a kind of JPEG that is left to it, or it was asked for
  kStartedOver,  // libjpeg-turbo, after our own met something odd in the data
};
inline constexpr size_t kJpegPaths = 4;

// What a decoder says about one picture. Fixed size: filled in without allocating, copied freely.
struct Diagnosis {
  Format format = Format::kUnknown;
  JpegPath jpeg_path = JpegPath::kNone;
  int64_t offset_bytes = -1;  // where in the encoded data, -1 where unknown
  int32_t warnings = 0;       // decoder warnings, counted
  char detail[120] = {};      // the first warning or the error in words, valid UTF-8, NUL-terminated; may be empty

  // Keeps the first `text` that is given, cut to fit.
  void Say(std::string_view text) noexcept;
};

}  // namespace stoker

template <>
struct std::is_error_code_enum<stoker::DecodeError> : std::true_type {};

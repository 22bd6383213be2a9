#include "decode/decode_error.h"

#include <gtest/gtest.h>

#include <string>

namespace stoker {
namespace {

Format Detect(std::string_view head) {
  return DetectFormat(reinterpret_cast<const uint8_t*>(head.data()), head.size());
}

TEST(DetectFormat, KnowsEachSignature) {
  using std::string_view_literals::operator""sv;
  EXPECT_EQ(Detect("\xFF\xD8\xFF\xE0"sv), Format::kJpeg);
  EXPECT_EQ(Detect("\xFF\xD8"sv), Format::kJpeg);
  EXPECT_EQ(Detect("\x89PNG\r\n\x1A\n"sv), Format::kPng);
  EXPECT_EQ(Detect("RIFF\x10\0\0\0WEBPVP8 "sv), Format::kWebp);
  EXPECT_EQ(Detect("BM\0\0\0\0\0\0\0\0\x36\0\0\0\x28\0\0\0"sv), Format::kBmp);
  EXPECT_EQ(Detect("II*\0"sv), Format::kTiff);
  EXPECT_EQ(Detect("MM\0*"sv), Format::kTiff);
  EXPECT_EQ(Detect("GIF89a"sv), Format::kGif);
  EXPECT_EQ(Detect("\0\0\0\x18"
                   "ftypavif\0\0\0\0"sv),
            Format::kHeif);
  EXPECT_EQ(Detect("\0\0\0\x18"
                   "ftypheic\0\0\0\0"sv),
            Format::kHeif);
  EXPECT_EQ(Detect("\xFF\x0A\0\0"sv), Format::kJpegXl);
  EXPECT_EQ(Detect("\0\0\0\x0CJXL \r\n\x87\n"sv), Format::kJpegXl);
  EXPECT_EQ(Detect("\0\0\0\x0CjP  \r\n\x87\n"sv), Format::kJpeg2000);
  EXPECT_EQ(Detect("\xFF\x4F\xFF\x51"sv), Format::kJpeg2000);
  EXPECT_EQ(Detect("\x1F\x8B\x08"sv), Format::kGzip);
  EXPECT_EQ(Detect("  <!DOCTYPE html>"sv), Format::kHtml);
  EXPECT_EQ(Detect("\xEF\xBB\xBF<HTML>"sv), Format::kHtml);
  EXPECT_EQ(Detect("version https://git-lfs.github.com/spec/v1\n"sv), Format::kLfsPointer);
}

TEST(DetectFormat, DoesNotGuess) {
  using std::string_view_literals::operator""sv;
  for (const std::string_view head : {""sv, "\xFF"sv, "\xFF\xD8\0"sv, "BMW drives past a church"sv,
                                      "RIFF....WAVEfmt "sv, "\x89PNG"sv, "   "sv, "<svg>"sv, "version 2"sv,
                                      "\0\0\0\x18"
                                      "ftypmp42"sv}) {
    EXPECT_EQ(Detect(head), Format::kUnknown) << head;
  }
}

TEST(FormatName, IsNeverEmpty) {
  for (int i = 0; i <= static_cast<int>(Format::kLfsPointer); ++i)
    EXPECT_FALSE(FormatName(static_cast<Format>(i)).empty());
}

TEST(DecodeError, HasWordsForEachCode) {
  for (int i = 1; i <= static_cast<int>(DecodeError::kOutOfMemory); ++i) {
    const std::error_code code = static_cast<DecodeError>(i);
    EXPECT_STREQ(code.category().name(), "decode");
    EXPECT_NE(code.message(), "unknown decode error");
  }
}

TEST(Diagnosis, KeepsTheFirstWords) {
  Diagnosis diagnosis;
  diagnosis.Say("first");
  diagnosis.Say("second");
  EXPECT_STREQ(diagnosis.detail, "first");
}

TEST(Diagnosis, CutsWhatIsTooLongAndKeepsAscii) {
  Diagnosis diagnosis;
  diagnosis.Say(std::string(500, 'x'));
  EXPECT_EQ(std::string(diagnosis.detail), std::string(sizeof(diagnosis.detail) - 1, 'x'));
  Diagnosis quoting;
  quoting.Say("bad \xC3\x28 byte\n");
  EXPECT_STREQ(quoting.detail, "bad ?( byte?");
}

}  // namespace
}  // namespace stoker

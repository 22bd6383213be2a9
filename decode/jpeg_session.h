// libjpeg's ways of reporting and reading, tamed: errors jump back to one place, warnings are counted, the source is
// memory, and progressive files may not have endless scans. Private to decode/jpeg_*.cc.
#pragma once

#include <csetjmp>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <span>
#include <system_error>

#include "decode/decode_error.h"

// Last, because it uses size_t and FILE without including what declares them.
#include <jpeglib.h>

namespace stoker {

// A jpeg_decompress_struct with its error, source and progress managers. The struct is made anew for every picture,
// which costs about a microsecond: libjpeg keeps quantization and Huffman tables when a struct is used again, and a
// broken picture would be decoded with those of the picture before it.
// Threads: one thread at a time. The struct's managers point into this object: it does not move.
class JpegSession {
 public:
  JpegSession() noexcept;
  ~JpegSession();
  JpegSession(const JpegSession&) = delete;
  JpegSession& operator=(const JpegSession&) = delete;

  // Forgets the last picture and makes `bytes` the source of the next. Failures are reported by the first Run.
  void Open(std::span<const uint8_t> bytes, bool strict) noexcept;

  // Runs `step`, which calls libjpeg, and returns false where libjpeg gave up; then the picture is closed and error()
  // says why. Requires: `step` holds no object with a destructor, for errors leave it by longjmp.
  template <typename Step>
  bool Run(Diagnosis& diagnosis, Step step) noexcept {
    diagnosis_ = &diagnosis;
    if (error_ || setjmp(escape_) != 0) return false;
    step();
    return true;
  }

  // Ends the picture, wherever it stands; its memory goes back to libjpeg's pool.
  void Close() noexcept;

  jpeg_decompress_struct& decompress() noexcept { return decompress_; }
  std::error_code error() const noexcept { return error_; }
  bool strict() const noexcept { return strict_; }
  std::span<const uint8_t> bytes() const noexcept { return bytes_; }
  // How many of them libjpeg has taken.
  int64_t position() const noexcept;

 private:
  [[noreturn]] void Fail(DecodeError code, const char* words) noexcept;

  static JpegSession& Of(j_common_ptr common) noexcept { return *static_cast<JpegSession*>(common->client_data); }
  [[noreturn]] static void OnError(j_common_ptr common);
  static void OnMessage(j_common_ptr common, int level);
  static void OnProgress(j_common_ptr common);
  static boolean FillInput(j_decompress_ptr decompress);
  static void SkipInput(j_decompress_ptr decompress, long count);

  jpeg_decompress_struct decompress_ = {};
  jpeg_error_mgr error_manager_ = {};
  jpeg_source_mgr source_ = {};
  jpeg_progress_mgr progress_ = {};
  std::jmp_buf escape_ = {};

  std::span<const uint8_t> bytes_;
  Diagnosis* diagnosis_ = nullptr;
  std::error_code error_;
  bool created_ = false;
  bool strict_ = false;
  bool exhausted_ = false;  // libjpeg asked for more than there is
};

}  // namespace stoker

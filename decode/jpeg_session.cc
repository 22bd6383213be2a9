#include "decode/jpeg_session.h"

#include <jerror.h>

#include <cstdio>

namespace stoker {
namespace {

// Real encoders make about ten scans; files made to burn time have thousands, each a walk over the whole picture.
constexpr int kMaxScans = 500;

DecodeError CodeOf(int message) {
  switch (message) {
    case JERR_ARITH_NOTIMPL:
    case JERR_BAD_PRECISION:
    case JERR_CCIR601_NOTIMPL:
    case JERR_COMPONENT_COUNT:
    case JERR_CONVERSION_NOTIMPL:
    case JERR_FRACT_SAMPLE_NOTIMPL:
    case JERR_NOTIMPL:
    case JERR_NOT_COMPILED:
    case JERR_SOF_UNSUPPORTED:
      return DecodeError::kUnsupported;
    case JERR_IMAGE_TOO_BIG:
    case JERR_WIDTH_OVERFLOW:
      return DecodeError::kTooLarge;
    case JERR_OUT_OF_MEMORY:
    case JERR_NO_BACKING_STORE:
      return DecodeError::kOutOfMemory;
    default:
      return DecodeError::kCorrupt;
  }
}

// The kinds of JPEG that the standard has and libjpeg has not, in better words than its numbers.
const char* NameOfUnsupported(const jpeg_error_mgr& error) {
  if (error.msg_code == JERR_BAD_PRECISION && error.msg_parm.i[0] == 12) return "12-bit JPEG is not supported";
  if (error.msg_code != JERR_SOF_UNSUPPORTED) return nullptr;
  switch (error.msg_parm.i[0]) {
    case 0xC3:
    case 0xC7:
    case 0xCB:
    case 0xCF:
      return "lossless JPEG is not supported";
    default:
      return "hierarchical JPEG is not supported";
  }
}

}  // namespace

JpegSession::JpegSession() noexcept {
  decompress_.err = jpeg_std_error(&error_manager_);
  error_manager_.error_exit = OnError;
  error_manager_.emit_message = OnMessage;
  error_manager_.output_message = [](j_common_ptr) {};
  source_.init_source = [](j_decompress_ptr) {};
  source_.term_source = [](j_decompress_ptr) {};
  source_.resync_to_restart = jpeg_resync_to_restart;
  source_.fill_input_buffer = FillInput;
  source_.skip_input_data = SkipInput;
  progress_.progress_monitor = OnProgress;
}

JpegSession::~JpegSession() {
  if (created_) jpeg_destroy_decompress(&decompress_);
}

void JpegSession::Open(std::span<const uint8_t> bytes, bool strict) noexcept {
  bytes_ = bytes;
  strict_ = strict;
  exhausted_ = false;
  error_ = {};
  source_.next_input_byte = bytes.data();
  source_.bytes_in_buffer = bytes.size();
  Diagnosis ignored;
  Run(ignored, [this] {
    if (created_) jpeg_destroy_decompress(&decompress_);
    created_ = false;
    decompress_.client_data = this;
    jpeg_create_decompress(&decompress_);  // keeps err and client_data, clears the rest
    created_ = true;
    decompress_.src = &source_;
    decompress_.progress = &progress_;
  });
}

void JpegSession::Close() noexcept {
  if (created_) jpeg_abort_decompress(&decompress_);
}

int64_t JpegSession::position() const noexcept {
  return static_cast<int64_t>(exhausted_ ? bytes_.size() : bytes_.size() - source_.bytes_in_buffer);
}

void JpegSession::Fail(DecodeError code, const char* words) noexcept {
  error_ = code;
  diagnosis_->offset_bytes = position();
  diagnosis_->detail[0] = '\0';  // an error says more than the warnings before it
  diagnosis_->Say(words);
  Close();
  std::longjmp(escape_, 1);
}

void JpegSession::OnError(j_common_ptr common) {
  JpegSession& session = Of(common);
  char words[JMSG_LENGTH_MAX];
  const DecodeError code = CodeOf(common->err->msg_code);
  if (code == DecodeError::kCorrupt && session.exhausted_) {
    std::snprintf(words, sizeof(words), "truncated after %zu bytes", session.bytes_.size());
    session.Fail(DecodeError::kTruncated, words);
  }
  if (code == DecodeError::kUnsupported) {
    if (const char* name = NameOfUnsupported(*common->err)) session.Fail(code, name);
  }
  common->err->format_message(common, words);
  session.Fail(code, words);
}

void JpegSession::OnMessage(j_common_ptr common, int level) {
  if (level >= 0) return;  // traces
  JpegSession& session = Of(common);
  Diagnosis& diagnosis = *session.diagnosis_;
  ++diagnosis.warnings;
  if (diagnosis.warnings > 1) return;
  char words[JMSG_LENGTH_MAX];
  common->err->format_message(common, words);
  if (session.strict_) session.Fail(DecodeError::kWarnings, words);
  diagnosis.offset_bytes = session.position();
  diagnosis.Say(words);
}

void JpegSession::OnProgress(j_common_ptr common) {
  JpegSession& session = Of(common);
  if (session.decompress_.input_scan_number > kMaxScans) session.Fail(DecodeError::kCorrupt, "too many scans");
}

// The source is empty: as libjpeg's own sources do, warn and go on as if the picture ended here.
boolean JpegSession::FillInput(j_decompress_ptr decompress) {
  static constexpr JOCTET kEndOfImage[] = {0xFF, JPEG_EOI};
  JpegSession& session = Of(reinterpret_cast<j_common_ptr>(decompress));
  session.exhausted_ = true;
  WARNMS(decompress, JWRN_JPEG_EOF);
  session.source_.next_input_byte = kEndOfImage;
  session.source_.bytes_in_buffer = sizeof(kEndOfImage);
  return TRUE;
}

void JpegSession::SkipInput(j_decompress_ptr decompress, long count) {
  if (count <= 0) return;
  jpeg_source_mgr& source = *decompress->src;
  if (static_cast<size_t>(count) > source.bytes_in_buffer) {
    FillInput(decompress);
    return;
  }
  source.next_input_byte += count;
  source.bytes_in_buffer -= static_cast<size_t>(count);
}

}  // namespace stoker

// libjpeg as the entropy decoder's oracle: a file's coefficients, and whether it warned of anything.
#pragma once

#include <algorithm>
#include <array>
#include <csetjmp>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <span>
#include <vector>

#include "decode/jpeg/entropy_decoder.h"
#include "decode/jpeg/frame.h"
#include "decode/jpeg_frame.h"

// Last, because it uses size_t and FILE without including what declares them.
#include <jpeglib.h>

namespace stoker {

using Coefficients = std::array<int16_t, kBlockCoefficients>;  // in natural order

// The blocks of MCU rows in the order of a McuRow: component after component, row after row.
using BlockRow = std::vector<Coefficients>;

struct LibraryScan {
  bool has_frame = false;  // the header is read, and of a kind that the own decoder takes
  JpegFrame frame;
  bool failed = false;
  int warnings = 0;
  std::vector<BlockRow> rows;  // of whole MCU rows
};

namespace library_detail {

struct Session {
  jpeg_decompress_struct decompress = {};
  jpeg_error_mgr errors = {};
  jpeg_progress_mgr progress = {};
  std::jmp_buf escape = {};
  int warnings = 0;
};

inline Session& Of(j_common_ptr common) { return *static_cast<Session*>(common->client_data); }

inline void Prepare(Session& session) {
  session.decompress.err = jpeg_std_error(&session.errors);
  session.decompress.client_data = &session;
  session.errors.error_exit = [](j_common_ptr common) { std::longjmp(Of(common).escape, 1); };
  session.errors.emit_message = [](j_common_ptr common, int level) { Of(common).warnings += level < 0 ? 1 : 0; };
  jpeg_create_decompress(&session.decompress);
  // The file ends with a scan of all components: what comes behind it is not the decoder's.
  session.progress.progress_monitor = [](j_common_ptr common) {
    jpeg_decompress_struct& decompress = Of(common).decompress;
    if (decompress.input_scan_number > kMaxComponents) std::longjmp(Of(common).escape, 1);  // not the decoder's
    if (!jpeg_has_multiple_scans(&decompress) && decompress.input_iMCU_row >= decompress.total_iMCU_rows)
      decompress.unread_marker = JPEG_EOI;
  };
  session.decompress.progress = &session.progress;
}

inline void TakeRows(jpeg_decompress_struct& decompress, jvirt_barray_ptr* arrays, LibraryScan& scan) {
  const JpegFrame& frame = scan.frame;
  for (int32_t y = 0; y < frame.mcus_down; ++y) {
    BlockRow& row = scan.rows.emplace_back();
    for (int c = 0; c < frame.components; ++c) {
      const JpegComponent& component = frame.component[static_cast<size_t>(c)];
      for (int32_t j = 0; j < component.v; ++j) {
        const JBLOCKARRAY blocks =
            decompress.mem->access_virt_barray(reinterpret_cast<j_common_ptr>(&decompress), arrays[c],
                                               static_cast<JDIMENSION>(y * component.v + j), 1, FALSE);
        for (int32_t x = 0; x < frame.mcus_across * component.h; ++x) {
          std::copy_n(blocks[0][x], kBlockCoefficients, row.emplace_back().begin());
        }
      }
    }
  }
}

}  // namespace library_detail

// `limit`: no picture with more pixels is decoded.
inline LibraryScan ScanByTheLibrary(std::span<const uint8_t> file, int64_t limit = 1 << 24) {
  LibraryScan scan;
  library_detail::Session session;
  library_detail::Prepare(session);
  jpeg_decompress_struct& decompress = session.decompress;
  // Volatile, because it is changed between setjmp and longjmp.
  volatile bool in_header = true;
  if (setjmp(session.escape) == 0) {
    jpeg_mem_src(&decompress, file.data(), file.size());
    jpeg_read_header(&decompress, TRUE);
    const size_t scan_offset = file.size() - decompress.src->bytes_in_buffer;
    scan.has_frame = int64_t{decompress.image_width} * decompress.image_height <= limit &&
                     ReadFrame(decompress, scan_offset, scan.frame);
    in_header = false;
    session.warnings = 0;
    if (scan.has_frame) library_detail::TakeRows(decompress, jpeg_read_coefficients(&decompress), scan);
  } else {
    scan.failed = true;
    if (in_header) scan.has_frame = false;
  }
  scan.warnings = session.warnings;
  jpeg_destroy_decompress(&decompress);
  return scan;
}

inline constexpr std::array<uint8_t, kBlockCoefficients> kNaturalOrder = {
    0,  1,  8,  16, 9,  2,  3,  10, 17, 24, 32, 25, 18, 11, 4,  5,  12, 19, 26, 33, 40, 48,
    41, 34, 27, 20, 13, 6,  7,  14, 21, 28, 35, 42, 49, 56, 57, 50, 43, 36, 29, 22, 15, 23,
    30, 37, 44, 51, 58, 59, 52, 45, 38, 31, 39, 46, 53, 60, 61, 54, 47, 55, 62, 63};

inline Coefficients Expanded(const CoefficientBlock& block) {
  Coefficients coefficients{};
  coefficients[0] = block.dc;
  const int16_t* value = block.values;
  for (size_t place = 0; place < kBlockCoefficients; ++place) {
    if ((block.mask >> place & 1) != 0) coefficients[kNaturalOrder[place]] = *value++;
  }
  return coefficients;
}

// Decodes the window; false where the decoder gives up, and then `same` says nothing. `same`: all its rows are the
// library's.
inline bool DecodeAndCompare(EntropyDecoder& decoder, std::span<const uint8_t> file, const LibraryScan& library,
                             const McuWindow& window, std::span<const RowMark> known, bool& same) {
  same = true;
  const JpegFrame& frame = library.frame;
  if (!decoder.Start(file, frame, window, known)) return false;
  for (int32_t y = window.y0; y < window.y1; ++y) {
    McuRow row;
    if (!decoder.Next(row)) return false;
    const Coefficients* expected = library.rows.empty() ? nullptr : library.rows[static_cast<size_t>(y)].data();
    for (size_t c = 0; c < static_cast<size_t>(frame.components) && expected != nullptr; ++c) {
      const JpegComponent& component = frame.component[c];
      for (size_t j = 0; j < static_cast<size_t>(component.v); ++j, expected += frame.mcus_across * component.h) {
        for (int32_t x = window.x0 * component.h; x < window.x1 * component.h; ++x) {
          same = same && Expanded(row.blocks[c][j][x - window.x0 * component.h]) == expected[x];
        }
      }
    }
  }
  return true;
}

}  // namespace stoker

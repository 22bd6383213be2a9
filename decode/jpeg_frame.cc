#include "decode/jpeg_frame.h"

#include <algorithm>

namespace stoker {
namespace {

bool ReadTable(const JHUFF_TBL* table, HuffmanSpec& spec) {
  if (table == nullptr) return false;
  spec = {};
  size_t symbols = 0;
  for (size_t length = 1; length < spec.counts.size(); ++length) {
    spec.counts[length] = table->bits[length];
    symbols += table->bits[length];
  }
  if (symbols > spec.symbols.size()) return false;
  // What lies behind the last symbol means nothing, and would make equal tables differ.
  std::copy_n(table->huffval, symbols, spec.symbols.begin());
  return true;
}

bool ReadComponent(const jpeg_decompress_struct& decompress, int index, JpegComponent& component) {
  const jpeg_component_info& info = decompress.comp_info[index];
  // As the file has it; the library looks at it later.
  if (info.quant_tbl_no >= NUM_QUANT_TBLS) return false;
  const JQUANT_TBL* const quantization = decompress.quant_tbl_ptrs[info.quant_tbl_no];
  if (quantization == nullptr) return false;
  std::copy_n(quantization->quantval, kBlockCoefficients, component.quantization.begin());
  // The blocks of a scan with one component lie one by one, so sampling says nothing there.
  const bool alone = decompress.num_components == 1;
  component.id = static_cast<uint8_t>(info.component_id);
  component.h = alone ? 1 : info.h_samp_factor;
  component.v = alone ? 1 : info.v_samp_factor;
  return true;
}

// What the scan with all components says of one.
bool ReadCoding(const jpeg_decompress_struct& decompress, int index, JpegComponent& component) {
  const jpeg_component_info& info = decompress.comp_info[index];
  if (decompress.cur_comp_info[index] != &info) return false;
  if (info.dc_tbl_no >= NUM_HUFF_TBLS || info.ac_tbl_no >= NUM_HUFF_TBLS) return false;
  return ReadTable(decompress.dc_huff_tbl_ptrs[info.dc_tbl_no], component.dc) &&
         ReadTable(decompress.ac_huff_tbl_ptrs[info.ac_tbl_no], component.ac);
}

int32_t DividedUp(int32_t value, int32_t by) { return (value + by - 1) / by; }

}  // namespace

bool ReadFrame(const jpeg_decompress_struct& decompress, size_t scan_offset, JpegFrame& frame) noexcept {
  const int components = decompress.num_components;
  if (decompress.progressive_mode || decompress.arith_code || decompress.data_precision != 8) return false;
  if (components != 1 && components != kMaxComponents) return false;
  if (decompress.jpeg_color_space != (components == 1 ? JCS_GRAYSCALE : JCS_YCbCr)) return false;
  // What only progressive scans may say; the library warns of it.
  if (decompress.Ss != 0 || decompress.Se != kBlockCoefficients - 1 || decompress.Ah != 0 || decompress.Al != 0)
    return false;
  frame = {};
  frame.components = components;
  frame.size = {static_cast<int32_t>(decompress.image_width), static_cast<int32_t>(decompress.image_height)};
  frame.restart_interval = static_cast<int32_t>(decompress.restart_interval);
  frame.scan_offset = scan_offset;
  frame.separate_scans = decompress.comps_in_scan < components;
  for (int i = 0; i < components; ++i) {
    JpegComponent& component = frame.component[static_cast<size_t>(i)];
    if (!ReadComponent(decompress, i, component)) return false;
    if (!frame.separate_scans && !ReadCoding(decompress, i, component)) return false;
    if (i > 0 && (component.h != 1 || component.v != 1)) return false;
  }
  frame.max_h = frame.component[0].h;
  frame.max_v = frame.component[0].v;
  if (frame.max_h > kMaxSampling || frame.max_v > kMaxSampling) return false;
  frame.mcus_across = DividedUp(frame.size.width, frame.mcu_width());
  frame.mcus_down = DividedUp(frame.size.height, frame.mcu_height());
  return true;
}

}  // namespace stoker

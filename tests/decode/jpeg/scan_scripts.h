// A JPEG's coefficients, written again in other scans.
#pragma once

#include <cstdlib>
#include <vector>

#include "tests/decode/encode.h"

// Last, because it uses size_t and FILE without including what declares them.
#include <jpeglib.h>

namespace stoker {

// The components of each scan, in the scans' order.
using ScanScript = std::vector<std::vector<int>>;

struct RescanOptions {
  int restart_interval = 0;  // MCUs
  bool optimized = false;    // Huffman tables for each scan
};

// Requires: libjpeg reads the file without an error.
inline Bytes Rescanned(const Bytes& file, const ScanScript& script, const RescanOptions& options = {}) {
  jpeg_error_mgr errors;
  jpeg_decompress_struct decompress = {};
  decompress.err = jpeg_std_error(&errors);
  jpeg_create_decompress(&decompress);
  jpeg_mem_src(&decompress, file.data(), file.size());
  jpeg_read_header(&decompress, TRUE);
  jvirt_barray_ptr* const coefficients = jpeg_read_coefficients(&decompress);

  jpeg_compress_struct compress = {};
  compress.err = &errors;
  jpeg_create_compress(&compress);
  unsigned char* encoded = nullptr;
  unsigned long encoded_bytes = 0;
  jpeg_mem_dest(&compress, &encoded, &encoded_bytes);
  jpeg_copy_critical_parameters(&decompress, &compress);
  compress.restart_interval = static_cast<unsigned>(options.restart_interval);
  compress.optimize_coding = options.optimized ? TRUE : FALSE;
  std::vector<jpeg_scan_info> scans;
  for (const std::vector<int>& components : script) {
    jpeg_scan_info& scan = scans.emplace_back();
    scan = {static_cast<int>(components.size()), {}, 0, 63, 0, 0};
    for (size_t i = 0; i < components.size(); ++i) scan.component_index[i] = components[i];
  }
  compress.scan_info = scans.data();
  compress.num_scans = static_cast<int>(scans.size());
  jpeg_write_coefficients(&compress, coefficients);
  jpeg_finish_compress(&compress);
  jpeg_destroy_compress(&compress);
  jpeg_destroy_decompress(&decompress);
  Bytes bytes(encoded, encoded + encoded_bytes);
  std::free(encoded);
  return bytes;
}

}  // namespace stoker
